/** `POST /v1/chat/completions`: the OpenAI chat format, for models of every vendor (spec: POST /v1/chat/completions). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ApiErrors } from "./Errors.ts"
import { fitsText, ModelField, notAnObject, nullable, ParsedJson, PositiveInt, rest } from "./fields.ts"
import { Governance } from "./Governance.ts"
import { ApiKey } from "./Security.ts"

/** Limits of the spec's table that the schema enforces; those on media are in `dialect/media`. */
export const chatLimits = { messages: 2048, tools: 128, toolCalls: 128, toolCallId: 256, description: 65_536 } as const

const atMost = (limit: number, what: string) =>
  Schema.isMaxLength(limit, { message: `at most ${limit.toLocaleString("en-US")} ${what}` })

const sized = Schema.makeFilter((text: string) => (fitsText(text) ? undefined : "at most 2 MiB of UTF-8 text"))
const Text = Schema.String.check(sized)
const stringOnly = (role: string) => `must be a string (${role} content has no parts)`
const plainText = (role: string) => Schema.String.annotate({ message: stringOnly(role) }).check(sized)

export const TextPart = Schema.StructWithRest(
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  rest
).annotate({ identifier: "TextPart" })
export const ImagePart = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.Literal("image_url"),
    image_url: Schema.StructWithRest(Schema.Struct({ url: Schema.String }), rest)
  }),
  rest
).annotate({
  identifier: "ImagePart",
  description:
    "An image as a data URI: JPEG, PNG, GIF or WebP, at most 3.5 MB decoded. URLs of other places are refused."
})
export const FilePart = Schema.StructWithRest(
  Schema.Struct({
    type: Schema.Literal("file"),
    file: Schema.StructWithRest(Schema.Struct({ filename: nullable(Schema.String), file_data: Schema.String }), rest)
  }),
  rest
).annotate({
  identifier: "FilePart",
  description: "A PDF as a data URI, at most 3.5 MB decoded. URLs of other places are refused."
})
export const ContentPart = Schema.Union([TextPart, ImagePart, FilePart]).annotate({
  message: "must be a part of type text, image_url or file, with its fields"
})
export type ContentPart = typeof ContentPart.Type

/** With the flag `u`, which JSON Schema means too: the contract's document shows the pattern. */
export const toolName = /^[a-zA-Z0-9_-]{1,64}$/u
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
).annotate({ identifier: "ToolCall", message: "must be an object" })
export type ToolCall = typeof ToolCall.Type

/** One schema a role, and not one for both: a literal is what a union tells its members, and so its errors, apart by. */
const instructions = <R extends "system" | "developer">(role: R) =>
  Schema.StructWithRest(Schema.Struct({ role: Schema.Literal(role), content: plainText(role) }), rest)
const SystemMessage = instructions("system").annotate({ identifier: "SystemMessage" })
const DeveloperMessage = instructions("developer").annotate({
  identifier: "DeveloperMessage",
  description: "The same as a system message."
})
const UserMessage = Schema.StructWithRest(
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.Union([Text, Schema.Array(ContentPart)]).annotate({
      message: "must be a string (at most 2 MiB) or an array of parts of type text, image_url or file"
    })
  }),
  rest
).annotate({ identifier: "UserMessage" })
const AssistantMessage = Schema.StructWithRest(
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: nullable(plainText("assistant"), stringOnly("assistant")),
    tool_calls: nullable(Schema.Array(ToolCall).check(atMost(chatLimits.toolCalls, "tool calls"))),
    extra_content: ExtraContent
  }),
  rest
)
  .check(
    Schema.makeFilter((message) =>
      typeof message.content === "string" ||
      (message.tool_calls?.length ?? 0) > 0 ||
      typeof message.refusal === "string"
        ? undefined
        : { path: ["content"], issue: "must be a string unless the message has tool_calls" }
    )
  )
  .annotate({ identifier: "AssistantMessage" })
const ToolMessage = Schema.StructWithRest(
  Schema.Struct({
    role: Schema.Literal("tool"),
    content: plainText("tool"),
    tool_call_id: Schema.String.check(atMost(chatLimits.toolCallId, "characters"))
  }),
  rest
).annotate({ identifier: "ToolMessage", description: "What a tool answered." })
export const ChatMessage = Schema.Union([
  SystemMessage,
  DeveloperMessage,
  UserMessage,
  AssistantMessage,
  ToolMessage
]).annotate({
  identifier: "ChatMessage",
  description: "Text is at most 2 MiB of UTF-8. Only users may send parts.",
  message: "must be an object with the role system, user, assistant or tool"
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
).annotate({
  identifier: "Tool",
  message: "must be an object",
  description: "A function that the model may call. Parameter names that describe an outbound destination are refused."
})
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
])
const choices = 'must be "auto", "none", "required" or {"type":"function","function":{"name":…}}'

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
    tool_choice: nullable(ToolChoice, choices),
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
