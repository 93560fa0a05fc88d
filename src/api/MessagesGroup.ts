/** `POST /v1/messages` and `/v1/messages/count_tokens` as they are documented (docs/api.md#messages). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { MessagesErrors } from "./Errors.ts"
import { Facts } from "./facts.ts"
import { ModelField, nullable, object, PositiveInt, said } from "./fields.ts"
import { MessageParam, TextBlockParam } from "./MessagesContent.ts"
import { Message, MessagesEvent } from "./MessagesEvents.ts"
import { MessagesToolChoice, MessagesTools, OutputConfig, Thinking } from "./MessagesTools.ts"
import { MessagesKey } from "./Security.ts"

const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

/** Those that count as input. */
const inputFields = {
  model: ModelField,
  messages: said(
    Schema.Array(MessageParam).check(Schema.isMinLength(1, { message: "at least one message" })),
    "The conversation so far, oldest message first.",
    [{ role: "user", content: "What is FedRAMP High?" }]
  ),
  system: nullable(Schema.Union([Schema.String, Schema.Array(TextBlockParam)]), {
    description: "What the model is to obey.",
    example: "Answer in one sentence."
  }),
  tools: nullable(MessagesTools, { description: "Tools that the model may ask the caller to use." }),
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
    max_tokens: said(PositiveInt, "The most tokens that the reply may have, thinking included.", 1024),
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
      description: "How much chance there is in the words; removed beside thinking.",
      example: 0.2
    }),
    top_p: nullable(share, {
      description: "The share of likely words to choose from; removed beside thinking.",
      example: 0.9
    }),
    top_k: nullable(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)), {
      description: "How many of the likeliest words to choose from; removed beside thinking.",
      example: 40
    }),
    metadata: nullable(
      object({
        user_id: nullable(Schema.String, {
          description: "A name of yours for the end user; no secret.",
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
  "MessagesRequest"
)
export type MessagesRequest = typeof CreateMessage.Type

export const CountMessageTokens = object(inputFields, "CountTokensRequest")
export type CountRequest = typeof CountMessageTokens.Type

export const CountReply = Schema.Struct({
  input_tokens: said(Schema.Int, "What the same request would report as `usage.input_tokens`.", 14)
}).annotate({ identifier: "CountTokensReply" })

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
          description:
            "The native messages format. Replies carry x-gateway-served-model, x-gateway-served-by, x-gateway-served-level and, when a thinking request was adjusted, x-gateway-thinking-adjusted."
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
