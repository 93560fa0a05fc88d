/** `POST /v1/chat/completions`: the OpenAI chat format, for models of every vendor (docs/api.md#chat-completions). */
import { Schema } from "effect"
import { atMost, ChatMessage, chatLimits, Tool, ToolCall, ToolChoice, toolChoices } from "./ChatMessage.ts"
import { ModelField, maybe, more, notAnObject, nullable, ParsedJson, PositiveInt, rest } from "./fields.ts"
import { Governance } from "./Governance.ts"

export const ReasoningEffort = Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).annotate({
  description:
    "Values that a model does not have become the nearest one that it has; models that do not reason ignore it."
})

const between = (minimum: number, maximum: number) =>
  Schema.Finite.check(Schema.isBetween({ minimum, maximum }, { message: `must be between ${minimum} and ${maximum}` }))

/** What the gateway acts on, whatever the vendor. */
export const chatFields = {
  model: ModelField,
  messages: Schema.Array(ChatMessage)
    .check(Schema.isMinLength(1, { message: "at least one message" }), atMost(chatLimits.messages, "messages"))
    .annotate({
      description: "The conversation so far, oldest message first.",
      examples: [[{ role: "user", content: "What is FedRAMP High?" }]]
    }),
  temperature: nullable(between(0, 2), {
    description: "How much chance there is in the words; removed while Claude and the GPT-5 models think.",
    example: 0.2
  }),
  top_p: nullable(between(0, 1), {
    description: "The share of likely words to choose from; removed while Claude and the GPT-5 models think.",
    example: 0.9
  }),
  max_tokens: nullable(PositiveInt, {
    description: "The older name of `max_completion_tokens`, which wins where both are given.",
    example: 500
  }),
  max_completion_tokens: nullable(PositiveInt, {
    description: "The most tokens that the reply may have, thinking included.",
    example: 500
  }),
  stream: nullable(Schema.Boolean, {
    description: "Whether the reply comes as server-sent events.",
    default: false,
    example: true
  }),
  stream_options: nullable(
    Schema.StructWithRest(
      Schema.Struct({
        include_usage: nullable(Schema.Boolean, {
          description: "Whether the final chunk has `usage`.",
          default: false,
          example: true
        })
      }),
      rest
    ),
    { description: "What a stream also tells.", example: { include_usage: true } }
  ),
  stop: nullable(Schema.Union([Schema.String, Schema.Array(Schema.String)]), {
    message: "must be a string or an array of strings",
    description: "Texts that end the reply before they appear in it.",
    example: ["END"]
  }),
  tools: nullable(Schema.Array(Tool).check(atMost(chatLimits.tools, "tools")), {
    description: "Functions that the model may ask the caller to call.",
    example: [{ type: "function", function: { name: "get_weather", description: "The weather in a city" } }]
  }),
  tool_choice: nullable(ToolChoice, {
    message: toolChoices,
    description: "Whether and which tool is called; becomes `auto` while Claude thinks, and on Gemini.",
    default: "auto",
    example: "required"
  }),
  reasoning_effort: nullable(ReasoningEffort, {
    description: "How much the model thinks first; absent, the catalog's default for the model.",
    example: "low"
  })
}

/** What the gateway is sure of once it has judged a body. Everything else in it is as it came (docs/api.md#chat-completions). */
export const ChatRequest = Schema.StructWithRest(Schema.Struct(chatFields), rest).annotate({ message: notAnObject })
export type ChatRequest = typeof ChatRequest.Type

export const FinishReason = Schema.Literals(["stop", "length", "tool_calls", "content_filter"]).annotate({
  identifier: "FinishReason"
})
export type FinishReason = typeof FinishReason.Type

export const Usage = Schema.StructWithRest(
  Schema.Struct({
    prompt_tokens: Schema.Int,
    completion_tokens: Schema.Int,
    total_tokens: Schema.Int,
    prompt_tokens_details: Schema.optionalKey(Schema.Struct({ cached_tokens: Schema.Int })),
    completion_tokens_details: Schema.optionalKey(Schema.Struct({ reasoning_tokens: Schema.Int }))
  }),
  more
).annotate({ identifier: "Usage" })
export type Usage = typeof Usage.Type

