/** `POST /v1/chat/completions` as it is documented: what the gateway acts on, and what it passes or translates. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { chatFields } from "./Chat.ts"
import { ChatEvent, Completion } from "./ChatReply.ts"
import { ApiErrors } from "./Errors.ts"
import { Facts } from "./facts.ts"
import { described, nullable, object, ParsedJson, streaming } from "./fields.ts"
import { kind, kinds } from "./kinds.ts"
import { ApiKey } from "./Security.ts"

const question = [{ role: "user", content: "What is FedRAMP High?" }] as const
const sample = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{"content":"FedRAMP"},"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"claude-sonnet-4-5:il5","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]`

const penalty = (what: string) =>
  nullable(Schema.Finite.check(Schema.isBetween({ minimum: -2, maximum: 2 })), {
    description: `How much less likely a token becomes ${what}; GPT models and Gemini.`,
    example: 0.5
  })

const ResponseFormat = kinds(
  [
    kind("text", {}, undefined, "Any text."),
    kind("json_object", {}, undefined, "A JSON object; the messages must ask for JSON."),
    kind(
      "json_schema",
      {
        json_schema: described(
          object({
            name: described(Schema.String, "The schema's name.", "weather"),
            description: nullable(Schema.String, { description: "What the schema is for.", example: "The weather" }),
            schema: nullable(Schema.Record(Schema.String, ParsedJson), {
              description: "A JSON Schema of type object.",
              example: { type: "object", properties: { city: { type: "string" } } }
            }),
            strict: nullable(Schema.Boolean, {
              description: "Whether the reply must follow the schema exactly.",
              default: false,
              example: true
            })
          }),
          "The schema, and how strictly it is followed."
        )
      },
      undefined,
      "JSON that follows a schema."
    )
  ],
  { identifier: "ResponseFormat", description: "What the reply is: any text, JSON, or JSON that follows a schema." }
)

/** Forwarded to GPT models, translated where another vendor has the same thing, and otherwise ignored. */
const passedFields = {
  response_format: nullable(ResponseFormat, {
    description: "What the reply is: any text, JSON, or JSON that follows a schema; for every vendor.",
    default: { type: "text" },
    example: { type: "json_object" }
  }),
  parallel_tool_calls: nullable(Schema.Boolean, {
    description: "Whether one reply may call several tools.",
    default: true,
    example: false
  }),
  seed: nullable(Schema.Int, {
    description: "The same seed and request mostly give the same reply; GPT models and Gemini.",
    example: 7
  }),
  frequency_penalty: penalty("each time it is used"),
  presence_penalty: penalty("once it has been used"),
  logit_bias: nullable(Schema.Record(Schema.String, Schema.Finite), {
    description: "Token IDs that become likelier (up to 100) or less likely (down to -100); GPT models.",
    example: { "50256": -100 }
  }),
  logprobs: nullable(Schema.Boolean, {
    description: "Whether the reply has the log probabilities of its tokens; GPT models that do not think.",
    default: false,
    example: true
  }),
  top_logprobs: nullable(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })), {
    description: "How many alternatives of each token `logprobs` lists.",
    example: 3
  }),
  user: nullable(Schema.String, {
    description: "Your own identifier of the end user; do not put a secret here.",
    example: "u-1"
  }),
  store: nullable(Schema.Literal(false), {
    description: "Nothing is stored, whatever this says.",
    default: false,
    example: false
  }),
  n: nullable(Schema.Literal(1), { description: "There is one choice.", default: 1, example: 1 })
}

/** What the document says and the client's types want: {@link chatFields} and the fields that are passed on. */
export const CreateChatCompletion = object(
  { ...chatFields, ...passedFields },
  "ChatRequest",
  "A conversation. Fields that are not listed go to GPT models, and others ignore them."
).annotate({
  examples: [
    { model: "claude-sonnet-4-5:il5", messages: question },
    {
      model: "gemini-3-flash:fedramp-high",
      messages: question,
      stream: true,
      stream_options: { include_usage: true }
    },
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
  ]
})
export type ChatRequest = typeof CreateChatCompletion.Type

export class ChatGroup extends HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("completions", "/v1/chat/completions", {
      payload: CreateChatCompletion,
      success: [Completion, HttpApiSchema.StreamSse({ events: ChatEvent })],
      error: ApiErrors
    })
      .annotate(Facts, { surface: "chat", purpose: "chat", streamed: true, screened: "chat" })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createChatCompletion",
          summary: "Create a chat completion",
          description: streaming(
            "The chat completions format for models of every vendor. The level in `model` decides which cloud serves the request.",
            sample
          )
        })
      )
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Chat completions", description: "The OpenAI format, for models of every vendor." })
  ) {}
