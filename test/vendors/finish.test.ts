/** Why an answer ended, in the words of every family, streamed and not (docs/decisions.md#finish-reasons). */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import type { Route } from "../../src/catalog/Route.ts"
import { unfinished } from "../../src/catalog/UpstreamFault.ts"
import type { Json, JsonObject } from "../../src/wire/json.ts"
import { azure, dialect, flash, hearStream, oss, sonnet, sonnetBedrock, terra } from "./support.ts"

/** An answer of one word, whole and as events, that ended for this reason; `beside` stands in the body that says so. */
interface Family {
  readonly route: Route
  readonly whole: (reason: string | null, beside?: JsonObject) => JsonObject
  readonly events: (reason: string | null, beside?: JsonObject) => ReadonlyArray<Json>
  readonly words: Readonly<Record<string, ReadonlyArray<string>>>
}

const claude = (route: Route): Family => ({
  route,
  whole: (stop_reason, beside) => ({ content: [{ type: "text", text: "a" }], stop_reason, usage: {}, ...beside }),
  events: (stop_reason, beside) => [
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } },
    { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 1 } },
    { type: "message_stop", ...beside }
  ],
  words: {
    stop: ["end_turn", "stop_sequence"],
    length: ["max_tokens", "model_context_window_exceeded"],
    tool_calls: ["tool_use"],
    content_filter: ["refusal", "guardrail_intervened", "content_filtered"],
    failed: ["pause_turn", "error", "malformed_tool_use", "malformed_model_output"]
  }
})

const gpt = (route: Route): Family => ({
  route,
  whole: (finish_reason, beside) => ({ choices: [{ message: { content: "a" }, finish_reason }], ...beside }),
  events: (finish_reason, beside) => [
    { choices: [{ delta: { content: "a" } }] },
    { choices: [{ delta: {}, finish_reason }], ...beside },
    "[DONE]"
  ],
  words: {
    stop: ["stop"],
    length: ["length"],
    tool_calls: ["tool_calls", "function_call"],
    content_filter: ["content_filter", "guardrail_intervened"],
    failed: ["error", "server_error", "malformed_tool_use"]
  }
})

const response = (reason: string | null, beside?: JsonObject): JsonObject => ({
  object: "response",
  status: reason === "completed" ? "completed" : "incomplete",
  incomplete_details: { reason },
  output: [{ type: "message", content: [{ type: "output_text", text: "a" }] }],
  ...beside
})
const responses: Family = {
  route: terra,
  whole: response,
  events: (reason, beside) => {
    const body = response(reason, beside)
    return [{ type: `response.${body.status}`, response: body }]
  },
  words: {
    stop: ["completed"],
    length: ["max_output_tokens"],
    content_filter: ["content_filter", "guardrail_intervened"],
    failed: ["error"]
  }
}
const candidate = (finishReason: string | null, beside?: JsonObject): JsonObject => ({
  candidates: [{ content: { parts: [{ text: "a" }] }, ...(finishReason === null ? {} : { finishReason }) }],
  ...beside
})
const gemini: Family = {
  route: flash,
  whole: candidate,
  events: (reason) => [candidate(reason)],
  words: {
    stop: ["STOP"],
    length: ["MAX_TOKENS", "CONTINUATION"],
    content_filter: [
      "SAFETY",
      "RECITATION",
      "LANGUAGE",
      "BLOCKLIST",
      "PROHIBITED_CONTENT",
      "SPII",
      "MODEL_ARMOR",
      "OTHER"
    ],
    failed: ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "NO_IMAGE", "MALFORMED_NEW_KIND"]
  }
}

const families: Readonly<Record<string, Family>> = {
  "Claude on Vertex": claude(sonnet),
  "Claude on Bedrock": claude(sonnetBedrock),
  "GPT on Azure": gpt(azure),
  "gpt-oss on Bedrock": gpt(oss),
  "GPT by the responses API": responses,
  Gemini: gemini
}

/** The finish reason of the whole answer and of the stream, or what each failed with. */
const ends = ({ events, route, whole }: Family, reason: string | null, beside?: JsonObject) => [
  Result.map(dialect(route).reply(whole(reason, beside), route), ({ finishReason }) => finishReason),
  Result.map(hearStream(route, events(reason, beside)), ({ ending }) => ending.finishReason)
]

describe.each(Object.entries(families))("%s", (_, family) => {
  const known = Object.entries(family.words).flatMap(([meaning, words]) =>
    words.map((word) => [word, meaning] as const)
  )

  it.each(known)("%s is %s", (word, meaning) => {
    const expected = meaning === "failed" ? Result.fail(unfinished(word)) : Result.succeed(meaning)
    for (const end of ends(family, word)) expect(end).toEqual(expected)
  })

  it.each(["unheard_of", "UNHEARD_OF", "constructor", "Stop", "", " "])(
    "%j, which nobody knows, is no success",
    (word) => {
      for (const end of ends(family, word)) expect(end).toEqual(Result.succeed("content_filter"))
    }
  )

  it("an answer without a word of its end is no success", () => {
    for (const end of ends(family, null))
      expect(Result.getOrElse(end, () => "failed")).toMatch(/^(?:content_filter|failed)$/)
  })
})

describe.each(["Claude on Bedrock", "gpt-oss on Bedrock", "GPT by the responses API"])("a guardrail of %s", (name) => {
  const family = families[name] ?? expect.fail(name)
  const [natural = ""] = family.words.stop ?? []

  it("ends an answer that would be whole, or of no use", () => {
    const beside = { "amazon-bedrock-guardrailAction": "INTERVENED" }
    for (const word of [natural, ...(family.words.failed ?? [])])
      for (const end of ends(family, word, beside)) expect(end).toEqual(Result.succeed("content_filter"))
  })

  it("that did nothing changes nothing", () => {
    for (const end of ends(family, natural, { "amazon-bedrock-guardrailAction": "NONE" })) {
      expect(end).toEqual(Result.succeed("stop"))
    }
  })
})

it.each(["malformed arn:aws-us-gov:bedrock:secret", `malformed_${"x".repeat(100)}`, "a\nserver_error"])(
  "a failure in other words than a vendor's is not repeated: %j",
  (word) => {
    for (const { route, events } of [claude(sonnet), gpt(azure)])
      expect(hearStream(route, events(word))).toEqual(Result.fail(unfinished("unknown")))
  }
)
