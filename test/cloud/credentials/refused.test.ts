/** A token service that refuses the gateway does so again, and callers are told not to try (docs/api.md#errors). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { gateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"
import { environment, tokenServer } from "./tokenServer.ts"

it.live.each([
  { status: 400, expected: "false" },
  { status: 401, expected: "false" },
  // Of a metadata server that is still starting.
  { status: 403, expected: "true" },
  { status: 503, expected: "true" }
])("status $status: x-should-retry is $expected", ({ expected, status }) =>
  Effect.gen(function* () {
    const server = yield* tokenServer(() => ({ status, json: { error: "invalid_grant" } }))
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
      token_url: server.url,
      credential_source: { file: subject }
    }
    writeFileSync(file, JSON.stringify(account))
    yield* environment({ GOOGLE_APPLICATION_CREDENTIALS: file })
    const settings = { VERTEX_PROJECT: "p", VERTEX_REGION: "us-east5", VERTEX_BASE_URL: server.url }
    const { url } = yield* gateway({ settings })
    const asked = { model: "claude-sonnet-4-5:il2", messages: [{ role: "user", content: "Hello" }] }
    const got = yield* Effect.promise(() => post(`${url}/v1/chat/completions`, asked))
    assert.strictEqual(got.status, 502, got.text)
    assert.strictEqual(got.headers.get("x-should-retry"), expected)
  })
)
