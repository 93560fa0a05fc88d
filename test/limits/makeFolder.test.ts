import { spawnSync } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { makeFolder } from "../../src/limits/files.ts"
import { sharedCommands } from "../operation/commands.ts"

const root = join(import.meta.dirname, "../..")
const work = mkdtempSync(join(tmpdir(), "gateway-folder-"))
afterAll(() => rmSync(work, { recursive: true }))

describe("a folder that is missing", () => {
  it("is made with those above it, for this user alone, and taken where it is there", () => {
    const path = join(work, "a", "b", "c")
    makeFolder(path)
    makeFolder(path)
    for (const made of [path, join(work, "a")]) assert.strictEqual(statSync(made).mode & 0o777, 0o700)
  })

  it("is not made where a file is", () => {
    const file = join(work, "file")
    writeFileSync(file, "")
    assert.throws(() => makeFolder(file), "EEXIST")
    assert.throws(() => makeFolder(join(file, "below")), "ENOTDIR")
  })
})

// In processes of their own: what never ends can be ended there only.
describe.runIf(existsSync("/proc/self"))("a folder that no program can make", () => {
  const command = sharedCommands()
  it.each(["/proc/gateway", "/proc/gateway/state"])("stops the start, and doctor says so: %s", async (folder) => {
    writeFileSync(join(work, "keys.json"), JSON.stringify({ keys: [] }), { mode: 0o600 })
    const env = { GATEWAY_STATE_DIR: folder, BEDROCK_REGION: "us-gov-west-1", AWS_BEARER_TOKEN_BEDROCK: "token" }
    const { code, stderr } = await command(["serve"], env, work)
    assert.strictEqual(code, 1, stderr)
    assert.include(stderr, `cannot make the directory ${folder}`)
    assert.match((await command(["doctor"], env, work)).stdout, /^fail +state /m)
  })

  it("is not waited for by the compile cache", () => {
    const app = join(work, "app")
    for (const made of ["src", "node_modules"]) mkdirSync(join(app, made), { recursive: true })
    copyFileSync(join(root, "src/installed.js"), join(app, "src/installed.js"))
    writeFileSync(join(app, "package.json"), JSON.stringify({ type: "module" }))
    writeFileSync(join(app, "node_modules/.cache"), "no folder")
    symlinkSync(join(root, "node_modules/effect"), join(app, "node_modules/effect"))
    const { status, stderr } = spawnSync(process.execPath, [join(app, "src/installed.js")], {
      encoding: "utf8",
      timeout: 20_000,
      cwd: work,
      env: { PATH: process.env.PATH, TMPDIR: "/proc/gateway" }
    })
    assert.strictEqual(status, 0, stderr)
  })
})
