/** `POST /v1/messages` and `/v1/messages/count_tokens` as they are documented (docs/api.md#messages). */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { MessagesErrors } from "./Errors.ts"
import { operation, section } from "./facts.ts"
import { CountRequest, MessagesRequest } from "./Messages.ts"
import { CountReply, Message, MessagesEvent } from "./MessagesReply.ts"
import { MessagesKey } from "./Security.ts"

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

// The middleware is on each endpoint: on the group, TypeScript writes the endpoints' types in an order that changes from build to build.
export class MessagesGroup extends HttpApiGroup.make("messages")
  .add(
    HttpApiEndpoint.post("create", "/v1/messages", {
      payload: MessagesRequest,
      success: [Message, HttpApiSchema.StreamSse({ events: MessagesEvent })],
      error: MessagesErrors
    })
      .middleware(MessagesKey)
      .annotateMerge(
        operation(
          "messages",
          "createMessage",
          "Create a message",
          "The native messages format, for Claude models. Fields that are not listed pass to the model's own API.",
          sample
        )
      ),
    HttpApiEndpoint.post("countTokens", "/v1/messages/count_tokens", {
      payload: CountRequest,
      success: CountReply,
      error: MessagesErrors
    })
      .middleware(MessagesKey)
      .annotateMerge(
        operation(
          "count_tokens",
          "countMessageTokens",
          "Count input tokens",
          "What the identical billed request would report as usage.input_tokens. Free; nothing is generated."
        )
      )
  )
  .annotateMerge(section("Messages", "The Anthropic format, for Claude models.")) {}
