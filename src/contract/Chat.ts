/** A chat request: what the document shows is what judges it. Fields that are not listed pass (docs/api.md#chat-completions). */
import { Schema } from "effect"
import { efforts } from "../catalog/names.ts"
import { atMost, ChatMessage, chatLimits, Tool, ToolChoice, toolChoices } from "./ChatMessage.ts"
import {
  type AsJson,
  between,
  described,
  flag,
  Integer,
  jsonSchema,
  ModelField,
  named,
  nullable,
  object,
  options,
  PositiveInt,
  question,
  record,
  wholeBetween
} from "./fields.ts"
import { kind } from "./kinds.ts"

const penalty = (what: string) =>
  nullable(between(-2, 2), `How much less likely a token becomes ${what}; GPT models and Gemini.`, 0.5)

const ResponseFormat = Schema.Union([
  kind("text", {}).annotate({ description: "Any text." }),
  kind("json_object", {}).annotate({ description: "A JSON object; the messages must ask for JSON." }),
  kind("json_schema", {
    json_schema: described(
      object({
        name: nullable(Schema.String, "The schema's name.", "weather"),
        description: nullable(Schema.String, "What the schema is for.", "The weather"),
        schema: jsonSchema("must be a JSON Schema"),
        strict: flag("Whether the reply must follow the schema exactly.")
      }),
      "The schema, and how strictly it is followed."
    )
  }).annotate(named("ResponseFormatJsonSchema", "JSON that follows a schema."))
]).annotate({
  identifier: "ResponseFormat",
  description: "What the reply is: any text, JSON, or JSON that follows a schema.",
  message: "must be an object of type text, json_object or json_schema"
})

export const ChatRequest = object({
  model: ModelField,
  messages: Schema.Array(ChatMessage)
    .check(Schema.isMinLength(1, { message: "at least one message" }), atMost(chatLimits.messages, "messages"))
    .annotate({ description: "The conversation so far, oldest message first.", examples: [question] }),
  temperature: nullable(
    between(0, 2),
    "Sampling temperature: more makes replies more varied. Removed while Claude and the GPT-5 models think.",
    0.2
  ),
  top_p: nullable(
    between(0, 1),
    "Nucleus sampling: only the likeliest tokens with this probability in all. Removed while Claude and the GPT-5 models think.",
    0.9
  ),
  max_tokens: nullable(PositiveInt, "The older name of `max_completion_tokens`, which wins where both are given.", 500),
  max_completion_tokens: nullable(PositiveInt, "The most tokens that the reply may have, thinking included.", 500),
  stream: flag("Whether the reply comes as server-sent events."),
  stream_options: nullable(
    options({ include_usage: flag("Whether the final chunk has `usage`.") }),
    "Options of a stream.",
    { include_usage: true }
  ),
  stop: nullable(
    Schema.Union([Schema.String, Schema.Array(Schema.String)]),
    "Texts that end the reply before they appear in it.",
    ["END"],
    { message: "must be a string or an array of strings" }
  ),
  tools: nullable(
    Schema.Array(Tool).check(atMost(chatLimits.tools, "tools")),
    "Functions that the model may ask the caller to call, at most 128.",
    [{ type: "function", function: { name: "get_weather", description: "The weather in a city" } }]
  ),
  tool_choice: nullable(
    ToolChoice,
    "Whether and which tool is called; becomes `auto` while Claude thinks, and on Gemini.",
    "required",
    { message: toolChoices, default: "auto" }
  ),
  reasoning_effort: nullable(
    Schema.Literals(efforts),
    "How much the model thinks before it answers; absent, the catalog's default for the model. A value that the model does not have becomes the nearest one; models that do not reason ignore it.",
    "low"
  ),
  // Forwarded to GPT models, translated where another vendor has the same thing, and otherwise left out.
  response_format: nullable(
    ResponseFormat,
    "What the reply is: any text, JSON, or JSON that follows a schema; for every vendor. Absent, any text.",
    { type: "json_object" }
  ),
  parallel_tool_calls: flag("Whether one reply may call several tools.", true),
  seed: nullable(Integer, "The same seed and request mostly give the same reply; GPT models and Gemini.", 7),
  frequency_penalty: penalty("each time it is used"),
  presence_penalty: penalty("once it has been used"),
  logit_bias: nullable(
    record(Schema.Finite),
    "Token IDs that become likelier (up to 100) or less likely (down to -100); GPT models.",
    { "50256": -100 }
  ),
  logprobs: flag("Whether the reply has the log probabilities of its tokens; GPT models that do not think."),
  top_logprobs: nullable(wholeBetween(0, 20), "How many alternatives of each token `logprobs` lists.", 3),
  user: nullable(Schema.String, "Your own identifier of the end user; do not put a secret here.", "u-1"),
  store: nullable(Schema.Literal(false), "Nothing is stored: true is refused.", false, {
    message: "must be false or omitted; nothing is stored",
    default: false
  }),
  n: nullable(Schema.Literal(1), "There is one choice.", 1, {
    message: "must be 1, there is one choice a request",
    default: 1
  })
}).annotate(
  named(
    "ChatRequest",
    "A conversation. Fields that are not listed go to GPT models, and others ignore them.",
    { model: "claude-sonnet-4-5:il5", messages: question },
    { model: "gemini-3-flash:fedramp-high", messages: question, stream: true, stream_options: { include_usage: true } },
    {
      model: "gpt-5.1:il5",
      messages: [{ role: "user", content: "What is the weather in Denver?" }],
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            description: "The weather in a city",
            parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
          }
        }
      ]
    }
  )
)
export type ChatRequest = AsJson<typeof ChatRequest.Type>
