/** `POST /v1/messages` and `/v1/messages/count_tokens` as they are documented (docs/api.md#messages). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { MessagesErrors } from "./Errors.ts"
import { Facts } from "./facts.ts"
import { described, ModelField, nullable, object, PositiveInt, streaming } from "./fields.ts"
import { MessageParam, TextBlockParam } from "./MessagesContent.ts"
import { Message, MessagesEvent } from "./MessagesEvents.ts"
import { MessagesToolChoice, MessagesTools, OutputConfig, Thinking } from "./MessagesTools.ts"
import { MessagesKey } from "./Security.ts"

const question = [{ role: "user", content: "What is FedRAMP High?" }] as const
const sample = `event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":14,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"FedRAMP"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":17}}

event: message_stop
data: {"type":"message_stop"}`

const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

/** Those that count as input. */
const inputFields = {
  model: ModelField,
  messages: described(
    Schema.Array(MessageParam).check(Schema.isMinLength(1, { message: "at least one message" })),
    "The conversation so far, oldest message first.",
    [{ role: "user", content: "What is FedRAMP High?" }]
  ),
  system: nullable(Schema.Union([Schema.String, Schema.Array(TextBlockParam)]), {
    description: "Instructions for the model.",
    example: "Answer in one sentence."
  }),
  tools: nullable(MessagesTools, {
    description: "Tools that the model may ask the caller to use; those that run inside the cloud are refused.",
    example: [{ name: "get_weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }]
  }),
  tool_choice: nullable(MessagesToolChoice, {
    description: "Whether and which tool is used.",
    default: { type: "auto" },
    example: { type: "any" }
  }),
  thinking: nullable(Thinking, {
    description:
      "Extended thinking; what the model would refuse is adjusted, and `x-gateway-thinking-adjusted` says how.",
    example: { type: "enabled", budget_tokens: 2048 }
  }),
  anthropic_beta: nullable(Schema.Array(Schema.String), {
    description: "Betas to use; those that the deployment does not have are removed.",
    example: ["interleaved-thinking-2025-05-14"]
  }),
  vendor_version: nullable(Schema.String, {
    description: "The version of the vendor's API to send, instead of the gateway's own choice.",
    example: "vertex-2023-10-16"
  })
}

export const CreateMessage = object(
  {
    ...inputFields,
    max_tokens: described(PositiveInt, "The most tokens that the reply may have, thinking included.", 1024),
    stream: nullable(Schema.Boolean, {
      description: "Whether the reply comes as server-sent events.",
      default: false,
      example: true
    }),
    stop_sequences: nullable(Schema.Array(Schema.String), {
      description: "Texts that end the reply before they appear in it.",
      example: ["END"]
    }),
    temperature: nullable(share, {
      description: "Sampling temperature: more makes replies more varied. Removed beside thinking.",
      example: 0.2
    }),
    top_p: nullable(share, {
      description: "Nucleus sampling: only the likeliest tokens with this probability in all. Removed beside thinking.",
      example: 0.9
    }),
    top_k: nullable(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)), {
      description: "How many of the likeliest tokens to choose from. Removed beside thinking.",
      example: 40
    }),
    metadata: nullable(
      object({
        user_id: nullable(Schema.String, {
          description: "Your own identifier of the end user; do not put a secret here.",
          example: "u-1"
        })
      }),
      { description: "About the request, for the vendor.", example: { user_id: "u-1" } }
    ),
    output_config: nullable(OutputConfig, {
      description: "How the reply is made: its effort, its format.",
      example: { effort: "high" }
    })
  },
  "MessagesRequest",
  "A conversation. Fields that are not listed pass to the model's own API."
).annotate({
  examples: [
    { model: "claude-sonnet-4-5:il5", max_tokens: 300, messages: question },
    {
      model: "claude-sonnet-4-5:il2",
      max_tokens: 4096,
      thinking: { type: "enabled", budget_tokens: 1024 },
      stream: true,
      messages: question
    }
  ]
})
export type MessagesRequest = typeof CreateMessage.Type

export const CountMessageTokens = object(
  inputFields,
  "CountTokensRequest",
  "A conversation whose tokens are counted."
).annotate({
  examples: [{ model: "claude-sonnet-4-5:il5", messages: question }]
})
export type CountRequest = typeof CountMessageTokens.Type

export const CountReply = Schema.Struct({
  input_tokens: described(Schema.Int, "What the same request would report as `usage.input_tokens`.", 14)
}).annotate({ identifier: "CountTokensReply", description: "The count.", examples: [{ input_tokens: 14 }] })

export class MessagesGroup extends HttpApiGroup.make("messages")
  .add(
    HttpApiEndpoint.post("create", "/v1/messages", {
      payload: CreateMessage,
      success: [Message, HttpApiSchema.StreamSse({ events: MessagesEvent })],
      error: MessagesErrors
    })
      .annotate(Facts, { surface: "messages", purpose: "messages", streamed: true, screened: "messages" })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createMessage",
          summary: "Create a message",
          description: streaming(
            "The native messages format, for Claude models. Fields that are not listed pass to the model's own API.",
            sample
          )
        })
      ),
    HttpApiEndpoint.post("countTokens", "/v1/messages/count_tokens", {
      payload: CountMessageTokens,
      success: CountReply,
      error: MessagesErrors
    })
      .annotate(Facts, { surface: "count_tokens", purpose: "count", streamed: false, screened: undefined })
      .annotateMerge(
        OpenApi.annotations({
          identifier: "countMessageTokens",
          summary: "Count input tokens",
          description:
            "What the identical billed request would report as usage.input_tokens. Free; nothing is generated."
        })
      )
  )
  .middleware(MessagesKey)
  .annotateMerge(OpenApi.annotations({ title: "Messages", description: "The Anthropic format, for Claude models." })) {}
