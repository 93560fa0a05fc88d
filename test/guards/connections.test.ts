/** The way to detectors: the guard's own certificate (mTLS), the operator's proxy, and the policy of TLS. */
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { ServerOptions } from "node:https"
import { connect } from "node:net"
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
let tls: ServerOptions
beforeAll(async () => {
  mkdirSync(join(folder, "ca"))
  const authority = makeAuthority(join(folder, "ca"), "ca")
  authority.issue("detector", {
    subject: "/CN=detector",
    names: "IP:127.0.0.1,DNS:guard.agency.example",
    usage: "serverAuth"
  })
  for (const name of ["first", "second"]) authority.issue(name, { subject: `/CN=${name}` })
  const read = (name: string) => readFileSync(authority.path(name))
  const [cert, key, ca] = [read("detector.pem"), read("detector.key"), read("ca.pem")]
  tls = { cert, key, ca }
  detector = await startDetector({ ...tls, requestCert: true, rejectUnauthorized: true })
})
afterAll(async () => {
  await detector.stop()
  rmSync(folder, { recursive: true, force: true })
})

const guard = (more: object) => ({ url: detector.url, when: "before", action: "redact", ...more })
const startWith = (more: Readonly<Record<string, string>> = {}) =>
  serve({ GATEWAY_GUARDS_FILE: file, NODE_EXTRA_CA_CERTS: join(folder, "ca", "ca.pem"), ...more })
const askAt = ({ url }: Serving, model: string) =>
  post(
    `${url}/v1/chat/completions`,
    { model, messages: [{ role: "user", content: "My number is 123-45-6789." }] },
    { "x-api-key": "sandbox-key" }
  )
const said = (guard: string, action: string, category: string) => [{ guard, action, categories: [category] }]

describe("a detector", () => {
  let gateway: Serving
  const reads = () => gateway.stderr().split("guards read from").length
  const ask = (model: string) => askAt(gateway, model)
  beforeAll(async () => {
    use("first")
    write([
      guard({ name: "shown", levels: ["il5"], ...own }),
      guard({ name: "hidden", levels: ["il4"], onFailure: "pass" })
    ])
    gateway = await startWith()
  })
  afterAll(() => gateway.stop())

  it("gets the guard's own certificate where it asks for one, and is not reached by a guard without", async () => {
    const got = await ask("claude-sonnet-4-5:il5")
    assert.deepStrictEqual(got.json.x_gateway_guards, said("shown", "redact", "ssn"))
    assert.deepStrictEqual(detector.peers, ["CN=first"])
    const without = await ask("claude-sonnet-4-5:il4")
    assert.deepStrictEqual(without.json.x_gateway_guards, said("hidden", "flag", "unavailable"))
    assert.lengthOf(detector.peers, 1)
  })

  it("gets a renewed certificate without a restart, and the one in force where the new one is broken", async () => {
    use("second", "first")
    await until(() => gateway.stderr().includes("The guards in force stay"), "a refusal")
    assert.match(
      gateway.stderr(),
      /the guard shown needs PEM files in certificate and key, and the key the certificate's/
    )
    await ask("claude-sonnet-4-5:il5")
    assert.strictEqual(detector.peers.at(-1), "CN=first")
    use("second")
    await until(() => gateway.stderr().includes("guards read from"), "a second read")
    await ask("claude-sonnet-4-5:il5")
    assert.strictEqual(detector.peers.at(-1), "CN=second")
  })

  it("gets no text where it speaks no TLS of the policy", async () => {
    const weak: ReadonlyArray<readonly [string, ServerOptions]> = [
      ["curve", { ecdhCurve: "X25519" }],
      ["cipher", { maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-CHACHA20-POLY1305" }],
      ["none", {}],
      ["version", { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }]
    ]
    const detectors = await Promise.all(weak.map(([, more]) => startDetector({ ...tls, ...more })))
    const before = reads()
    write(weak.map(([name], at) => guard({ name, url: detectors[at]?.url, onFailure: "pass" })))
    try {
      await until(() => reads() > before, "the other guards")
      const got = await ask("claude-sonnet-4-5:il5")
      assert.deepStrictEqual(
        got.json.x_gateway_guards,
        weak.flatMap(([name]) => (name === "none" ? said(name, "redact", "ssn") : said(name, "flag", "unavailable")))
      )
      assert.deepStrictEqual(
        detectors.map(({ asked }) => asked.length),
        weak.map(([name]) => (name === "none" ? 1 : 0))
      )
    } finally {
      await Promise.all(detectors.map(({ stop }) => stop()))
    }
  })
}, 60_000)

it("a proxy carries TLS to the detector, and is shown neither text nor certificate; loopback is asked directly", async () => {
  const asked: Array<string> = []
  let seen = ""
  const proxy = createServer().on("connect", (request, socket, head) => {
    asked.push(String(request.url))
    const onward = connect(Number(new URL(detector.url).port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n")
      onward.write(head)
      onward.pipe(socket).pipe(onward)
    }).on("error", () => socket.destroy())
    socket
      .on("error", () => onward.destroy())
      .on("data", (data) => {
        seen += data.toString("latin1")
      })
  })
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
  const address = proxy.address()
  use("first")
  const far = { url: "https://guard.agency.example", boundary: "fedramp-high,il5", levels: ["il5"] }
  write([guard({ name: "far", ...far, ...own }), guard({ name: "near", levels: ["il4"], ...own })])
  const gateway = await startWith({
    GATEWAY_HTTPS_PROXY: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`
  })
  try {
    const got = await askAt(gateway, "claude-sonnet-4-5:il5")
    assert.deepStrictEqual(got.json.x_gateway_guards, said("far", "redact", "ssn"))
    assert.deepStrictEqual(asked, ["guard.agency.example:443"])
    assert.notMatch(seen, /6789|first/)
    const near = await askAt(gateway, "claude-sonnet-4-5:il4")
    assert.deepStrictEqual(near.json.x_gateway_guards, said("near", "redact", "ssn"))
    assert.lengthOf(asked, 1)
  } finally {
    await gateway.stop()
    proxy.close()
    proxy.closeAllConnections()
  }
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

  it.effect("is refused where others may write it, or its key", () =>
    Effect.gen(function* () {
      use("first")
      write([{ ...guard, ...own }])
      yield* readGuards(file)
      for (const name of [own.certificate, own.key]) {
        const open = join(folder, name)
        chmodSync(open, 0o620)
        const { message } = yield* Effect.flip(readGuards(file))
        assert.include(message, `${open} may be written by others than its owner (mode 0620)`)
        chmodSync(open, 0o600)
      }
    })
  )
})