const Logprobs = Schema.StructWithRest(
  Schema.Struct({ content: maybe(Schema.Array(ParsedJson), "One entry a token.") }),
  more
)

export const Completion = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.String,
    object: Schema.Literal("chat.completion"),
    created: Schema.Int,
    model: Schema.String,
    choices: Schema.Array(
      Schema.StructWithRest(
        Schema.Struct({
          index: Schema.Int,
          message: Schema.StructWithRest(
            Schema.Struct({
              role: Schema.Literal("assistant"),
              content: Schema.NullOr(Schema.String),
              tool_calls: Schema.optionalKey(Schema.Array(ToolCall)),
              refusal: maybe(Schema.String, "Why the model did not answer, where it says so."),
              annotations: maybe(Schema.Array(ParsedJson), "Sources that the model names."),
              extra_content: Schema.optionalKey(Schema.Json)
            }),
            more
          ),
          logprobs: maybe(Logprobs, "Where `logprobs` asked for them."),
          finish_reason: FinishReason
        }),
        more
      )
    ),
    usage: Usage,
    service_tier: maybe(Schema.String),
    system_fingerprint: maybe(Schema.String),
    x_gateway_governance: Schema.optionalKey(Governance)
  }),
  more
).annotate({
  identifier: "ChatCompletion",
  examples: [
    {
      id: "chatcmpl-3c9f5f0e-6d0b-4f3c-9f0e-0f6a1d2b7c11",
      object: "chat.completion",
      created: 1_767_225_600,
      model: "claude-sonnet-4-5:il5",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "FedRAMP High is the strictest of the three FedRAMP baselines.",
            refusal: null
          },
          logprobs: null,
          finish_reason: "stop"
        }
      ],
      usage: { prompt_tokens: 14, completion_tokens: 17, total_tokens: 31 }
    }
  ]
})
export type Completion = typeof Completion.Type

const ToolCallDelta = Schema.StructWithRest(
  Schema.Struct({
    index: Schema.Int,
    id: Schema.optionalKey(Schema.String),
    type: Schema.optionalKey(Schema.Literal("function")),
    function: Schema.optionalKey(
      Schema.Struct({ name: Schema.optionalKey(Schema.String), arguments: Schema.optionalKey(Schema.String) })
    ),
    extra_content: Schema.optionalKey(Schema.Json)
  }),
  more
)

export const CompletionChunk = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.String,
    object: Schema.Literal("chat.completion.chunk"),
    created: Schema.Int,
    model: Schema.String,
    choices: Schema.Array(
      Schema.StructWithRest(
        Schema.Struct({
          index: Schema.Int,
          delta: Schema.StructWithRest(
            Schema.Struct({
              role: Schema.optionalKey(Schema.Literal("assistant")),
              content: Schema.optionalKey(Schema.NullOr(Schema.String)),
              tool_calls: Schema.optionalKey(Schema.Array(ToolCallDelta)),
              refusal: maybe(Schema.String),
              extra_content: Schema.optionalKey(Schema.Json)
            }),
            more
          ),
          logprobs: maybe(Logprobs),
          finish_reason: Schema.NullOr(FinishReason)
        }),
        more
      )
    ),
    usage: Schema.optionalKey(Usage),
    x_gateway_governance: Schema.optionalKey(Governance)
  }),
  more
).annotate({ identifier: "ChatCompletionChunk" })
export type CompletionChunk = typeof CompletionChunk.Type

/** A failure after the first byte: the last event of such a stream, without `[DONE]`. */
const StreamError = Schema.Struct({
  error: Schema.StructWithRest(Schema.Struct({ type: Schema.String, message: Schema.String }), more),
  x_gateway_governance: Schema.optionalKey(Governance)
}).annotate({ identifier: "ChatStreamError" })

export const ChatEvent = Schema.Struct({
  event: Schema.Literal("message"),
  data: Schema.Union([Schema.Literal("[DONE]"), Schema.fromJsonString(Schema.Union([CompletionChunk, StreamError]))])
})
