/** Credentials that are refused: those of the gateway by a token service (docs/api.md#errors), and tokens by a cloud. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { wholeMessage } from "../../support/claude.ts"
import { gateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"
import { environment, silentServer, tokenServer } from "./tokenServer.ts"

/** A gateway whose cloud and token service are at one address. */
const gatewayAt = Effect.fnUntraced(function* (url: string, more: Readonly<Record<string, string>> = {}) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "refused-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  )
  const [file, subject] = [join(folder, "adc.json"), join(folder, "subject")]
  writeFileSync(subject, "subject-token")
  const account = {
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/p",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: url,
    credential_source: { file: subject }
  }
  writeFileSync(file, JSON.stringify(account))
  yield* environment({ GOOGLE_APPLICATION_CREDENTIALS: file })
  return yield* gateway({ settings: { VERTEX_PROJECT: "p", VERTEX_REGION: "us-east5", VERTEX_BASE_URL: url, ...more } })
})
const ask = (url: string) =>
  Effect.promise(() =>
    post(`${url}/v1/messages`, {
      model: "claude-sonnet-4-5:il2",
      max_tokens: 9,
      messages: [{ role: "user", content: "Hello" }]
    })
  )

it.live.each([
  { status: 400, expected: "false" },
  { status: 401, expected: "false" },
  // Of a metadata server that is still starting.
  { status: 403, expected: "true" },
  { status: 503, expected: "true" }
])("a token service says $status: x-should-retry is $expected", ({ expected, status }) =>
  Effect.gen(function* () {
    const server = yield* tokenServer(() => ({ status, json: { error: "invalid_grant" } }))
    const { url } = yield* gatewayAt(server.url)
    const got = yield* ask(url)
    assert.strictEqual(got.status, 502, got.text)
    assert.strictEqual(got.headers.get("x-should-retry"), expected)
  })
)

it.live.each([
  { status: 401, tokens: ["t1", "t2"] },
  { status: 403, tokens: ["t1", "t2"] },
  { status: 404, tokens: ["t1"] }
])("a cloud says $status to the first token: calls with $tokens", ({ status, tokens }) =>
  Effect.gen(function* () {
    const sent: Array<string | undefined> = []
    let made = 0
    const server = yield* tokenServer(({ headers, url }) => {
      if (!url.includes("/publishers/"))
        return { json: { access_token: `t${++made}`, token_type: "Bearer", expires_in: 3600 } }
      sent.push(headers.authorization)
      return sent.length === 1
        ? { status, json: { error: { message: "no" } } }
        : { json: wholeMessage([{ type: "text", text: "Hi" }]) }
    })
    const { url } = yield* gatewayAt(server.url)
    const got = yield* ask(url)
    assert.strictEqual(got.status, tokens.length === 2 ? 200 : 502, got.text)
    assert.deepStrictEqual(
      sent,
      tokens.map((token) => `Bearer ${token}`)
    )
  })
)

it.live("a token service that is silent is waited for no longer than a reply", () =>
  Effect.gen(function* () {
    const silent = yield* silentServer
    const { url } = yield* gatewayAt(silent.url, { GATEWAY_REQUEST_CEILING: "300 millis" })
    const began = performance.now()
    const got = yield* ask(url)
    assert.strictEqual(got.status, 504, got.text)
    assert.isBelow(performance.now() - began, 5_000)
  })
)
