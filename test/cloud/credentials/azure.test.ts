import { generateKeyPairSync, verify, X509Certificate } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { INetworkModule, NetworkRequestOptions, NetworkResponse } from "@azure/msal-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { azureCloud, credentialOf } from "../../../src/cloud/azure.ts"
import { environment, plain, renew, together, tokenServer } from "./tokenServer.ts"

const government = {
  endpoint: "https://name.openai.azure.us",
  apiKey: Option.none(),
  tenantId: Option.none(),
  clientId: Option.none(),
  clientSecret: Option.none(),
  clientCertificatePath: Option.none(),
  federatedTokenFile: Option.none(),
  authorityHost: Option.none()
}
const tenant = "8d1b5a30-0000-4000-8000-000000000001"
const application = { ...government, tenantId: Option.some(tenant), clientId: Option.some("client") }
const tokenEndpoint = `https://login.microsoftonline.us/${tenant}/oauth2/v2.0/token`

/** A certificate whose key nobody has: only its thumbprint matters. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUaXiQiQ8irVX1BDAY9xF/ex+IfyswCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjEwMjQ0MjVaGA8yMTI2MTAyODAyNDQy
NVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDbS
865/AJYDV2w/JcJkz6mVNCidVIVUhNYVRgW4pl0MMgUaLS+2mNVUwv6oPjcPapEF
pRL4Dvj/SBwE99ppJrKjUzBRMB0GA1UdDgQWBBTVLgnrQAMKGgo94jCJXxCqGjyN
VTAfBgNVHSMEGDAWgBTVLgnrQAMKGgo94jCJXxCqGjyNVTAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCBJxaI2pdkT4eLmEo7LI1bc8rPxUezRcw3
wsUGMJK9QAIgaoGYjr4Mcr801K9C6DPQDGeabO6Y7G0Iei5xNcZ8VTM=
-----END CERTIFICATE-----
`

/** Stands in for the authority, which the library reaches only by https. */
const authority = (reply: (n: number) => { status: number; body: unknown }) => {
  const requests: Array<{ url: string; form: URLSearchParams }> = []
  const answer = <T>(url: string, options?: NetworkRequestOptions): Promise<NetworkResponse<T>> => {
    requests.push({ url, form: new URLSearchParams(options?.body) })
    const { status, body } = reply(requests.length)
    return Promise.resolve({ status, headers: {}, body: body as T })
  }
  const network: INetworkModule = { sendGetRequestAsync: answer, sendPostRequestAsync: answer }
  return { network, requests }
}

const token = (n: number) => ({
  status: 200,
  body: { token_type: "Bearer", access_token: `entra-${n}`, expires_in: 3600, ext_expires_in: 3600 }
})

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "azure-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

describe("azureCloud", () => {
  for (const [endpoint, authorityHost, expected] of [
    ["https://a.openai.azure.us", undefined, ["https://login.microsoftonline.us", "us"]],
    ["https://a.cognitiveservices.azure.us", undefined, ["https://login.microsoftonline.us", "us"]],
    ["https://a.openai.azure.com", undefined, ["https://login.microsoftonline.com", "com"]],
    ["https://a.openai.azure.us.evil.com", undefined, ["https://login.microsoftonline.us", "us"]],
    ["https://openai.private.mil", undefined, ["https://login.microsoftonline.us", "us"]],
    ["https://openai.private.mil", "https://login.microsoftonline.com", ["https://login.microsoftonline.com", "com"]],
    ["http://127.0.0.1:1", "https://login.microsoftonline.us", ["https://login.microsoftonline.us", "us"]],
    ["https://a.openai.azure.us", "https://login.example/", ["https://login.example", "us"]]
  ] as const) {
    it(`${endpoint} ${authorityHost ?? ""}`, () => {
      assert.deepStrictEqual(azureCloud({ endpoint, authorityHost: Option.fromUndefinedOr(authorityHost) }), {
        authority: expected[0],
        scope: `https://cognitiveservices.azure.${expected[1]}/.default`
      })
    })
  }
})

