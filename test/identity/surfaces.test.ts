/** Tokens, certificates and keys on the wire. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Anthropic from "@anthropic-ai/sdk"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import { until } from "../operation/child.ts"
import { keysFileWith } from "../operation/keysFile.ts"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { makeAuthority } from "./certificates.ts"
import { type Issuer, type Key, makeKey, seconds, startIssuer, tokenOf } from "./issuer.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-who-"))
const keys = keysFileWith(folder, { good: { levels: ["il5"] } }, [{ name: "atlas", requestsPerMinute: 1000 }])
const model = "claude-sonnet-4-5:il5"
const messages = [{ role: "user" as const, content: "Hello" }]

let issuer: Issuer
let key: Key
let agency: ReturnType<typeof makeAuthority>
let identityFile: string
const gateways: Array<Gateway> = []
const start = async (settings: Readonly<Record<string, string>>) => {
  const gateway = await startGateway({ settings: { GATEWAY_KEYS_FILE: keys.file, ...settings } })
  gateways.push(gateway)
  return gateway
}

beforeAll(async () => {
  key = await makeKey("ES256", "one")
  issuer = await startIssuer([key])
  agency = makeAuthority(folder, "Agency CA")
  agency.issue("person", { subject: "/CN=DOE.JANE", names: "otherName:1.3.6.1.4.1.311.20.2.3;UTF8:1234567890@mil" })
  agency.issue("workload", { subject: "/CN=job", names: "URI:spiffe://agency.gov/ns/atlas/sa/job" })
  agency.issue("revoked", { subject: "/CN=gone", names: "URI:spiffe://agency.gov/ns/atlas/sa/gone" })
  agency.issue("server", { subject: "/CN=localhost", names: "DNS:localhost,IP:127.0.0.1", usage: "serverAuth" })
  agency.revoke("revoked")
  agency.list("agency.crl")
  writeFileSync(join(folder, "jwks.json"), JSON.stringify({ keys: [key.jwk] }))
  identityFile = join(folder, "identity.json")
  writeFileSync(
    identityFile,
    JSON.stringify({
      version: 1,
      issuers: [{ issuer: issuer.url, audience: "gateway", jwks: "jwks.json" }],
      authorities: [{ name: "agency", certificates: "ca.pem", crl: "agency.crl" }],
      rules: [
        { issuer: issuer.url, claims: { sub: "job-*" }, team: "atlas", models: ["claude-*"], levels: ["il5"] },
        { authority: "agency", certificate: { uri: "spiffe://agency.gov/ns/atlas/*" }, team: "atlas" },
        { authority: "agency", certificate: { upn: "*" }, name: "person" }
      ]
    })
  )
})
afterAll(async () => {
  await Promise.all([issuer.stop(), ...gateways.map(({ stop }) => stop())])
  rmSync(folder, { recursive: true, force: true })
})

const token = (claims: Readonly<Record<string, unknown>> = {}) => tokenOf(issuer.url, key, { claims })
const statusOf = async (url: string, headers: Readonly<Record<string, string>>) => {
  const reply = await fetch(`${url}/v1/models`, { headers })
  await reply.body?.cancel()
  return reply.status
}

describe("a token", () => {
  it("is taken by the official SDKs in the place of their key, and its caller is on the record", async () => {
    const gateway = await start({ GATEWAY_IDENTITY_FILE: identityFile })
    const apiKey = await token()
    const openai = new OpenAI({ apiKey, baseURL: `${gateway.url}/v1` })
    const said = await openai.chat.completions.create({ model, messages })
    assert.strictEqual(said.choices[0]?.message.role, "assistant")
    const anthropic = new Anthropic({ authToken: apiKey, apiKey: null, baseURL: gateway.url })
    const reply = await anthropic.messages.create({ model, messages, max_tokens: 100 })
    assert.strictEqual(reply.role, "assistant")
    const streamed = anthropic.messages.stream({ model, messages, max_tokens: 100 })
    assert.strictEqual((await streamed.finalMessage()).role, "assistant")

    const refused = await openai.chat.completions.create({ model: "gpt-5.1:il5", messages }).catch((error) => error)
    assert.deepStrictEqual([refused.status, refused.type], [403, "permission_error"])
    await until(async () => gateway.records().length === 4, "the records", 5000)
    const records = gateway
      .records()
      .map(({ key_id, key_name, outcome, team }) => ({ key_id, key_name, outcome, team }))
    const id = records[0]?.key_id
    assert.match(String(id), /^jwt_[0-9a-f]{24}$/)
    for (const record of records.slice(0, 3)) {
      assert.deepStrictEqual(record, { key_id: id, key_name: "job-1", outcome: "ok", team: "atlas" })
    }
    assert.strictEqual(records[3]?.outcome, "forbidden")
  })

  it("that is not good is refused in the shape of the surface", async () => {
    const gateway = await start({ GATEWAY_IDENTITY_FILE: identityFile })
    const old = { authorization: `Bearer ${await token({ exp: seconds() - 600, iat: seconds() - 900 })}` }
    const post = async (path: string, headers: Readonly<Record<string, string>>) => {
      const body = JSON.stringify({ model, messages, max_tokens: 10 })
      const reply = await fetch(`${gateway.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body
      })
      const json: ReturnType<typeof JSON.parse> = await reply.json()
      return { status: reply.status, json }
    }
    const chat = await post("/v1/chat/completions", old)
    assert.deepStrictEqual([chat.status, chat.json.error.type], [403, "authentication_error"])
    assert.match(chat.json.error.message, /^The token has expired\. /)
    const native = await post("/v1/messages", old)
    assert.deepStrictEqual(
      [native.status, native.json.type, native.json.error.type],
      [401, "error", "authentication_error"]
    )
    const none = await post("/v1/messages", { authorization: `Bearer ${await token({ sub: "other" })}` })
    assert.deepStrictEqual([none.status, none.json.error.type], [403, "permission_error"])
    const asToken = await post("/v1/messages", { authorization: `Bearer ${keys.secrets.good}` })
    assert.deepStrictEqual([asToken.status, asToken.json.error.type], [401, "authentication_error"])
  })

  it("is not looked at where the operator names no identity file, or where a key is sent", async () => {
    const plain = await start({})
    const authorization = `Bearer ${await token()}`
    assert.strictEqual(await statusOf(plain.url, { authorization }), 403)
    assert.strictEqual(await statusOf(plain.url, { authorization, "x-api-key": keys.secrets.good }), 200)
    const gateway = await start({ GATEWAY_IDENTITY_FILE: identityFile, GATEWAY_BEARER_KEYS: "true" })
    assert.strictEqual(await statusOf(gateway.url, { authorization }), 200)
    assert.strictEqual(await statusOf(gateway.url, { authorization, "x-api-key": "wrong" }), 403)
    assert.strictEqual(await statusOf(gateway.url, { authorization: "Bearer x", "x-api-key": keys.secrets.good }), 200)
  })

  it("is refused where the header comes twice", async () => {
    const gateway = await start({ GATEWAY_IDENTITY_FILE: identityFile })
    const { request: plain } = await import("node:http")
    const good = `Bearer ${await token()}`
    const status = await new Promise((resolve, reject) => {
      plain(
        `${gateway.url}/v1/models`,
        { headers: ["authorization", good, "Authorization", "Bearer x", "host", "x"] },
        (reply) => {
          reply.resume()
          resolve(reply.statusCode)
        }
      )
        .on("error", reject)
        .end()
    })
    assert.strictEqual(status, 403)
  })
})

describe("a key", () => {
  it("is taken as Bearer where the operator allows it", async () => {
    const authorization = `Bearer ${keys.secrets.good}`
    const gateway = await start({ GATEWAY_BEARER_KEYS: "true" })
    assert.strictEqual(await statusOf(gateway.url, { authorization }), 200)
    assert.strictEqual(await statusOf(gateway.url, { authorization: `bearer  ${keys.secrets.good} ` }), 200)
    for (const wrong of [
      "Bearer wrong",
      `Basic ${keys.secrets.good}`,
      `Basic ${authorization}`,
      `${authorization} x`
    ]) {
      assert.strictEqual(await statusOf(gateway.url, { authorization: wrong }), 403, wrong)
    }
    assert.strictEqual(await statusOf(gateway.url, { authorization, "x-api-key": "wrong" }), 403)
    assert.strictEqual(await statusOf(gateway.url, {}), 403)
  })
})

describe("a client certificate", () => {
  /** The status of `/v1/models`, or the error of the handshake. */
  const ask = (port: number, name: string | undefined, headers: Readonly<Record<string, string>> = {}) =>
    new Promise<number | string | undefined>((resolve) => {
      const read = (file: string) => readFileSync(join(folder, file))
      request(
        {
          host: "127.0.0.1",
          port,
          path: "/v1/models",
          ca: read("ca.pem"),
          agent: false,
          headers,
          ...(name === undefined ? {} : { cert: read(`${name}.pem`), key: read(`${name}.key`) })
        },
        (reply) => {
          reply.resume()
          resolve(reply.statusCode)
        }
      )
        .on("error", (error) => resolve(String("code" in error ? error.code : error)))
        .end()
    })

  it("names its caller where TLS ends here", async () => {
    const gateway = await start({
      GATEWAY_IDENTITY_FILE: identityFile,
      GATEWAY_TLS_CERT: join(folder, "server.pem"),
      GATEWAY_TLS_KEY: join(folder, "server.key"),
      GATEWAY_TLS_CLIENT_CA: join(folder, "ca.pem")
    })
    assert.strictEqual(await ask(gateway.port, "person"), 200)
    assert.strictEqual(await ask(gateway.port, "workload"), 200)
    assert.strictEqual(await ask(gateway.port, "revoked"), 403)
    assert.strictEqual(await ask(gateway.port, "person", { "x-api-key": "wrong" }), 403)
    assert.strictEqual(await ask(gateway.port, "person", { "x-api-key": keys.secrets.good }), 200)
    // Client libraries that insist on a key send any text.
    assert.strictEqual(await ask(gateway.port, "person", { authorization: "Bearer unused" }), 200)
  })

  const field = (name: string) => {
    const pem = readFileSync(join(folder, `${name}.pem`), "utf8")
    const [, base64 = ""] = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/.exec(pem) ?? []
    return `:${base64.replace(/\s/g, "")}:`
  }

  it("or token that is refused leaves the reason, and the ID where it is known, in the audit log and the record", async () => {
    const gateway = await start({
      GATEWAY_IDENTITY_FILE: identityFile,
      GATEWAY_TRUSTED_PROXIES: "127.0.0.0/8",
      GATEWAY_AUDIT_LOG: join(folder, "refused.jsonl"),
      GATEWAY_USAGE_LOG: join(folder, "refused-usage.jsonl")
    })
    const bearer = async (claims: Readonly<Record<string, unknown>>) => ({
      authorization: `Bearer ${await token(claims)}`
    })
    const now = seconds()
    const refused: ReadonlyArray<readonly [why: string, id: RegExp, headers: Readonly<Record<string, string>>]> = [
      ["expired", /^jwt_/, await bearer({ exp: now - 600, iat: now - 900 })],
      ["token", /^jwt_/, await bearer({ aud: "elsewhere" })],
      ["token", /^jwt_/, await bearer({ exp: now + 7200 })],
      ["issuer", /^undefined$/, await bearer({ iss: "https://elsewhere.example" })],
      ["no-rule", /^jwt_/, await bearer({ sub: "other" })],
      ["certificate-revoked", /^crt_/, { "client-cert": field("revoked") }],
      ["certificate", /^crt_/, { "client-cert": field("server") }],
      ["certificate", /^undefined$/, { "client-cert": ":AAAA:" }],
      ["unknown", /^undefined$/, { "x-api-key": "wrong" }]
    ]
    for (const [, , headers] of refused) assert.strictEqual(await statusOf(gateway.url, headers), 403)
    await gateway.stop()
    const linesOf = (file: string) =>
      (readFileSync(join(folder, file), "utf8").match(/.+/g) ?? []).map(
        (line): ReturnType<typeof JSON.parse> => JSON.parse(line)
      )
    const events = linesOf("refused.jsonl").filter(({ audit }) => audit === "caller.refused")
    const records = linesOf("refused-usage.jsonl")
    assert.deepStrictEqual(
      events.map(({ reason }) => reason),
      refused.map(([why]) => why)
    )
    for (const [at, [why, id]] of refused.entries()) {
      assert.match(String(events[at].actor.key_id), id, why)
      assert.strictEqual(records[at]?.key_id, events[at].actor.key_id ?? null, why)
    }
  })

  it("is taken of a proxy that is trusted, in the header of RFC 9440, and of nobody else", async () => {
    const proxied = { GATEWAY_IDENTITY_FILE: identityFile, GATEWAY_TRUSTED_PROXIES: "127.0.0.0/8" }
    const behind = await start({ ...proxied, GATEWAY_BEARER_KEYS: "true" })
    const status = (name: string) => statusOf(behind.url, { "client-cert": field(name) })
    assert.deepStrictEqual(
      [await status("person"), await status("workload"), await status("revoked"), await status("server")],
      [200, 200, 403, 403]
    )
    for (const wrong of ["x", ":x:", "::", `${field("person")}, ${field("person")}`]) {
      assert.strictEqual(await statusOf(behind.url, { "client-cert": wrong }), 403, wrong)
    }
    assert.strictEqual(await statusOf(behind.url, { authorization: `Bearer ${keys.secrets.good}` }), 200)
    // The proxy's own certificate says nothing of a client that has none.
    const encrypted = await start({
      ...proxied,
      GATEWAY_TLS_CERT: join(folder, "server.pem"),
      GATEWAY_TLS_KEY: join(folder, "server.key"),
      GATEWAY_TLS_CLIENT_CA: join(folder, "ca.pem")
    })
    assert.strictEqual(await ask(encrypted.port, "workload"), 403)
    assert.strictEqual(await ask(encrypted.port, "workload", { "client-cert": field("person") }), 200)
    assert.strictEqual(await ask(encrypted.port, "workload", { "x-api-key": keys.secrets.good }), 200)
    const direct = await start({ GATEWAY_IDENTITY_FILE: identityFile, GATEWAY_TRUSTED_PROXIES: "192.0.2.0/24" })
    assert.strictEqual(await statusOf(direct.url, { "client-cert": field("person") }), 403)
  })
})
