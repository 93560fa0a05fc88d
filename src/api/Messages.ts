/** `POST /v1/messages` and `/v1/messages/count_tokens`: the native messages format (docs/api.md#messages). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { MessagesErrors } from "./Errors.ts"
import { Facts } from "./facts.ts"
import { ModelField, more, notAnObject, nullable, ParsedJson, PositiveInt, rest } from "./fields.ts"
import { Governance } from "./Governance.ts"
import { MessagesKey } from "./Security.ts"

const shared = {
  model: ModelField,
  messages: Schema.Array(ParsedJson).check(Schema.isMinLength(1, { message: "at least one message" })),
  stream: nullable(Schema.Boolean)
}

/** The gateway validates three fields; everything else passes through to the model's own API. */
export const MessagesRequest = Schema.StructWithRest(
  Schema.Struct({ ...shared, max_tokens: PositiveInt }),
  rest
).annotate({ identifier: "MessagesRequest", message: notAnObject })
export type MessagesRequest = typeof MessagesRequest.Type

/** `max_tokens` is optional and ignored here. */
export const CountRequest = Schema.StructWithRest(Schema.Struct(shared), rest).annotate({
  identifier: "CountTokensRequest",
  message: notAnObject
})
export type CountRequest = typeof CountRequest.Type

export const CountReply = Schema.Struct({ input_tokens: Schema.Int }).annotate({ identifier: "CountTokensReply" })

const MessageUsage = Schema.StructWithRest(
  Schema.Struct({ input_tokens: Schema.optionalKey(Schema.NullOr(Schema.Int)), output_tokens: Schema.Int }),
  more
)

export const Message = Schema.StructWithRest(
  Schema.Struct({
    id: Schema.String,
    type: Schema.Literal("message"),
    role: Schema.Literal("assistant"),
    content: Schema.Array(Schema.StructWithRest(Schema.Struct({ type: Schema.String }), more)),
    model: Schema.String.annotate({ description: "The base model, without the level." }),
    stop_reason: Schema.NullOr(Schema.String),
    stop_sequence: nullable(Schema.String),
    usage: MessageUsage,
    x_gateway_governance: Schema.optionalKey(Governance)
  }),
  more
).annotate({ identifier: "Message" })
export type Message = typeof Message.Type

const event = <N extends string, F extends Schema.Struct.Fields>(name: N, fields: F) =>
  Schema.Struct({
    event: Schema.Literal(name),
    data: Schema.fromJsonString(Schema.StructWithRest(Schema.Struct({ type: Schema.Literal(name), ...fields }), more))
  })
const Typed = Schema.StructWithRest(Schema.Struct({ type: Schema.String }), more)

export const MessagesEvent = Schema.Union([
  event("message_start", { message: Message }),
  event("content_block_start", { index: Schema.Int, content_block: Typed }),
  event("content_block_delta", { index: Schema.Int, delta: Typed }),
  event("content_block_stop", { index: Schema.Int }),
  event("message_delta", {
    delta: Schema.StructWithRest(
      Schema.Struct({ stop_reason: nullable(Schema.String), stop_sequence: nullable(Schema.String) }),
      more
    ),
    usage: MessageUsage
  }),
  event("message_stop", {}),
  event("gateway_governance", { x_gateway_governance: Governance }),
  event("ping", {}),
  event("error", { error: Schema.StructWithRest(Schema.Struct({ type: Schema.String, message: Schema.String }), more) })
])

export class MessagesGroup extends HttpApiGroup.make("messages")
  .add(
    HttpApiEndpoint.post("create", "/v1/messages", {
      payload: MessagesRequest,
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
      payload: CountRequest,
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
