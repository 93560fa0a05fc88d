/** What the messages endpoint answers: the message, and the events of its stream (docs/api.md#messages-stream). */
import { Schema } from "effect"
import { maybe, object, ParsedJson, said } from "./fields.ts"
import { Governance } from "./Governance.ts"
import { eventKinds, kind, kinds, oneOf } from "./kinds.ts"
import { redactedThinkingBlock, thinkingBlock } from "./MessagesContent.ts"

const count = (description: string) => maybe(Schema.Int, description)
const MessageUsage = object(
  {
    input_tokens: count("Tokens of the request, without cached ones."),
    output_tokens: said(Schema.Int, "Tokens of the reply.", 17),
    cache_creation_input_tokens: count("Tokens that were written to the cache."),
    cache_read_input_tokens: count("Tokens that were read from the cache.")
  },
  "MessageUsage"
)

const ContentBlock = kinds(
  [
    kind(
      "text",
      {
        text: said(Schema.String, "The text.", "FedRAMP High is the strictest baseline."),
        citations: maybe(ParsedJson)
      },
      "TextBlock"
    ),
    kind(
      "tool_use",
      {
        id: said(Schema.String, "What a tool_result names to answer this call.", "toolu_01"),
        name: said(Schema.String, "The tool to call.", "get_weather"),
        input: Schema.Record(Schema.String, ParsedJson).annotate({ description: "The arguments." })
      },
      "ToolUseBlock"
    ),
    thinkingBlock,
    redactedThinkingBlock
  ],
  { identifier: "ContentBlock" }
)

const StopReason = oneOf(
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded"
)

export const Message = object(
  {
    id: Schema.String,
    type: Schema.Literal("message"),
    role: Schema.Literal("assistant"),
    content: Schema.Array(ContentBlock),
    model: said(Schema.String, "The base model, without the level.", "claude-sonnet-4-5"),
    stop_reason: Schema.NullOr(StopReason).annotate({ description: "Why the reply ended; null while it streams." }),
    stop_sequence: maybe(Schema.String, "The stop sequence that ended it."),
    usage: MessageUsage,
    x_gateway_governance: Schema.optionalKey(Governance)
  },
  "Message"
).annotate({
  examples: [
    {
      id: "msg_01",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5",
      content: [{ type: "text", text: "FedRAMP High is the strictest of the three FedRAMP baselines." }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 14, output_tokens: 17 }
    }
  ]
})
export type Message = typeof Message.Type

const Delta = kinds(
  [
    kind("text_delta", { text: Schema.String }),
    kind("input_json_delta", { partial_json: said(Schema.String, "A piece of the JSON of a tool's input.", '{"ci') }),
    kind("thinking_delta", { thinking: Schema.String }),
    kind("signature_delta", { signature: Schema.String }),
    kind("citations_delta", { citation: ParsedJson })
  ],
  { identifier: "ContentBlockDelta" }
)

export const MessagesEvent = eventKinds({
  message_start: { message: Message },
  content_block_start: { index: Schema.Int, content_block: ContentBlock },
  content_block_delta: { index: Schema.Int, delta: Delta },
  content_block_stop: { index: Schema.Int },
  message_delta: {
    delta: object({ stop_reason: maybe(StopReason), stop_sequence: maybe(Schema.String) }),
    usage: MessageUsage
  },
  message_stop: {},
  gateway_governance: { x_gateway_governance: Governance },
  ping: {},
  error: { error: object({ type: Schema.String, message: Schema.String }) }
})
