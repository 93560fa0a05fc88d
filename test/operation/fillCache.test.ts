import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const root = join(import.meta.dirname, "../..")

const run = (cache: string, ...args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: cache }
  })
const files = (directory: string): number => readdirSync(directory, { recursive: true }).length

describe("the compile cache after an installation", () => {
  it("holds what a command loads", { timeout: 30_000 }, () => {
    const cache = mkdtempSync(join(tmpdir(), "gateway-cache-"))
    try {
      assert.strictEqual(run(cache, "src/fillCache.js").status, 0)
      const before = files(cache)
      assert.isAbove(before, 500)
      const { status, stdout } = run(cache, "--import", "./src/installed.js", "src/main.ts", "--version")
      assert.strictEqual(status, 0, stdout)
      // The two files that begin the program are run, not loaded.
      assert.isAtMost(files(cache), before + 2)
    } finally {
      rmSync(cache, { recursive: true, force: true })
    }
  })

  it("is left to the first start by a Node that runs no TypeScript, without a failure", () => {
    const { status, stderr } = run("", "--no-strip-types", "src/fillCache.js")
    assert.strictEqual(status, 0, stderr)
  })
})
