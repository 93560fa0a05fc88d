import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { credentialOf } from "../../../src/cloud/vertex.ts"
import { environment, plain, renew, type TokenReply, together, tokenServer } from "./tokenServer.ts"

/** Nothing of the machine's own Google set-up. */
const nothing = {
  GOOGLE_APPLICATION_CREDENTIALS: undefined,
  GOOGLE_CLOUD_QUOTA_PROJECT: undefined,
  GOOGLE_CLOUD_PROJECT: undefined,
  CLOUDSDK_CONFIG: "/nonexistent",
  HOME: "/nonexistent"
}

const credentialsFile = (json: unknown) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "google-"))
      writeFileSync(join(folder, "adc.json"), JSON.stringify(json))
      writeFileSync(join(folder, "subject"), "subject-token")
      return folder
    }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  )

const metadata = (token: (n: number) => TokenReply) => {
  let tokens = 0
  return tokenServer(({ url }) => {
    const flavor = { "metadata-flavor": "Google" }
    return url.includes("/token") ? { ...token(++tokens), headers: flavor } : { headers: flavor, json: "ok" }
  })
}

const useMetadata = (url: string) =>
  environment({
    ...nothing,
    GCE_METADATA_HOST: new URL(url).host,
    METADATA_SERVER_DETECTION: "assume-present"
  })

const token = (n: number) => ({ json: { access_token: `ya29.t${n}`, expires_in: 3600, token_type: "Bearer" } })

const settings = { project: "p", accessToken: Option.none() }

describe("google", () => {
  it.live("sends a fixed token as it is", () =>
    Effect.gen(function* () {
      const credential = yield* credentialOf({ project: "p", accessToken: Option.some(Redacted.make("fixed")) })
      const headers = yield* credential.headers(plain)
      assert.deepStrictEqual(headers, { authorization: "Bearer fixed" })
      assert.isUndefined(credential.refresh)
    })
  )

  it.live("takes tokens from the metadata server, one for all callers, and a new one when refused", () =>
    Effect.gen(function* () {
      const server = yield* metadata(token)
      yield* useMetadata(server.url)
      const credential = yield* credentialOf(settings)
      const all = yield* together(credential.headers(plain), 100)
      assert.deepStrictEqual(all, Array(100).fill({ authorization: "Bearer ya29.t1" }))
      yield* renew(credential, { authorization: "Bearer ya29.t1" })
      assert.deepStrictEqual(yield* credential.headers(plain), { authorization: "Bearer ya29.t2" })
      const asked = server.requests.filter(({ url }) => url.includes("/token"))
      assert.strictEqual(asked.length, 2)
      assert.match(decodeURIComponent(asked[0]?.url ?? ""), /scopes=https:\/\/www.googleapis.com\/auth\/cloud-platform/)
    })
  )

  it.live("finds credentials that come later, after a failure without the server's text", () =>
    Effect.gen(function* () {
      const secret = "ya29.in-the-reply"
      const server = yield* metadata((n) =>
        n === 1 ? { status: 403, json: { error: secret, error_description: secret } } : token(n)
      )
      yield* useMetadata(server.url)
      const credential = yield* credentialOf(settings)
      const error = yield* Effect.flip(credential.headers(plain))
      assert.match(error.message, /Application Default Credentials \(.*status 403\)/)
      assert.notInclude(JSON.stringify(error) + String(error) + String(error.stack) + String(error.cause), secret)
      assert.deepStrictEqual(yield* credential.headers(plain), { authorization: "Bearer ya29.t2" })
    })
  )

  it.live("exchanges a federated token, and names the quota project", () =>
    Effect.gen(function* () {
      const server = yield* tokenServer((_, n) => token(n))
      const folder = yield* credentialsFile({})
      writeFileSync(
        join(folder, "adc.json"),
        JSON.stringify({
          type: "external_account",
          audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/p",
          subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
          token_url: `${server.url}/v1/token`,
          credential_source: { file: join(folder, "subject") },
          quota_project_id: "billing"
        })
      )
      yield* environment({ ...nothing, GOOGLE_APPLICATION_CREDENTIALS: join(folder, "adc.json") })
      const credential = yield* credentialOf(settings)
      const headers = yield* credential.headers(plain)
      assert.deepStrictEqual(headers, { authorization: "Bearer ya29.t1", "x-goog-user-project": "billing" })
      assert.include(server.requests[0]?.body, "subject_token=subject-token")
      yield* renew(credential, headers)
      assert.strictEqual((yield* credential.headers(plain)).authorization, "Bearer ya29.t2")
      assert.strictEqual(server.requests.length, 2)
    })
  )

  it.live("says which kind of credentials is missing", () =>
    Effect.gen(function* () {
      yield* environment({ ...nothing, METADATA_SERVER_DETECTION: "none" })
      const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
      const folder = yield* credentialsFile({
        type: "service_account",
        client_email: "a@b",
        private_key: privateKey.export({ type: "pkcs8", format: "pem" }).slice(0, 200)
      })
      yield* environment({ GOOGLE_APPLICATION_CREDENTIALS: join(folder, "adc.json") })
      const credential = yield* credentialOf(settings)
      const error = yield* Effect.flip(credential.headers(plain))
      assert.include(error.message, `GOOGLE_APPLICATION_CREDENTIALS ${join(folder, "adc.json")}`)
      assert.notInclude(error.message, "PRIVATE")
    })
  )

  it.live.each([
    [
      "is missing",
      (folder: string) => join(folder, "none.json"),
      /^no credentials from .* (\/.*none\.json) \(ENOENT\): /
    ],
    [
      "is no JSON",
      (folder: string) => join(folder, "subject"),
      /^no credentials from .* (\/.*subject) \(SyntaxError\): /
    ],
    // The JSON itself, in place of its file.
    [
      "is a secret",
      () => `{"private_key":"${"s3cret".repeat(100)}"}`,
      /^no credentials from .*CREDENTIALS \(ENAMETOOLONG\): /
    ]
  ] as const)("names the file that %s", ([, path, expected]) =>
    Effect.gen(function* () {
      const folder = yield* credentialsFile({})
      yield* environment({ ...nothing, GOOGLE_APPLICATION_CREDENTIALS: path(folder) })
      const error = yield* Effect.flip((yield* credentialOf(settings)).headers(plain))
      assert.match(error.message, expected)
      assert.include(error.message, "GOOGLE_APPLICATION_CREDENTIALS")
      assert.notInclude(error.message, "s3cret")
    })
  )
})
