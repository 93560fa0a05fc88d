/** A responses request: what the document shows is what judges it. Fields that are not listed pass (docs/api.md#responses). */
import { Schema } from "effect"
import {
  type AsJson,
  between,
  described,
  either,
  jsonObject,
  ModelField,
  nullable,
  object,
  PositiveInt,
  refused,
  wholeBetween
} from "./fields.ts"
import { kind, kinds } from "./kinds.ts"
import { InputItem } from "./ResponsesInput.ts"
import { ResponsesTool, ResponsesToolChoice } from "./ResponsesTools.ts"

const stored = "not available, because nothing is stored"
const never = (description: string, message: string) =>
  nullable(Schema.Literal(false), { description, message, default: false, example: false })

const TextFormat = kinds([
  kind("text", {}, undefined, "Any text."),
  kind("json_object", {}, undefined, "A JSON object; the input must ask for JSON."),
  kind(
    "json_schema",
    {
      name: described(Schema.String, "The schema's name.", "weather"),
      schema: jsonObject({
        description: "A JSON Schema of type object.",
        examples: [{ type: "object", properties: { city: { type: "string" } } }]
      }),
      description: nullable(Schema.String, { description: "What the schema is for.", example: "The weather" }),
      strict: nullable(Schema.Boolean, {
        description: "Whether the reply must follow the schema exactly.",
        default: false,
        example: true
      })
    },
    undefined,
    "JSON that follows a schema."
  )
])

/** What the gateway acts on or refuses; the cloud validates all the rest. */
export const ResponsesRequest = object(
  {
    model: ModelField,
    input: either(Schema.String, Schema.Array(InputItem)).annotate({
      description: "What the user says, as text, or the whole conversation as items.",
      examples: ["What is FedRAMP High?"]
    }),
    instructions: nullable(Schema.String, {
      description: "Instructions for the model.",
      example: "Answer in one sentence."
    }),
    tools: nullable(Schema.Array(ResponsesTool), {
      description: "Tools that the model may ask the caller to use; those that run inside the cloud are refused.",
      example: [{ type: "function", name: "get_weather", description: "The weather in a city" }]
    }),
    tool_choice: nullable(ResponsesToolChoice, {
      description: "Whether and which tool is used.",
      default: "auto",
      example: "required"
    }),
    parallel_tool_calls: nullable(Schema.Boolean, {
      description: "Whether one reply may call several tools.",
      default: true,
      example: false
    }),
    max_output_tokens: nullable(PositiveInt, {
      description: "The most tokens that the reply may have, reasoning included.",
      example: 1000
    }),
    max_tool_calls: nullable(PositiveInt, { description: "The most calls of built-in tools.", example: 4 }),
    reasoning: nullable(
      object({
        effort: nullable(Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"]), {
          description: "How much the model thinks before it answers; absent, the catalog's default for the model.",
          example: "low"
        }),
        summary: nullable(Schema.Literals(["auto", "concise", "detailed"]), {
          description: "Whether the reply has a summary of what the model thought.",
          example: "auto"
        })
      }),
      { description: "How the model thinks.", example: { effort: "low" } }
    ),
    text: nullable(
      object({
        format: nullable(TextFormat, {
          description: "What the reply is: any text, JSON, or JSON that follows a schema.",
          default: { type: "text" },
          example: { type: "json_object" }
        }),
        verbosity: nullable(Schema.Literals(["low", "medium", "high"]), {
          description: "How long the reply tends to be.",
          default: "medium",
          example: "low"
        })
      }),
      { description: "The format and length of the text.", example: { verbosity: "low" } }
    ),
    temperature: nullable(between(0, 2), {
      description: "Sampling temperature: more makes replies more varied. Models that think refuse it.",
      example: 0.2
    }),
    top_p: nullable(between(0, 1), {
      description:
        "Nucleus sampling: only the likeliest tokens with this probability in all. Models that think refuse it.",
      example: 0.9
    }),
    top_logprobs: nullable(wholeBetween(0, 20), {
      description: "How many alternatives of each token to report.",
      example: 3
    }),
    truncation: nullable(Schema.Literals(["auto", "disabled"]), {
      description: "Whether the oldest items are left out where the input is too long.",
      default: "disabled",
      example: "auto"
    }),
    metadata: nullable(Schema.Record(Schema.String, Schema.String), {
      description: "Notes of the caller's, which the reply repeats; nothing is stored.",
      example: { case: "4711" }
    }),
    include: nullable(Schema.Array(Schema.String), {
      description: "What else the reply has; `reasoning.encrypted_content` is taken out.",
      example: ["message.output_text.logprobs"]
    }),
    user: nullable(Schema.String, {
      description: "Your own identifier of the end user; do not put a secret here.",
      example: "u-1"
    }),
    prompt_cache_key: nullable(Schema.String, {
      description: "Requests with the same key are likely to find each other's prompt in the cloud's cache.",
      example: "handbook-v2"
    }),
    stream: nullable(Schema.Boolean, {
      description: "Whether the reply comes as server-sent events.",
      default: false,
      example: true
    }),
    store: never("Nothing is stored: true is refused.", "must be false or omitted; nothing is stored"),
    previous_response_id: refused(`${stored}; send the full input each turn`),
    background: never("True is refused, because nothing is stored.", `must be false or omitted; ${stored}`),
    conversation: refused(`${stored}; send the full input each turn`),
    prompt: refused(`${stored}; send the text itself`)
  },
  "ResponsesRequest",
  "A conversation. Fields that are not listed pass to the cloud."
).annotate({
  examples: [
    { model: "gpt-5.1:il5", input: "What is FedRAMP High?" },
    { model: "gpt-5.1:il5", input: "What is FedRAMP High?", stream: true }
  ]
})
export type ResponsesRequest = AsJson<typeof ResponsesRequest.Type>
