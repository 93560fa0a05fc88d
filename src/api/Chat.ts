/** `POST /v1/chat/completions`: the OpenAI chat format, for models of every vendor (spec: POST /v1/chat/completions). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ApiErrors } from "./Errors.ts"
import { fitsText, ModelField, nullable, ParsedJson, PositiveInt, rest } from "./fields.ts"
import { Governance } from "./Governance.ts"
import { ApiKey } from "./Security.ts"

/** Limits of the spec's table that the schema enforces; those on media are in `dialect/media`. */
export const chatLimits = { messages: 2048, tools: 128, toolCalls: 128, toolCallId: 256, description: 65_536 } as const

const atMost = (limit: number, what: string) =>
  Schema.isMaxLength(limit, { message: `at most ${limit.toLocaleString("en-US")} ${what}` })

const Text = Schema.String.check(
  Schema.makeFilter((text) => (fitsText(text) ? undefined : "at most 2 MiB of UTF-8 text"))
)
const plainText = (role: string) => Text.annotate({ message: `must be a string (${role} content has no parts)` })

export const TextPart = Schema.StructWithRest(
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  rest
)
export const ImagePart = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.Literal("image_url"),
    image_url: Schema.StructWithRest(Schema.Struct({ url: Schema.String }), rest)
  }),
  rest
)
export const FilePart = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.Literal("file"),
    file: Schema.StructWithRest(Schema.Struct({ filename: nullable(Schema.String), file_data: Schema.String }), rest)
  }),
  rest
)
export const ContentPart = Schema.Union([TextPart, ImagePart, FilePart]).annotate({
  message: "must be a part of type text, image_url or file, with its fields"
})
export type ContentPart = typeof ContentPart.Type

export const toolName = /^[a-zA-Z0-9_-]{1,64}$/
const ToolName = Schema.String.check(
  Schema.isPattern(toolName, { message: "must be 1 to 64 characters of a-z, A-Z, 0-9, _ and -" })
)

/** Google's and Anthropic's own replay data, given back by callers that echo the message (decisions: Chat surface). */
const ExtraContent = nullable(ParsedJson)

export const ToolCall = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.String.check(atMost(chatLimits.toolCallId, "characters")),
    type: nullable(Schema.Literal("function")),
    function: Schema.StructWithRest(Schema.Struct({ name: ToolName, arguments: Schema.String }), rest),
    extra_content: ExtraContent
  }),
  rest
)
export type ToolCall = typeof ToolCall.Type

const SystemMessage = Schema.StructWithRest(
  Schema.Struct({ role: Schema.Literals(["system", "developer"]), content: plainText("system") }),
  rest
)
const UserMessage = Schema.StructWithRest(
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.Union([Text, Schema.Array(ContentPart)]).annotate({
      message: "must be a string (at most 2 MiB) or an array of parts of type text, image_url or file"
    })
  }),
  rest
)
const AssistantMessage = Schema.StructWithRest(
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: nullable(plainText("assistant")),
    tool_calls: nullable(Schema.Array(ToolCall).check(atMost(chatLimits.toolCalls, "tool calls"))),
    extra_content: ExtraContent
  }),
  rest
).check(
  Schema.makeFilter((message) =>
    typeof message.content === "string" || (message.tool_calls?.length ?? 0) > 0
      ? undefined
      : { path: ["content"], issue: "must be a string unless the message has tool_calls" }
  )
)
const ToolMessage = Schema.StructWithRest(
  Schema.Struct({
    role: Schema.Literal("tool"),
    content: plainText("tool"),
    tool_call_id: Schema.String.check(atMost(chatLimits.toolCallId, "characters"))
  }),
  rest
)
export const ChatMessage = Schema.Union([SystemMessage, UserMessage, AssistantMessage, ToolMessage]).annotate({
  identifier: "ChatMessage"
})
export type ChatMessage = typeof ChatMessage.Type

export const Tool = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.Literal("function"),
    function: Schema.StructWithRest(
      Schema.Struct({
        name: ToolName,
        description: nullable(Schema.String.check(atMost(chatLimits.description, "characters"))),
        parameters: nullable(Schema.Record(Schema.String, ParsedJson)),
        strict: nullable(Schema.Boolean)
      }),
      rest
    )
  }),
  rest
)
export type Tool = typeof Tool.Type

export const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  Schema.StructWithRest(
    Schema.Struct({
      type: Schema.Literal("function"),
      function: Schema.StructWithRest(Schema.Struct({ name: ToolName }), rest)
    }),
    rest
  )
]).annotate({ message: 'must be "auto", "none", "required" or {"type":"function","function":{"name":…}}' })

export const ReasoningEffort = Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"])

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
      Schema.Union([Schema.String, Schema.Array(Schema.String)]).annotate({
        message: "must be a string or an array of strings"
      })
    ),
    tools: nullable(Schema.Array(Tool).check(atMost(chatLimits.tools, "tools"))),
    tool_choice: nullable(ToolChoice),
    reasoning_effort: nullable(ReasoningEffort)
  }),
  rest
).annotate({ identifier: "ChatRequest" })
export type ChatRequest = typeof ChatRequest.Type

export const FinishReason = Schema.Literals(["stop", "length", "tool_calls", "content_filter"])
export type FinishReason = typeof FinishReason.Type

export const Usage = Schema.StructWithRest(
  Schema.Struct({
    prompt_tokens: Schema.Int,
    completion_tokens: Schema.Int,
    total_tokens: Schema.Int,
    prompt_tokens_details: Schema.optionalKey(Schema.Struct({ cached_tokens: Schema.Int })),
    completion_tokens_details: Schema.optionalKey(Schema.Struct({ reasoning_tokens: Schema.Int }))
  }),
  rest
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
            rest
          ),
          finish_reason: FinishReason
        }),
        rest
      )
    ),
    usage: Usage,
    x_gateway_governance: Schema.optionalKey(Governance)
  }),
  rest
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
  rest
)

export const CompletionChunk = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.String,
    object: Schema.Literal("chat.completion.chunk"),
    created: Schema.Int,
    model: Schema.String,
    choices: Schema.Array(
      Schema.Struct({
        index: Schema.Int,
        delta: Schema.StructWithRest(
          Schema.Struct({
            role: Schema.optionalKey(Schema.Literal("assistant")),
            content: Schema.optionalKey(Schema.NullOr(Schema.String)),
            tool_calls: Schema.optionalKey(Schema.Array(ToolCallDelta)),
            extra_content: Schema.optionalKey(Schema.Json)
          }),
          rest
        ),
        finish_reason: Schema.NullOr(FinishReason)
      })
    ),
    usage: Schema.optionalKey(Usage),
    x_gateway_governance: Schema.optionalKey(Governance)
  }),
  rest
).annotate({ identifier: "ChatCompletionChunk" })
export type CompletionChunk = typeof CompletionChunk.Type

/** A failure after the first byte: the last event of such a stream, without `[DONE]`. */
const StreamError = Schema.Struct({
  error: Schema.StructWithRest(Schema.Struct({ type: Schema.String, message: Schema.String }), rest)
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
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create a chat completion",
        description:
          "The chat completions format for models of every vendor. The level in `model` decides which cloud serves the request."
      })
    )
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Chat completions" })) {}
