/** The server that plays a cloud: what arrives before a connection is cut, and what its errors are called. */
import { get, type IncomingMessage } from "node:http"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { awsReply, claudeError, googleError } from "../../src/sandbox/cloud/errors.ts"
import { type Call, type CloudRequest, type Reply, startServer } from "../../src/sandbox/http.ts"
import { isObject } from "../../src/sandbox/json.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { body, user } from "./claudeRequests.ts"
import { bedrock, open, post } from "./support.ts"

/** What a client gets of a reply, and how it was noted. */
const served = async (answer: (request: CloudRequest) => Reply) => {
  const calls: Array<Call> = []
  const { server, url } = await startServer("c", 0, (call) => calls.push(call), answer)
  try {
    const response = await new Promise<IncomingMessage>((resolve) => get(url, resolve))
    let text = ""
    response.on("data", (piece) => {
      text += piece
    })
    const whole = await new Promise((resolve) =>
      response.on("end", () => resolve(true)).on("error", () => resolve(false))
    )
    return { status: response.statusCode, text, whole, aborted: calls[0]?.aborted }
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

describe("a reply", () => {
  it("arrives as far as it was sent before a cut, which is no client's leaving", async () => {
    const got = await served(() => ({ status: 200, headers: {}, frames: ["one ", "two"], ending: "cut" }))
    assert.deepStrictEqual(got, { status: 200, text: "one two", whole: false, aborted: false })
  })

  it("says so where the sandbox itself is at fault", async () => {
    const got = await served(() => {
      throw new Error("broken")
    })
    assert.deepStrictEqual(got, { status: 500, text: "sandbox fault: Error: broken", whole: true, aborted: false })
  })
})

describe("credentials", () => {
  it.live("are made anew at each start", () =>
    Effect.gen(function* () {
      const started = Effect.map(Sandbox, ({ bearers, environment }) => [
        ...Object.values(bearers),
        ...["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AZURE_OPENAI_API_KEY"].map((name) => environment[name])
      ])
      const all = yield* Effect.all([1, 2].map(() => Effect.provide(started, Layer.fresh(Sandbox.layer()))))
      assert.strictEqual(new Set(all.flat()).size, 2 * 6)
    })
  )
})

const statuses: ReadonlyArray<readonly [number, google: string, amazon: string, anthropic: string]> = [
  [400, "INVALID_ARGUMENT", "ValidationException", "invalid_request_error"],
  [401, "UNAUTHENTICATED", "InternalServerException", "authentication_error"],
  [403, "PERMISSION_DENIED", "AccessDeniedException", "permission_error"],
  [404, "NOT_FOUND", "ResourceNotFoundException", "not_found_error"],
  [405, "UNKNOWN", "InternalServerException", "invalid_request_error"],
  [408, "DEADLINE_EXCEEDED", "ModelTimeoutException", "invalid_request_error"],
  [409, "ABORTED", "InternalServerException", "invalid_request_error"],
  [413, "UNKNOWN", "InternalServerException", "request_too_large"],
  [424, "INTERNAL", "ModelErrorException", "invalid_request_error"],
  [429, "RESOURCE_EXHAUSTED", "ThrottlingException", "rate_limit_error"],
  [499, "CANCELLED", "InternalServerException", "invalid_request_error"],
  [500, "INTERNAL", "InternalServerException", "api_error"],
  [501, "UNIMPLEMENTED", "InternalServerException", "api_error"],
  [503, "UNAVAILABLE", "ServiceUnavailableException", "api_error"],
  [504, "DEADLINE_EXCEEDED", "InternalServerException", "timeout_error"],
  [529, "UNKNOWN", "InternalServerException", "overloaded_error"]
]

describe("an error", () => {
  it.each(statuses)("%i is %s, %s or %s", (status, google, amazon, anthropic) => {
    const { error } = claudeError(status, "m")
    const type = awsReply(status, "m").headers["x-amzn-errortype"]?.split(":")[0]
    assert.deepStrictEqual(
      [googleError(status, "m").error.status, type, isObject(error) && error.type],
      [google, amazon, anthropic]
    )
  })
})

layer(Sandbox.layer({ pace: 0 }))("a cloud", (it) => {
  const GOV_SONNET = "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"
  const say = (text: string) => body({ anthropic_version: "bedrock-2023-05-31", messages: [user(text)] })

  it.effect("has the settings that point a gateway at it", () =>
    Effect.gen(function* () {
      const { environment } = yield* Sandbox
      assert.deepInclude(environment, { VERTEX_PROJECT: "sandbox-project", VERTEX_LOCATION: "us-east5" })
    })
  )

  it.effect.each([
    ["throttlingException", 429],
    ["serviceUnavailableException", 503],
    ["modelStreamErrorException", 424],
    ["modelTimeoutException", 408],
    ["validationException", 400],
    ["internalServerException", 500]
  ] as const)("answers %s with %i where there is no stream", ([name, status]) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* post(bedrock(GOV_SONNET), say(`[sandbox: exception=${name}]`))).status, status)
    })
  )

  it.effect("sends its headers before it falls silent", () =>
    Effect.gen(function* () {
      const leaving = new AbortController()
      const target = bedrock(GOV_SONNET, "invoke-with-response-stream")
      const { status, headers } = yield* open(target, say("[sandbox: stall after=0]"), { signal: leaving.signal })
      leaving.abort()
      assert.deepStrictEqual(
        [status, headers.get("content-type"), headers.get("x-amzn-bedrock-content-type")],
        [200, "application/vnd.amazon.eventstream", "application/json"]
      )
    })
  )
})
