/**
 * What a cloud's failure means to the caller, and what of its words the caller sees (docs/api.md#what-becomes-of-a-clouds-error).
 */
import { assert, describe, it } from "@effect/vitest"
import { Headers } from "effect/http"
import { cut, invalidBody, refused, unfinished, unreadable } from "../../src/catalog/UpstreamFault.ts"
import { faultError, framingError, scrubbed, statusFault } from "../../src/cloud/fault.ts"
import { FramingError, UpstreamException } from "../../src/stream/framing.ts"

const names = [
  ["secret-project", "the project"],
  ["anthropic.claude-x-v1:0", "claude-x"],
  ["", "nothing"]
] as const
const scrub = (message: string) => scrubbed(names, message)

const noHeaders = Headers.empty
const retryAfter = (value: string) => Headers.fromInput({ "retry-after": value })

describe("a fault", () => {
  it.each([
    [400, "invalid", "upstream-invalid"],
    [413, "invalid", "upstream-invalid"],
    [422, "invalid", "upstream-invalid"],
    [401, "upstream", "upstream-refused"],
    [403, "upstream", "upstream-refused"],
    [404, "upstream", "upstream-refused"],
    [408, "timeout", "upstream-timeout"],
    [504, "timeout", "upstream-timeout"],
    [429, "rate-limit", "upstream-rate-limit"],
    [424, "upstream", "upstream-error"],
    [500, "upstream", "upstream-error"],
    [503, "upstream", "upstream-error"],
    [529, "upstream", "upstream-error"]
  ] as const)("of status %d is %s", (status, reason, code) => {
    const error = faultError(refused(status, "words of secret-project", 7), scrub)
    assert.deepInclude({ ...error }, { reason, code, upstreamStatus: status })
    assert.strictEqual(error.retryAfter, status === 429 ? 7 : undefined)
    assert.strictEqual(error.message.includes("words of the project"), reason === "invalid")
    assert.notInclude(error.message, "secret-project")
  })

  const words = "prompt is too long: "
  it.each([
    ["", "prompt is too long: 203052 tokens > 200000 maximum"],
    [
      "",
      "input length and `max_tokens` exceed context limit: 189136 + 20000 > 200000, decrease input length or `max_tokens` and try again"
    ],
    [words, "The model returned the following errors: Input is too long for requested model."],
    [words, "The input token count (2845475) exceeds the maximum number of tokens allowed (1048576)."],
    [words, "Unable to submit request because the input token count is 1251952 but model only supports up to 1048576."],
    [words, "This model's maximum context length is 131072 tokens. However, your messages resulted in 140000 tokens."]
  ])("of a prompt that is too long says so: %s%s", (added, message) => {
    const fault = statusFault(400, noHeaders, JSON.stringify({ error: { message } }))
    const error = faultError(fault, scrub)
    assert.deepStrictEqual([error.reason, error.code, error.message], ["invalid", "context-length", added + message])
    const other = statusFault(400, noHeaders, JSON.stringify({ error: { message: `messages.0: ${message}` } }))
    assert.strictEqual(faultError(other, scrub).code, "upstream-invalid")
  })

  it.each([
    [cut, "cut"],
    [invalidBody, "shape"],
    [unreadable, "event"],
    [unfinished("OTHER"), "finish"]
  ] as const)("that breaks a promise is the cloud's failure (%j)", (fault, code) => {
    assert.deepInclude({ ...faultError(fault, scrub) }, { reason: "upstream", code })
  })
})

