/** Detectors that ask for a certificate (mTLS): the gateway shows the guard's own, and to nobody else. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readGuards } from "../../src/guards/GuardsFile.ts"
import { makeAuthority } from "../identity/certificates.ts"
import { type Serving, serve, until } from "../operation/child.ts"
import { type Detector, startDetector } from "../support/detector.ts"
import { post } from "../support/http.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-guards-tls-"))
const file = join(folder, "guards.json")
const write = (guards: ReadonlyArray<object>) =>
  writeFileSync(file, JSON.stringify({ version: 1, guards }), { mode: 0o600 })
/** The files that the guard names, in the folder of its own file. */
const use = (certificate: string, key = certificate) => {
  copyFileSync(join(folder, "ca", `${certificate}.pem`), join(folder, "client.pem"))
  copyFileSync(join(folder, "ca", `${key}.key`), join(folder, "client.key"))
}
const own = { certificate: "client.pem", key: "client.key" }

let detector: Detector
beforeAll(async () => {
  mkdirSync(join(folder, "ca"))
  const authority = makeAuthority(join(folder, "ca"), "ca")
  authority.issue("detector", { subject: "/CN=detector", names: "IP:127.0.0.1", usage: "serverAuth" })
  for (const name of ["first", "second"]) authority.issue(name, { subject: `/CN=${name}` })
  const read = (name: string) => readFileSync(authority.path(name))
  const [cert, key, ca] = [read("detector.pem"), read("detector.key"), read("ca.pem")]
  detector = await startDetector({ cert, key, ca, requestCert: true, rejectUnauthorized: true })
})
afterAll(async () => {
  await detector.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe("a detector that asks for a certificate", () => {
  let gateway: Serving
  const guard = (more: object) => ({ url: detector.url, when: "before", action: "redact", ...more })
  const ask = (model: string) =>
    post(
      `${gateway.url}/v1/chat/completions`,
      { model, messages: [{ role: "user", content: "My number is 123-45-6789." }] },
      { "x-api-key": "sandbox-key" }
    )
  beforeAll(async () => {
    use("first")
    write([
      guard({ name: "shown", levels: ["il5"], ...own }),
      guard({ name: "hidden", levels: ["il4"], onFailure: "pass" })
    ])
    gateway = await serve({ GATEWAY_GUARDS_FILE: file, NODE_EXTRA_CA_CERTS: join(folder, "ca", "ca.pem") })
  })
  afterAll(() => gateway.stop())

  it("gets the guard's own, and is not reached by a guard without", async () => {
    const got = await ask("claude-sonnet-4-5:il5")
    assert.deepStrictEqual(got.json.x_gateway_guards, [{ guard: "shown", action: "redact", categories: ["ssn"] }])
    assert.deepStrictEqual(detector.peers, ["first"])
    const without = await ask("claude-sonnet-4-5:il4")
    assert.deepStrictEqual(without.json.x_gateway_guards, [
      { guard: "hidden", action: "flag", categories: ["unavailable"] }
    ])
    assert.lengthOf(detector.peers, 1)
  })

  it("gets a renewed one without a restart, and the one in force where the new one is broken", async () => {
    use("second", "first")
    await until(() => gateway.stderr().includes("The guards in force stay"), "a refusal")
    assert.match(
      gateway.stderr(),
      /the guard shown needs PEM files in certificate and key, and the key the certificate's/
    )
    await ask("claude-sonnet-4-5:il5")
    assert.strictEqual(detector.peers.at(-1), "first")
    use("second")
    await until(() => gateway.stderr().includes("guards read from"), "a second read")
    await ask("claude-sonnet-4-5:il5")
    assert.strictEqual(detector.peers.at(-1), "second")
  })
}, 60_000)

describe("the certificate of a guard", () => {
  const guard = { name: "pii", url: "https://127.0.0.1:9", when: "before", action: "flag" }
  const broken: ReadonlyArray<readonly [string, object, RegExp]> = [
    [
      "without its key",
      { certificate: "client.pem" },
      /the guard pii needs both certificate and key, or neither\s+at \["guards"\]\[0\]\["key"\]/
    ],
    ["for plain http", { ...own, url: "http://127.0.0.1:9" }, /the guard pii has a certificate: its url must be https/],
    [
      "that is not there",
      { ...own, certificate: "none.pem" },
      /the guard pii names none\.pem, which cannot be read \(there is no such file\)/
    ],
    ["that is none", { ...own, certificate: "guards.json" }, /the guard pii needs PEM files/]
  ]
  it.effect.each(broken)("%s is refused", ([, more, message]) =>
    Effect.gen(function* () {
      use("first")
      write([{ ...guard, ...more }])
      const refused = yield* Effect.flip(readGuards(file))
      assert.match(refused.message, message)
      assert.notInclude(refused.message, "PRIVATE")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
