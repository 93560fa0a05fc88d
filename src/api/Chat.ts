/** `POST /v1/chat/completions`: the OpenAI chat format, for models of every vendor (docs/api.md#chat-completions). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { atMost, ChatMessage, chatLimits, Tool, ToolCall, ToolChoice, toolChoices } from "./ChatMessage.ts"
import { ApiErrors } from "./Errors.ts"
import { Facts } from "./facts.ts"
import { ModelField, more, notAnObject, nullable, PositiveInt, rest } from "./fields.ts"
import { Governance } from "./Governance.ts"
import { ApiKey } from "./Security.ts"

export const ReasoningEffort = Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).annotate({
  description:
    "Values that a model does not have become the nearest one that it has; models that do not reason ignore it."
})

export const ChatRequest = Schema.StructWithRest(
  Schema.Struct({
    model: ModelField,
    messages: Schema.Array(ChatMessage).check(
      Schema.isMinLength(1, { message: "at least one message" }),
      atMost(chatLimits.messages, "messages")
    ),
    temperature: nullable(
      Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 }, { message: "must be between 0 and 2" }))
    ),
    top_p: nullable(
      Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }, { message: "must be between 0 and 1" }))
    ),
    max_tokens: nullable(PositiveInt),
    max_completion_tokens: nullable(PositiveInt),
    stream: nullable(Schema.Boolean),
    stream_options: nullable(Schema.StructWithRest(Schema.Struct({ include_usage: nullable(Schema.Boolean) }), rest)),
    stop: nullable(
      Schema.Union([Schema.String, Schema.Array(Schema.String)]),
      "must be a string or an array of strings"
    ),
    tools: nullable(Schema.Array(Tool).check(atMost(chatLimits.tools, "tools"))),
    tool_choice: nullable(ToolChoice, toolChoices),
    reasoning_effort: nullable(ReasoningEffort)
  }),
  rest
).annotate({ identifier: "ChatRequest", message: notAnObject })
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
              extra_content: Schema.optionalKey(Schema.Json)
            }),
            more
          ),
          finish_reason: FinishReason
        }),
        more
      )
    ),
    usage: Usage,
    x_gateway_governance: Schema.optionalKey(Governance)
  }),
  more
).annotate({ identifier: "ChatCompletion" })
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
              extra_content: Schema.optionalKey(Schema.Json)
            }),
            more
          ),
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
  error: Schema.StructWithRest(Schema.Struct({ type: Schema.String, message: Schema.String }), more)
}).annotate({ identifier: "ChatStreamError" })

export const ChatEvent = Schema.Struct({
  event: Schema.Literal("message"),
  data: Schema.Union([Schema.Literal("[DONE]"), Schema.fromJsonString(Schema.Union([CompletionChunk, StreamError]))])
})

export class ChatGroup extends HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("completions", "/v1/chat/completions", {
      payload: ChatRequest,
      success: [Completion, HttpApiSchema.StreamSse({ events: ChatEvent })],
      error: ApiErrors
    })
      .annotate(Facts, { surface: "chat", purpose: "chat", streamed: true, screened: "chat" })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createChatCompletion",
          summary: "Create a chat completion",
          description:
            "The chat completions format for models of every vendor. The level in `model` decides which cloud serves the request."
        })
      )
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Chat completions", description: "The OpenAI format, for models of every vendor." })
  ) {}
