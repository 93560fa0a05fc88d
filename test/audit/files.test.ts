/** The events of files that are read name each file, by the digest that `sha256sum` prints of it. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Audit } from "../../src/audit/Audit.ts"
import { watchFile } from "../../src/watchFile.ts"
import { makeAuthority } from "../identity/certificates.ts"
import { makeKey } from "../identity/issuer.ts"
import { until } from "../operation/child.ts"
import { keysFileWith } from "../operation/keysFile.ts"
import { startGateway } from "../support/gateway.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-read-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string) => join(folder, name)
const write = (name: string, value: unknown) => {
  writeFileSync(at(name), JSON.stringify(value), { mode: 0o600 })
  return at(name)
}
const sumOf = (path: string) => execFileSync("sha256sum", [path], { encoding: "utf8" }).slice(0, 64)

it("each file that is read, and each that it names, has its own digest, and a changed one its event", async () => {
  const agency = makeAuthority(folder, "Agency CA")
  agency.issue("server", { subject: "/CN=localhost", names: "DNS:localhost,IP:127.0.0.1", usage: "serverAuth" })
  agency.issue("client", { subject: "/CN=gateway" })
  agency.list("agency.crl")
  const log = at("audit.jsonl")
  const keys = keysFileWith(folder, { good: {} })
  write("jwks.json", { keys: [(await makeKey("ES256", "one")).jwk] })
  const identity = write("identity.json", {
    version: 1,
    issuers: [{ issuer: "https://id.example", audience: "gateway", jwks: "jwks.json" }],
    authorities: [{ name: "agency", certificates: "ca.pem", crl: "agency.crl" }],
    rules: [{ authority: "agency", certificate: { uri: "spiffe://agency.gov/*" } }]
  })
  const guards = write("guards.json", {
    version: 1,
    guards: [
      {
        name: "own",
        url: "https://127.0.0.1:1",
        when: "before",
        action: "block",
        certificate: "client.pem",
        key: "client.key"
      }
    ]
  })
  const overlay = write("overlay.json", { models: {} })
  const gateway = await startGateway({
    settings: {
      GATEWAY_KEYS_FILE: keys.file,
      GATEWAY_IDENTITY_FILE: identity,
      GATEWAY_GUARDS_FILE: guards,
      GATEWAY_CATALOG_OVERLAY: overlay,
      GATEWAY_TLS_CERT: at("server.pem"),
      GATEWAY_TLS_KEY: at("server.key"),
      GATEWAY_TLS_CLIENT_CA: agency.pem,
      GATEWAY_AUDIT_LOG: log
    }
  })
  const read = () =>
    readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ audit, detail }) => audit === "file.read" && detail.path !== "shipped")
      .map(({ detail }) => `${detail.kind} ${detail.path} ${detail.sha256}`)
  const line = (kind: string, path: string) => `${kind} ${path} ${sumOf(path)}`
  const expected = [
    line("keys", keys.file),
    line("overlay", overlay),
    ...[identity, at("jwks.json"), agency.pem, at("agency.crl")].map((path) => line("identity", path)),
    ...[guards, at("client.pem")].map((path) => line("guards", path)),
    ...[at("server.pem"), agency.pem].map((path) => line("certificate", path))
  ]
  await until(() => read().length >= expected.length, "the first reads")
  assert.deepStrictEqual(read().sort(), expected.sort())
  agency.list("agency.crl", "-crldays", "5")
  await until(() => read().length > expected.length, "the list that is read again")
  await gateway.stop()
  assert.deepStrictEqual(
    read().filter((found) => !expected.includes(found)),
    [line("identity", at("agency.crl"))]
  )
}, 30_000)

it.effect("a file that was refused is read again, also where it is what it was before", () => {
  const events: Array<string> = []
  let text = "good"
  const read = Effect.suspend(() => (text === "" ? Effect.fail({ message: "gone" }) : Effect.succeed(text)))
  return Effect.gen(function* () {
    yield* watchFile({
      kind: "keys",
      path: "p",
      read,
      initial: text,
      version: (text) => text,
      every: "1 second",
      take: () => Effect.void,
      complaint: (message) => message
    })
    for (const next of ["good", "", "", "good", "good"]) {
      text = next
      yield* TestClock.adjust("1 second")
    }
    assert.deepStrictEqual(events, ["file.read", "file.refused", "file.read"])
  }).pipe(
    Effect.scoped,
    Effect.provideService(Audit, ({ audit }) => void events.push(audit))
  )
})
