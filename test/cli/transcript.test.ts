import { stripVTControlCharacters as plain } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { HttpClientError, HttpClientRequest } from "effect/http"
import { ApiError, type ChatCompletion, type GatewayHeaders, StreamError } from "../../src/Client.ts"
import { usageNotice } from "../../src/contract/usageNotice.ts"
import { explainFailure, footer, greeting, printable } from "../../src/operators/cli/chat.ts"

const headers: GatewayHeaders = {
  requestId: "req-1",
  servedBy: "bedrock/us-gov-west-1",
  servedLevel: "il5",
  servedModel: undefined,
  thinkingAdjusted: undefined,
  adjusted: undefined,
  retryAfter: undefined,
  shouldRetry: undefined
}
const usage = { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 }
const answer = (finish: "stop" | "length", rest: Partial<ChatCompletion> = {}): ChatCompletion => ({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m:il5",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: finish }],
  usage,
  ...rest
})
const flags = [
  {
    tool_call_id: "t",
    tool_name: "fetch",
    destinations: ["https://a.example", "10.0.0.1"],
    reason: "external_destination" as const
  }
]

describe("an answer", () => {
  it("is followed by the boundary that served it, its usage and its request", () => {
    assert.strictEqual(
      plain(footer(answer("stop"), headers)),
      "served by bedrock/us-gov-west-1 at il5 · 12 tokens in, 34 out · request req-1"
    )
  })

  it("is followed by what needs attention", () => {
    const lines = plain(footer(answer("length", { x_gateway_governance: { flags } }), headers)).split("\n")
    assert.deepEqual(lines.slice(1), [
      "The answer stopped at its token limit.",
      "Flagged: the call of fetch names https://a.example, 10.0.0.1."
    ])
  })

  it("cannot command the terminal", () => {
    assert.strictEqual(printable("a\u001b[2Jb\u0007\u009b31m\tc\nd\r"), "a[2Jb31m\tc\nd")
    assert.strictEqual(printable("Grüße, 世界 🙂"), "Grüße, 世界 🙂")
    const obeyed = "\u009b2J"
    const shown = footer(answer("stop"), { ...headers, requestId: obeyed, servedBy: obeyed, servedLevel: obeyed })
    assert.notInclude(shown, obeyed)
    const failed = new StreamError({ type: "api_error", message: obeyed, requestId: obeyed })
    assert.notInclude(explainFailure(failed, "http://gateway"), obeyed)
  })
})

describe("a conversation", () => {
  it("opens with the usage notice", () => {
    const text = greeting("m:il5", "http://gateway")
    assert.include(text, usageNotice)
    assert.include(text, "m:il5 at http://gateway")
  })

  it("opens with the operator's own notice, which cannot control the terminal", () => {
    const text = greeting("m:il5", "http://gateway", "Be careful.\nAll use is watched.\u001b[2J")
    assert.include(text, "Be careful.\nAll use is watched.")
    assert.notInclude(text, usageNotice)
    assert.notInclude(text, "\u001b[2J")
  })

  const refusal = (status: number, type: string, retryAfter?: number) =>
    new ApiError({ status, type, message: "no", requestId: "req-1", retryAfter })
  /** As `fetch` fails. */
  const unreachable = (code: string | undefined) => {
    const cause = new TypeError("fetch failed", { cause: Object.assign(new Error("no"), code && { code }) })
    const request = HttpClientRequest.get("http://g")
    return new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
  }
  it.each([
    ["a wrong key", refusal(403, "authentication_error"), /^no \(request req-1\)\nGive a key with --key/],
    ["a key without permission", refusal(403, "permission_error"), /Choose a model that the key allows/],
    ["a rate limit", refusal(429, "rate_limit_error", 7), /Try again in 7 s\./],
    ["a rate limit without a time", refusal(429, "rate_limit_error"), /Try again later\./],
    ["an outage", refusal(502, "api_error"), /Try again; if it stays/],
    ["a bad request", refusal(400, "invalid_request_error"), /Change the request/],
    [
      "a broken stream",
      new StreamError({ type: "stream_error", message: "cut" }),
      /^cut\nThe answer above may be incomplete/
    ],
    ["no gateway", unreachable(undefined), /^no gateway answers at http:\/\/g\nStart one with npm start/],
    ["no name", unreachable("ENOTFOUND"), /^no gateway answers at http:\/\/g \(ENOTFOUND\)\nStart one/],
    [
      "a certificate of an unknown authority",
      unreachable("SELF_SIGNED_CERT_IN_CHAIN"),
      /^there is no TLS connection to http:\/\/g \(SELF_SIGNED_CERT_IN_CHAIN\)\n.*NODE_EXTRA_CA_CERTS/
    ],
    ["something else", new Error("x"), /is not this gateway.*\nCheck --url\./]
  ])("names the next step after %s", (_, error, expected) => {
    assert.match(plain(explainFailure(error, "http://g")), expected)
  })
})
