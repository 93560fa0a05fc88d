/** FIPS (docs/fips.md): the start refuses without a provider, and every surface works with one. */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { serve, start } from "./child.ts"
import { ask, inference, streaming } from "./surfaces.ts"

const conf = process.env.GATEWAY_TEST_FIPS_CONF ?? ""
const environment = {
  OPENSSL_CONF: conf,
  OPENSSL_MODULES: dirname(conf),
  NODE_OPTIONS: "--force-fips",
  GATEWAY_FIPS: "required"
}

/** Why there is nothing to run with; undefined where there is. */
const missing = (() => {
  if (conf === "") return "GATEWAY_TEST_FIPS_CONF names no openssl.cnf that activates a FIPS module"
  try {
    const env = { PATH: process.env.PATH, ...environment }
    return execFileSync(process.execPath, ["-p", "crypto.getFips()"], { encoding: "utf8", env }).trim() === "1"
      ? undefined
      : `${conf} activates no FIPS module`
  } catch {
    return `Node does not start with --force-fips and ${conf}`
  }
})()

describe("GATEWAY_FIPS=required", () => {
  it("refuses to start without a FIPS provider, in one line that says how", async () => {
    const { code, stderr, stdout } = await start(["serve"], { GATEWAY_FIPS: "required" }).ended
    assert.deepStrictEqual([code, stdout], [1, ""])
    assert.match(stderr, /^gateway: GATEWAY_FIPS is required, but .*OPENSSL_CONF.*docs\/fips\.md\)\n$/)
  })

  it.skipIf(missing !== undefined)(
    `starts with one, says so, and serves every surface${missing === undefined ? "" : `: skipped, because ${missing}`}`,
    async () => {
      const gateway = await serve({ ...environment, GATEWAY_SANDBOX: "on" })
      try {
        assert.match(gateway.stdout(), /OpenSSL \S+ with FIPS provider/)
        for (const surface of inference) {
          assert.strictEqual((await ask(gateway.url, "sandbox-key", surface, "hello")).status, 200, surface)
        }
        for (const surface of streaming) {
          const got = await ask(gateway.url, "sandbox-key", surface, "hello", { stream: true })
          assert.match(got.text, /message_stop|\[DONE\]|response\.completed/, surface)
        }
        assert.strictEqual((await ask(gateway.url, "sandbox-key", "count_tokens", "hello")).status, 200)
        for (const path of ["/", "/docs", "/v1/models"]) {
          const reply = await fetch(`${gateway.url}${path}`, { headers: { "x-api-key": "sandbox-key" } })
          assert.strictEqual(reply.status, 200, path)
        }
        const health = await fetch(`${gateway.url}/health`, { headers: { "x-api-key": "sandbox-key" } })
        assert.deepInclude(await health.json(), { crypto: { openssl: process.versions.openssl, fips: true } })
      } finally {
        await gateway.stop()
      }
    },
    60_000
  )
})

it("the source asks for no digest that FIPS forbids, and names no other curve", () => {
  const root = join(import.meta.dirname, "../../src")
  const source = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && file !== "fips.ts")
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n")
  const digests = [...source.matchAll(/\b(?:createHash|createHmac|hash)\(\s*"([\w-]+)"/g)].map(([, name]) => name)
  assert.isAbove(digests.length, 5)
  assert.deepStrictEqual([...new Set(digests)], ["sha256"])
  assert.notMatch(source, /\b(md5|sha-?1|ripemd\w*|x25519|x448|ed25519|ed448|secp256k1|chacha20\w*|blake2\w*)\b/i)
})
