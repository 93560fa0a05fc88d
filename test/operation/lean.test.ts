/** What keeps the start short and the memory small: what `serve` does not load, and the compile cache. */
import { spawnSync } from "node:child_process"
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { cloudsAt } from "../support/gateway.ts"
import { serve, until } from "./child.ts"

const root = new URL("../..", import.meta.url).pathname
let directory = ""
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "gateway-lean-"))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

describe("serve", () => {
  it("does not load what it does not need, and writes its compile cache before its end", async () => {
    const file = join(directory, "loaded.json")
    const cache = join(directory, "cache")
    const gateway = await serve({
      ...cloudsAt("http://127.0.0.1:9"),
      GATEWAY_DOCS: "public",
      NODE_COMPILE_CACHE: cache,
      NODE_OPTIONS: `--import=${join(import.meta.dirname, "loaded.ts")}`,
      GATEWAY_TEST_LOADED: file
    })
    // Without a tracer there are no spans, so no trace in the log.
    const trace = "a".repeat(32)
    await (
      await fetch(`${gateway.url}/v1/models`, { headers: { traceparent: `00-${trace}-${"b".repeat(16)}-01` } })
    ).text()
    await until(() => readdirSync(cache, { recursive: true }).length > 100, "a compile cache")
    gateway.kill("SIGTERM")
    const { code, stderr } = await gateway.ended
    assert.strictEqual(code, 0)
    assert.include(stderr, "/v1/models")
    assert.notInclude(stderr, trace)
    const loaded: ReadonlyArray<string> = JSON.parse(readFileSync(file, "utf8"))
    assert.isTrue(loaded.some((name) => name.endsWith("/src/Server.ts")))
    const needless = [
      /\/src\/operators\/cli\/(?!run)/,
      /\/effect\/dist\/cli\//,
      /\/src\/Client\.ts$/,
      /\/src\/sandbox\//,
      /\/src\/guards\//,
      /httpApiScalar\.js$/,
      /\/src\/http\/reference\.ts$/,
      // The folders of Effect of which one module is used.
      /\/effect\/dist\/(encoding|persistence|observability)\/index\.js$/,
      /\/node_modules\/(@?redis|@opentelemetry|@aws-sdk|@azure|google-auth-library)\//,
      // Node's own undici: an `import` of node:http loads it, see src/nodeHttp.ts.
      /internal\/deps\/undici\/undici$/
    ]
    for (const pattern of needless)
      assert.deepStrictEqual(
        loaded.filter((name) => pattern.test(name)),
        []
      )
  })
})

it("keys of AWS that are given sign without the vendor's chain of credentials", () => {
  const file = join(directory, "signing.json")
  const script = `import { Effect, Option, Redacted } from "effect"
    import { credentialOf } from "./src/cloud/bedrock.ts"
    const [accessKeyId, secretAccessKey] = [Redacted.make("id"), Redacted.make("secret")]
    const keys = Option.some({ accessKeyId, secretAccessKey, sessionToken: Option.none() })
    await Effect.runPromise(credentialOf({ bearerToken: Option.none(), fips: false, keys, region: "us-gov-west-1" }))`
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      ...["--import", join(import.meta.dirname, "loaded.ts"), "--import", join(root, "src/installed.js")],
      ...["--input-type=module", "--eval", script]
    ],
    { cwd: root, encoding: "utf8", env: { PATH: process.env.PATH, GATEWAY_TEST_LOADED: file } }
  )
  assert.strictEqual(status, 0, stderr)
  const loaded: ReadonlyArray<string> = JSON.parse(readFileSync(file, "utf8"))
  assert.isTrue(loaded.some((name) => name.includes("/@smithy/signature-v4/")))
  assert.deepStrictEqual(
    loaded.filter((name) => name.includes("/@aws-sdk/")),
    []
  )
})

describe("the compile cache", () => {
  /** A project whose node_modules cannot hold it, as where the gateway is installed by another user. */
  const cacheOf = (project: string, temporary: string) => {
    cpSync(join(root, "src/installed.js"), join(project, "src/installed.js"))
    const { stderr, stdout } = spawnSync(
      process.execPath,
      ["--import", join(project, "src/installed.js"), "-p", "require('node:module').getCompileCacheDir()"],
      { encoding: "utf8", env: { PATH: process.env.PATH, TMPDIR: temporary } }
    )
    assert.strictEqual(stderr, "")
    return stdout.trim()
  }
  const elsewhere = (name: string) => {
    const project = join(directory, name, "project")
    const temporary = join(directory, name, "tmp")
    mkdirSync(project, { recursive: true })
    mkdirSync(temporary)
    writeFileSync(join(project, "package.json"), '{"type":"module"}')
    writeFileSync(join(project, "node_modules"), "")
    symlinkSync(join(root, "node_modules"), join(directory, name, "node_modules"))
    const cache = join(temporary, `gateway-cache-${process.getuid?.()}`)
    return { project, temporary, cache, used: () => cacheOf(project, temporary) }
  }

  it("is kept with the project, for its user alone", () => {
    const { stdout } = spawnSync(
      process.execPath,
      ["--import", join(root, "src/installed.js"), "-p", "require('node:module').getCompileCacheDir()"],
      { encoding: "utf8", env: { PATH: process.env.PATH } }
    )
    const cache = join(root, "node_modules/.cache/gateway")
    assert.isTrue(stdout.startsWith(`${cache}/`), stdout)
    assert.strictEqual(statSync(cache).mode & 0o777, 0o700)
  })

  it("is a private directory elsewhere, where the project is not the user's", () => {
    const { cache, used } = elsewhere("private")
    assert.isTrue(used().startsWith(`${cache}/`))
    assert.strictEqual(statSync(cache).mode & 0o777, 0o700)
  })

  it("is none, where others could write to it", () => {
    const open = elsewhere("open")
    mkdirSync(open.cache)
    spawnSync("chmod", ["777", open.cache])
    assert.strictEqual(open.used(), "undefined")
    const linked = elsewhere("linked")
    mkdirSync(join(linked.temporary, "target"), { mode: 0o700 })
    symlinkSync(join(linked.temporary, "target"), linked.cache)
    assert.strictEqual(linked.used(), "undefined")
  })
})
