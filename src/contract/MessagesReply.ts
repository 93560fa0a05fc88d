/** What the messages endpoints answer: the message, the events of its stream (docs/api.md#messages-stream), and a count. */
import { Schema } from "effect"
import { StreamedDetail } from "./Errors.ts"
import { answer, described, int, maybe, named, object, ParsedJson, string } from "./fields.ts"
import { advisories, Governance, GuardAction, guardActions } from "./Governance.ts"
import { eventKinds, kind, kinds, oneOf } from "./kinds.ts"
import { redactedThinkingBlock, thinkingBlock } from "./MessagesContent.ts"

const count = (description: string) => maybe(Schema.Int, description)
const MessageUsage = object({
  input_tokens: count("Tokens of the request, without cached ones."),
  output_tokens: int("Tokens of the reply, thinking included.", 17),
  cache_creation_input_tokens: count("Tokens that were written to the cache."),
  cache_read_input_tokens: count("Tokens that were read from the cache.")
}).annotate(named("MessageUsage", "Tokens of the request and of the reply."))

const ContentBlock = kinds([
  kind("text", {
    text: string("The text.", "FedRAMP High is the strictest baseline."),
    citations: maybe(ParsedJson, "What the text rests on, where documents allow citations.")
  }).annotate(named("TextBlock", "A text.")),
  kind("tool_use", {
    id: string("The call's ID, which the `tool_result` names.", "toolu_01"),
    name: string("The tool to call.", "get_weather"),
    input: Schema.Record(Schema.String, ParsedJson).annotate({ description: "The arguments." })
  }).annotate(named("ToolUseBlock", "A tool that the model wants called.")),
  thinkingBlock,
  redactedThinkingBlock
]).annotate(named("ContentBlock", "A block of the reply."))

const StopReason = oneOf(
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded"
)

export const Message = object({
  id: string("The message's ID.", "msg_01"),
  type: Schema.Literal("message"),
  role: Schema.Literal("assistant"),
  content: described(Schema.Array(ContentBlock), "The blocks of the reply: thinking, text, tool calls."),
  model: string("The base model, without the level.", "claude-sonnet-4-5"),
  stop_reason: Schema.NullOr(StopReason).annotate({
    description: "Why the reply ended; null at the start of a stream."
  }),
  stop_sequence: maybe(Schema.String, "The stop sequence that ended it."),
  usage: MessageUsage,
  ...advisories
}).annotate(
  named("Message", "A whole reply.", {
    id: "msg_01",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [{ type: "text", text: answer }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 14, output_tokens: 17 }
  })
)
export type Message = typeof Message.Type

const Delta = kinds([
  kind("text_delta", { text: string("The next piece of the text.", "FedRAMP") }),
  kind("input_json_delta", { partial_json: string("The next piece of the JSON text of a tool's input.", '{"ci') }),
  kind("thinking_delta", { thinking: string("The next piece of the thinking.", "Three") }),
  kind("signature_delta", { signature: string("The signature of a thinking block.", "EqQBCgIYAhIM") }),
  kind("citations_delta", { citation: described(ParsedJson, "One citation more.") })
]).annotate(named("ContentBlockDelta", "What is added to a block."))

const index = int("Which block of `content`, from 0.", 0)

export const MessagesEvent = eventKinds({
  message_start: ["The reply starts: a message without content.", { message: Message }],
  content_block_start: ["A block starts, with nothing in it yet.", { index, content_block: ContentBlock }],
  content_block_delta: ["A piece of a block.", { index, delta: Delta }],
  content_block_stop: ["A block is complete.", { index }],
  message_delta: [
    "The reply ends: why, and its usage.",
    {
      delta: object({
        stop_reason: maybe(StopReason, "Why the reply ended."),
        stop_sequence: maybe(Schema.String, "The stop sequence that ended it.")
      }).annotate({ description: "What is now known of the message." }),
      usage: MessageUsage
    }
  ],
  message_stop: ["The reply is complete.", {}],
  gateway_governance: [
    "After `message_stop`, only where a tool call names an outbound destination.",
    { x_gateway_governance: Governance }
  ],
  gateway_guards: [
    "After `message_stop`, only where a guard of the operator's flagged, redacted or blocked something.",
    { x_gateway_guards: described(Schema.Array(GuardAction), "What the guards did.") }
  ],
  ping: ["Nothing: it keeps the connection open.", {}],
  error: ["A failure after the stream began: its last event.", { error: StreamedDetail }]
})

export const CountReply = Schema.Struct({
  input_tokens: int("What the same request would report as `usage.input_tokens`.", 14),
  ...guardActions
}).annotate(named("CountTokensReply", "The count.", { input_tokens: 14 }))