describe("words that are passed on", () => {
  it.each([
    [
      "no access to arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/x here",
      "no access to the deployment here"
    ],
    [
      "projects/secret-project/locations/us-east5/publishers/anthropic/models/m was refused",
      "the deployment was refused"
    ],
    ["deployments/gpt-private is busy", "the deployment is busy"],
    ["see https://secret.example/a?b=c, please", "see the upstream, please"],
    ["no route to vpce-1.bedrock-runtime.us-gov-west-1.vpce.amazonaws.com.", "no route to the upstream."],
    ["my-res.openai.azure.us and us-aiplatform.googleapis.com", "the upstream and the upstream"],
    ["gateway@my-project.iam.gserviceaccount.com may not", "the upstream may not"],
    ["account 123456789012 is over", "account the account is over"],
    ["Model anthropic.claude-x-v1:0 of secret-project", "Model claude-x of the project"],
    ["secret-projects and secret-project's", "secret-projects and the project's"]
  ])("%s", (words, shown) => {
    assert.strictEqual(faultError(refused(400, words), scrub).message, shown)
  })

  it("keep what is shown in the place of another name", () => {
    const named = [
      ["gpt-own", "gpt"],
      ["gpt", "other"]
    ] as const
    assert.strictEqual(scrubbed(named, "gpt-own is not gpt"), "gpt is not other")
  })

  it("are cut", () => {
    assert.isAtMost(faultError(refused(400, "x".repeat(100_000)), scrub).message.length, 2000)
  })

  it("are not cut within a name of the operator's", () => {
    for (const before of ["x".repeat(1990), `${"x ".repeat(995)}`]) {
      assert.notInclude(faultError(refused(400, `${before} secret-project ${before}`), scrub).message, "secret")
    }
  })

  it("are found in every vendor's error body", () => {
    const words = (body: string) => statusFault(400, noHeaders, body).message
    assert.strictEqual(words('{"type":"error","error":{"type":"e","message":"a"}}'), "a")
    assert.strictEqual(words('[{"error":{"code":400,"message":"b"}}]'), "b")
    assert.strictEqual(words('{"message":"c"}'), "c")
    assert.strictEqual(words('{"Message":"d"}'), "d")
    for (const body of ["", "<html>", "null", "[]", '{"error":"e"}', '{"message":""}']) {
      assert.isUndefined(words(body), body)
    }
  })

  it.each([
    [{ error: { code: 499, status: "DEADLINE_EXCEEDED" } }, 499],
    [[{ error: { status: "DEADLINE_EXCEEDED" } }], 500],
    [{ type: "error", error: { type: "timeout_error" } }, 500]
  ])("%j is a call that took too long, whatever its status", (body, status) => {
    assert.strictEqual(
      faultError(statusFault(status, noHeaders, JSON.stringify(body)), (text) => text).reason,
      "timeout"
    )
  })

  it.each([
    ["34.07s", 35],
    ["5s", 5],
    ["soon", undefined],
    ["-1s", undefined],
    [7, undefined]
  ])("Google's delay of %j", (retryDelay, expected) => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo" }, { retryDelay }]
    const body = JSON.stringify({ error: { code: 429, status: "RESOURCE_EXHAUSTED", details } })
    assert.strictEqual(statusFault(429, noHeaders, body).retryAfter, expected)
    assert.strictEqual(statusFault(429, retryAfter("9"), body).retryAfter, 9)
  })
})

describe("a status", () => {
  it("brings a delay only as a number of seconds", () => {
    assert.strictEqual(statusFault(429, retryAfter("12"), "").retryAfter, 12)
    for (const value of ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "1.5", "12345678"]) {
      assert.isUndefined(statusFault(429, retryAfter(value), "").retryAfter, value)
    }
  })

  it("of a quota at AWS is a rate limit", () => {
    const name = "ServiceQuotaExceededException"
    const statusOf = (type: string | undefined, body = "") =>
      statusFault(400, Headers.fromInput(type === undefined ? {} : { "x-amzn-errortype": type }), body).status
    assert.strictEqual(statusOf(`${name}:http://x`), 429)
    assert.strictEqual(statusOf(undefined, JSON.stringify({ __type: `com.amazon.coral.service#${name}` })), 429)
    assert.strictEqual(statusOf(undefined, JSON.stringify({ code: name })), 429)
    assert.strictEqual(statusOf("ValidationException", JSON.stringify({ message: name })), 400)
  })

  it.each([
    ["The provided model identifier is invalid.", 404],
    ["Invocation of model ID a.b-v1:0 with on-demand throughput isn’t supported. Retry your request with …", 404],
    ["messages.0: The provided model identifier is invalid.", 400]
  ])("of Bedrock's is that of the model's ID where it says so: %s", (message, expected) => {
    assert.strictEqual(statusFault(400, noHeaders, JSON.stringify({ message })).status, expected)
    assert.strictEqual(statusFault(503, noHeaders, JSON.stringify({ message })).status, 503)
  })
})

describe("a status of 404", () => {
  it.each([
    ["Item with id 'ws_1' not found. Items are not persisted when `store` is set to false. Try again with …", 400],
    ["input[0]: Item with id 'ws_1' not found.", 404],
    ["The API deployment for this resource does not exist.", 404]
  ])("is the caller's where it is about an item of the input: %s", (message, expected) => {
    assert.strictEqual(statusFault(404, noHeaders, JSON.stringify({ error: { message } })).status, expected)
    assert.strictEqual(statusFault(500, noHeaders, JSON.stringify({ error: { message } })).status, 500)
  })
})

describe("a stream that breaks", () => {
  it("is cut, unreadable, or refused in a frame", () => {
    const framing = (kind: FramingError["kind"]) => framingError(new FramingError({ kind }), scrub)
    assert.strictEqual(framing("truncated").code, "cut")
    assert.strictEqual(framing("bad-frame").code, "bad-frame")
    const exception = new UpstreamException({ type: "ThrottlingException", message: "arn:aws:x", status: undefined })
    assert.deepInclude({ ...framingError(exception, scrub) }, { reason: "rate-limit", upstreamStatus: 429 })
    const strange = new UpstreamException({ type: "constructor", message: "x", status: undefined })
    assert.strictEqual(framingError(strange, scrub).upstreamStatus, 500)
  })
})
