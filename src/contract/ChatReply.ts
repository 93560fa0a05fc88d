/** What the chat endpoint answers: the completion, and the chunks of its stream (docs/api.md#chat-stream). */
import { Schema } from "effect"
import { ToolCall } from "./ChatMessage.ts"
import { StreamedDetail } from "./Errors.ts"
import { answer, described, int, maybe, named, object, ParsedJson, string } from "./fields.ts"
import { advisories } from "./Governance.ts"

export const FinishReason = Schema.Literals(["stop", "length", "tool_calls", "content_filter"]).annotate(
  named(
    "FinishReason",
    "Why the reply ended: at its natural end or at a stop sequence, at the token limit, to call tools, or by the provider's filter."
  )
)
export type FinishReason = typeof FinishReason.Type

export const Usage = object({
  prompt_tokens: int("Tokens of the request, cached ones included.", 14),
  completion_tokens: int("Tokens of the reply, reasoning included.", 17),
  total_tokens: int("Their sum.", 31),
  prompt_tokens_details: Schema.optionalKey(
    Schema.Struct({
      cached_tokens: int("Tokens that came from the cloud's cache.", 0),
      cache_write_tokens: Schema.optionalKey(int("Tokens that were written to it; absent where there are none.", 0))
    }).annotate({ description: "How many tokens of the request came from a cache, and how many were written to one." })
  ),
  completion_tokens_details: Schema.optionalKey(
    Schema.Struct({ reasoning_tokens: int("Tokens that the model thought with.", 0) }).annotate({
      description: "How many tokens of the reply were reasoning; absent where the cloud does not count them."
    })
  )
}).annotate(named("Usage", "Tokens of the request and of the reply."))
export type Usage = typeof Usage.Type

const Logprobs = object({ content: maybe(Schema.Array(ParsedJson), "One entry for each token.") })

const id = string("The completion's ID.", "chatcmpl-3c9f5f0e-6d0b-4f3c-9f0e-0f6a1d2b7c11")
const created = int("When the request arrived, in seconds since 1970.", 1_767_225_600)
const model = string("The composite ID that was asked for.", "claude-sonnet-4-5:il5")
const extraContent = Schema.optionalKey(
  Schema.Json.annotate({ description: "What a vendor needs back in the next request: return the message unchanged." })
)

const oneChoice = <const F extends Schema.Struct.Fields>(description: string, fields: F) =>
  described(Schema.Array(object({ index: int("Always 0: there is one choice.", 0), ...fields })), description)

export const Completion = object({
  id,
  object: Schema.Literal("chat.completion"),
  created,
  model,
  choices: oneChoice("The reply, as a list of one.", {
    message: object({
      role: Schema.Literal("assistant"),
      content: described(Schema.NullOr(Schema.String), "The text; null where the model only calls tools."),
      tool_calls: Schema.optionalKey(described(Schema.Array(ToolCall), "The tools that the model wants called.")),
      refusal: maybe(Schema.String, "Why the model did not answer, where it says so."),
      annotations: maybe(Schema.Array(ParsedJson), "Sources that the model names."),
      extra_content: extraContent
    }).annotate({
      description: "What the model answered: send it back unchanged as the next request's assistant message."
    }),
    logprobs: maybe(Logprobs, "Log probabilities of the tokens, where `logprobs` asked for them."),
    finish_reason: FinishReason
  }),
  usage: Usage,
  service_tier: maybe(Schema.String, "The tier that the cloud served the request in."),
  system_fingerprint: maybe(Schema.String, "The cloud's name for the version of its backend."),
  ...advisories
}).annotate(
  named("ChatCompletion", "A whole reply.", {
    id: "chatcmpl-3c9f5f0e-6d0b-4f3c-9f0e-0f6a1d2b7c11",
    object: "chat.completion",
    created: 1_767_225_600,
    model: "claude-sonnet-4-5:il5",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: answer, refusal: null },
        logprobs: null,
        finish_reason: "stop"
      }
    ],
    usage: { prompt_tokens: 14, completion_tokens: 17, total_tokens: 31 }
  })
)
export type Completion = typeof Completion.Type

const ToolCallDelta = object({
  index: int("Which of the reply's calls this is a piece of, from 0.", 0),
  id: Schema.optionalKey(string("The call's ID; in its first piece.", "call_1")),
  type: Schema.optionalKey(Schema.Literal("function")),
  function: Schema.optionalKey(
    Schema.Struct({
      name: Schema.optionalKey(string("The function's name; in its first piece.", "get_weather")),
      arguments: Schema.optionalKey(string("The next piece of the arguments' JSON text.", '{"city"'))
    }).annotate({ description: "What is called, and with what." })
  ),
  extra_content: extraContent
})

export const CompletionChunk = object({
  id,
  object: Schema.Literal("chat.completion.chunk"),
  created,
  model,
  choices: oneChoice("The next piece of the reply, as a list of one.", {
    delta: object({
      role: Schema.optionalKey(Schema.Literal("assistant")),
      content: maybe(Schema.String, "The next piece of the text."),
      tool_calls: Schema.optionalKey(described(Schema.Array(ToolCallDelta), "The next pieces of tool calls.")),
      refusal: maybe(Schema.String, "The next piece of a refusal."),
      extra_content: extraContent
    }).annotate({ description: "What is added to the message. The first has the role, the last is empty." }),
    logprobs: maybe(Logprobs, "Log probabilities of these tokens, where `logprobs` asked for them."),
    finish_reason: described(Schema.NullOr(FinishReason), "Why the reply ended; null until the final chunk.")
  }),
  usage: Schema.optionalKey(Usage),
  ...advisories
}).annotate(
  named(
    "ChatCompletionChunk",
    "One event of a stream. The final one has `finish_reason`, and `usage` where `include_usage` asked for it; then comes `[DONE]`."
  )
)
export type CompletionChunk = typeof CompletionChunk.Type

const StreamError = Schema.Struct({ error: StreamedDetail, ...advisories }).annotate(
  named("ChatStreamError", "A failure after the stream began: its last event, without `[DONE]` after it.")
)

export const ChatEvent = Schema.Struct({
  event: Schema.Literal("message"),
  data: Schema.Union([Schema.Literal("[DONE]"), Schema.fromJsonString(Schema.Union([CompletionChunk, StreamError]))])
})