describe("azure", () => {
  it.live("sends an API key before anything else", () =>
    Effect.gen(function* () {
      const credential = yield* credentialOf({
        ...application,
        apiKey: Option.some(Redacted.make("key")),
        clientSecret: Option.some(Redacted.make("s"))
      })
      assert.deepStrictEqual(yield* credential.headers(plain), { "api-key": "key" })
      assert.isUndefined(credential.refresh)
    })
  )

  it.live("takes tokens with a client secret, one for all callers, and a new one when refused", () =>
    Effect.gen(function* () {
      const { network, requests } = authority(token)
      const credential = yield* credentialOf(
        { ...application, clientSecret: Option.some(Redacted.make("s3cret")) },
        network
      )
      const all = yield* together(credential.headers(plain), 100)
      assert.isTrue(all.every((headers) => headers.authorization === "Bearer entra-1"))
      yield* renew(credential, { authorization: "Bearer entra-1" })
      assert.deepStrictEqual(yield* credential.headers(plain), { authorization: "Bearer entra-2" })
      assert.deepStrictEqual(
        requests.map(({ url }) => url.split("?")[0]),
        [tokenEndpoint, tokenEndpoint]
      )
      const form = requests[0]?.form
      assert.strictEqual(form?.get("client_secret"), "s3cret")
      assert.strictEqual(form?.get("client_id"), "client")
      assert.include(form?.get("scope"), "https://cognitiveservices.azure.us/.default")
    })
  )

  it.live("reads the federated token again for every token", () =>
    Effect.gen(function* () {
      const { network, requests } = authority(token)
      const federatedTokenFile = join(yield* folder, "token")
      writeFileSync(federatedTokenFile, "jwt-1\n")
      const credential = yield* credentialOf(
        { ...application, federatedTokenFile: Option.some(federatedTokenFile) },
        network
      )
      const headers = yield* credential.headers(plain)
      writeFileSync(federatedTokenFile, "jwt-2\n")
      yield* renew(credential, headers)
      assert.deepStrictEqual(
        requests.map(({ form }) => form.get("client_assertion")),
        ["jwt-1", "jwt-2"]
      )
    })
  )

  it.live("proves itself with a certificate", () =>
    Effect.gen(function* () {
      const { network, requests } = authority(token)
      const clientCertificatePath = join(yield* folder, "client.pem")
      const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
      writeFileSync(clientCertificatePath, privateKey.export({ type: "pkcs8", format: "pem" }) + certificate)
      const credential = yield* credentialOf(
        { ...application, clientCertificatePath: Option.some(clientCertificatePath) },
        network
      )
      yield* credential.headers(plain)
      const [header = "", payload = "", signature = ""] = requests[0]?.form.get("client_assertion")?.split(".") ?? []
      const { alg, "x5t#S256": thumbprint } = JSON.parse(Buffer.from(header, "base64url").toString())
      assert.strictEqual(alg, "PS256")
      assert.strictEqual(
        Buffer.from(thumbprint, "base64url").toString("hex").toUpperCase(),
        new X509Certificate(certificate).fingerprint256.replaceAll(":", "")
      )
      const key = { key: publicKey, padding: 6, saltLength: 32 } // RSASSA-PSS, as PS256 asks
      assert.isTrue(verify("sha256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url")))
    })
  )

  it.live("takes tokens from the platform's managed identity", () =>
    Effect.gen(function* () {
      const server = yield* tokenServer((_, n) => ({
        json: {
          token_type: "Bearer",
          access_token: `identity-${n}`,
          resource: "r",
          client_id: "c",
          expires_on: Math.floor(Date.now() / 1000) + 3600
        }
      }))
      yield* environment({ IDENTITY_ENDPOINT: `${server.url}/msi/token`, IDENTITY_HEADER: "header" })
      const credential = yield* credentialOf({ ...government, clientId: Option.some("user-assigned") })
      const all = yield* together(credential.headers(plain), 100)
      assert.isTrue(all.every((headers) => headers.authorization === "Bearer identity-1"))
      yield* renew(credential, { authorization: "Bearer identity-1" })
      assert.deepStrictEqual(yield* credential.headers(plain), { authorization: "Bearer identity-2" })
      assert.strictEqual(server.requests.length, 2)
      const asked = new URL(server.requests[0]?.url ?? "", server.url).searchParams
      assert.strictEqual(asked.get("resource"), "https://cognitiveservices.azure.us")
      assert.strictEqual(asked.get("client_id"), "user-assigned")
      assert.strictEqual(server.requests[0]?.headers["x-identity-header"], "header")
    })
  )

  it.live("says why there is no token, without the authority's text", () =>
    Effect.gen(function* () {
      const { network } = authority(() => ({
        status: 401,
        body: { error: "invalid_client", error_description: "AADSTS7000215: s3cret", correlation_id: "c" }
      }))
      const credential = yield* credentialOf(
        { ...application, clientSecret: Option.some(Redacted.make("s3cret")) },
        network
      )
      const error = yield* Effect.flip(credential.headers(plain))
      assert.match(error.message, /^no credentials from Entra ID \(client secret\) \(.*invalid_client/)
      assert.isTrue(error.refused)
      assert.notInclude(JSON.stringify(error) + String(error.stack) + String(error.cause), "s3cret")
      const gone = yield* credentialOf(
        { ...application, federatedTokenFile: Option.some("/nonexistent/token") },
        network
      )
      assert.include(
        (yield* Effect.flip(gone.headers(plain))).message,
        "AZURE_FEDERATED_TOKEN_FILE: cannot read /nonexistent/token (there is no such file)"
      )
    })
  )

  it.live.each([
    ["is missing", "/nonexistent.pem", "AZURE_CLIENT_CERTIFICATE_PATH: cannot read /nonexistent.pem (there is no such"],
    ["is no certificate", "/etc/hostname", "AZURE_CLIENT_CERTIFICATE_PATH: /etc/hostname must be a PEM file with a"],
    // The certificate itself, in place of its file.
    [
      "is a secret",
      `-----s3cret${"x".repeat(300)}`,
      "AZURE_CLIENT_CERTIFICATE_PATH: cannot read the file that it should"
    ]
  ] as const)("names the file that %s", ([, path, expected]) =>
    Effect.gen(function* () {
      const credential = yield* credentialOf({ ...application, clientCertificatePath: Option.some(path) })
      const { message } = yield* Effect.flip(credential.headers(plain))
      assert.include(message, expected)
      assert.notInclude(message, "s3cret")
    })
  )

  it.live("needs a tenant and a client beside a secret", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        credentialOf({ ...government, clientSecret: Option.some(Redacted.make("s3cret")) })
      )
      assert.strictEqual(error.message, "Entra ID (client secret) needs AZURE_TENANT_ID and AZURE_CLIENT_ID")
    })
  )
})
