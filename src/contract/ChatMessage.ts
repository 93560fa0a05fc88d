/** What a chat conversation is made of: messages and their parts, tools and calls (docs/api.md#chat-messages). */
import { Schema } from "effect"
import {
  type AsJson,
  described,
  flag,
  named,
  nullable,
  object,
  ParsedJson,
  parameters,
  sized,
  string
} from "./fields.ts"
import { kind } from "./kinds.ts"

/** Limits (docs/api.md#limits) that the schema enforces; those on media are in `vendors/media.ts`. */
export const chatLimits = { messages: 2048, tools: 128, toolCalls: 128, toolCallId: 256, description: 65_536 } as const

const message = (limit: number, what: string) => `at most ${limit.toLocaleString("en-US")} ${what}`
export const atMost = (limit: number, what: string) => Schema.isMaxLength(limit, { message: message(limit, what) })
const pairs = /[\ud800-\udbff][\udc00-\udfff]/g
/** Characters are code points, as JSON Schema counts them; only those of a text that could be too long are counted. */
const characters = (limit: number) =>
  Schema.makeFilter<string>(
    (text) =>
      text.length <= limit || (text.length <= 2 * limit && text.length - (text.match(pairs)?.length ?? 0) <= limit),
    { message: message(limit, "characters"), toJsonSchema: () => ({ maxLength: limit }) }
  )

const Text = Schema.String.check(sized)
const stringOnly = (role: string) =>
  `must be a string (${role} content has no parts); lists of nothing but text pass where the operator sets GATEWAY_TEXT_ARRAYS=true`
const plainText = (role: string) => Schema.String.annotate({ message: stringOnly(role) }).check(sized)

const TextPart = kind("text", { text: string("The text.", "What is in this picture?") }).annotate(
  named("TextPart", "A text.")
)
const ImagePart = kind("image_url", {
  image_url: object({
    url: string(
      "A data URI, `data:<mime>;base64,<bytes>`, of type image/jpeg, image/png, image/gif or image/webp.",
      "data:image/png;base64,iVBORw0KGgo="
    )
  }).annotate({ description: "The image itself." })
}).annotate(
  named("ImagePart", "An image as a data URI: JPEG, PNG, GIF or WebP, at most 3.5 MB decoded. Other URLs are refused.")
)
const FilePart = kind("file", {
  file: object({
    filename: nullable(
      Schema.String,
      "The file's name. Folders and control characters are removed from it.",
      "report.pdf"
    ),
    file_data: string("A data URI of type application/pdf.", "data:application/pdf;base64,JVBERi0xLjcK")
  }).annotate({ description: "The file itself." })
}).annotate(named("FilePart", "A PDF as a data URI, at most 3.5 MB decoded. Other URLs are refused."))
export const ContentPart = Schema.Union([TextPart, ImagePart, FilePart]).annotate({
  message: "must be a part of type text, image_url or file, with its fields"
})
export type ContentPart = AsJson<typeof ContentPart.Type>

/** With the flag `u`, which JSON Schema means too: the contract's document shows the pattern. */
const toolName = /^[a-zA-Z0-9_-]{1,64}$/u
const ToolName = Schema.String.check(
  Schema.isPattern(toolName, { message: "must be 1 to 64 characters of a-z, A-Z, 0-9, _ and -" })
).annotate({ description: "The function's name.", examples: ["get_weather"] })

/**
 * Google's and Anthropic's own replay data, given back by callers that echo the message
 * (docs/decisions.md#tool-loops-that-survive-thinking).
 */
const ExtraContent = nullable(
  ParsedJson,
  "What a vendor needs back in the next request: return the message unchanged.",
  { google: { thought_signature: "EqQBCgIYAhIM" } }
)

/** In a history there is whatever a model called it, also what it made up (`functions.get`). */
const CalledName = string("The function's name, as the model wrote it.", "get_weather")

