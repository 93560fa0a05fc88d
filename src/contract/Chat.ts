/**
 * A chat request as the gateway decodes it: what it acts on is checked, the rest is as it came (docs/api.md#chat-completions).
 */
import { Schema } from "effect"
import { atMost, ChatMessage, chatLimits, Tool, ToolChoice, toolChoices } from "./ChatMessage.ts"
import { ModelField, notAnObject, nullable, PositiveInt, rest } from "./fields.ts"

const ReasoningEffort = Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"])

const between = (minimum: number, maximum: number) =>
  Schema.Number.annotate({ message: `must be a number between ${minimum} and ${maximum}` }).check(
    Schema.isFinite(),
    Schema.isBetween({ minimum, maximum }, { message: `must be between ${minimum} and ${maximum}` })
  )

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
    description:
      "Sampling temperature: more makes replies more varied. Removed while Claude and the GPT-5 models think.",
    example: 0.2
  }),
  top_p: nullable(between(0, 1), {
    description:
      "Nucleus sampling: only the likeliest tokens with this probability in all. Removed while Claude and the GPT-5 models think.",
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
    { description: "Options of a stream.", example: { include_usage: true } }
  ),
  stop: nullable(Schema.Union([Schema.String, Schema.Array(Schema.String)]), {
    message: "must be a string or an array of strings",
    description: "Texts that end the reply before they appear in it.",
    example: ["END"]
  }),
  tools: nullable(Schema.Array(Tool).check(atMost(chatLimits.tools, "tools")), {
    description: "Functions that the model may ask the caller to call, at most 128.",
    example: [{ type: "function", function: { name: "get_weather", description: "The weather in a city" } }]
  }),
  tool_choice: nullable(ToolChoice, {
    message: toolChoices,
    description: "Whether and which tool is called; becomes `auto` while Claude thinks, and on Gemini.",
    default: "auto",
    example: "required"
  }),
  reasoning_effort: nullable(ReasoningEffort, {
    description:
      "How much the model thinks before it answers; absent, the catalog's default for the model. A value that the model does not have becomes the nearest one; models that do not reason ignore it.",
    example: "low"
  })
}

/** The decoded body, with all fields that are not listed. */
export const ChatRequest = Schema.StructWithRest(Schema.Struct(chatFields), rest).annotate({ message: notAnObject })
export type ChatRequest = typeof ChatRequest.Type