const CallId = Schema.String.check(characters(chatLimits.toolCallId))
export const ToolCall = object({
  id: described(CallId, "The call's ID, which the tool message names.", "call_1"),
  type: nullable(Schema.Literal("function"), "The kind of tool.", "function"),
  function: object({
    name: CalledName,
    arguments: described(Text, "The arguments as JSON text, which may not be valid.", '{"city":"Denver"}')
  }).annotate({ description: "What is called, and with what." }),
  extra_content: ExtraContent
}).annotate(named("ToolCall", "A tool that the model wants called."))
export type ToolCall = AsJson<typeof ToolCall.Type>

/** One schema a role, and not one for both: a literal is what a union tells its members, and so its errors, apart by. */
const instructions = <R extends "system" | "developer">(role: R) =>
  object({
    role: Schema.Literal(role),
    content: described(plainText(role), "Instructions for the model.", "Answer in one sentence.")
  })
const SystemMessage = instructions("system").annotate(named("SystemMessage", "Instructions for the model."))
const DeveloperMessage = instructions("developer").annotate(named("DeveloperMessage", "The same as a system message."))
const UserMessage = object({
  role: Schema.Literal("user"),
  content: Schema.Union([Text, Schema.Array(ContentPart)]).annotate({
    message: "must be a string (at most 2 MiB) or an array of parts of type text, image_url or file",
    description: "What the user says, as text or as parts.",
    examples: ["What is FedRAMP High?"]
  })
}).annotate(named("UserMessage", "What the user says."))
const AssistantMessage = object({
  role: Schema.Literal("assistant"),
  content: nullable(
    plainText("assistant"),
    "What the model said; null beside `tool_calls`.",
    "FedRAMP High is the strictest baseline.",
    { message: stringOnly("assistant") }
  ),
  tool_calls: nullable(
    Schema.Array(ToolCall).check(atMost(chatLimits.toolCalls, "tool calls")),
    "The calls that the model asked for, each of which a tool message answers."
  ),
  extra_content: ExtraContent
})
  .annotate({ description: "What the model answered: the message of a reply." })
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
const ToolMessage = object({
  role: Schema.Literal("tool"),
  content: described(plainText("tool"), "What the tool answered.", "21 °C"),
  tool_call_id: described(CallId, "The `id` of the call that this answers.", "call_1")
}).annotate(named("ToolMessage", "What a tool answered."))
export const ChatMessage = Schema.Union([
  SystemMessage,
  DeveloperMessage,
  UserMessage,
  AssistantMessage,
  ToolMessage
]).annotate({
  identifier: "ChatMessage",
  description: "Text is at most 2 MiB of UTF-8. Only users may send parts.",
  message: "must be an object with the role system, developer, user, assistant or tool"
})
export type ChatMessage = AsJson<typeof ChatMessage.Type>
export type MessageOf<Role extends ChatMessage["role"]> = Extract<ChatMessage, { readonly role: Role }>

/** In other formats the function's fields stand beside the type. */
const nested = { messageMissingKey: "is required; the name of the function stands under it" }

export const Tool = kind("function", {
  function: object({
    name: ToolName,
    description: nullable(
      Schema.String.check(characters(chatLimits.description)),
      "What the function does, for the model.",
      "The weather in a city"
    ),
    parameters,
    strict: flag("Whether the arguments must follow the schema exactly.")
  })
    .annotate({ description: "The function itself." })
    .annotateKey(nested)
}).annotate(
  named(
    "Tool",
    "A function that the model may call. Parameter names that describe an outbound destination are refused."
  )
)
export type Tool = AsJson<typeof Tool.Type>

const choices = ["auto", "none", "required"] as const
export const toolChoices =
  "must be auto, none or required, or an object of type function with the name of a function, as in the OpenAI format"
const choiceTypes = "must be auto, none or required, or function with the name of one"
export const ToolChoice = Schema.Union([
  Schema.Literals(choices).annotate({ message: toolChoices }),
  kind("function", {
    function: object({ name: ToolName }).annotate({ description: "The function to call." }).annotateKey(nested)
  }),
  object({
    type: described(Schema.Literals(choices).annotate({ message: choiceTypes }), "The word.", "auto")
  }).annotate({ description: "The same as the word alone; some clients send it so." })
]).annotate({ message: toolChoices })
export type ToolChoice = AsJson<typeof ToolChoice.Type>
