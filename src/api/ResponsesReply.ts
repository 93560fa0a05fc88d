/** What the responses endpoint answers: the response, and the events of its stream (docs/api.md#responses-stream). */
import { Schema } from "effect"
import { maybe, object, ParsedJson, said } from "./fields.ts"
import { Governance } from "./Governance.ts"
import { eventKinds, kind, kinds, oneOf } from "./kinds.ts"
import { customCall, functionCall, localCalls, reasoning } from "./ResponsesInput.ts"

const Status = oneOf("completed", "failed", "in_progress", "cancelled", "queued", "incomplete")

const OutputContent = kinds(
  [
    kind(
      "output_text",
      {
        text: said(Schema.String, "The text.", "FedRAMP High is the strictest baseline."),
        annotations: maybe(Schema.Array(ParsedJson)),
        logprobs: maybe(Schema.Array(ParsedJson))
      },
      "OutputText"
    ),
    kind("refusal", { refusal: said(Schema.String, "Why the model did not answer.", "I cannot help with that.") }),
    kind("reasoning_text", { text: Schema.String })
  ],
  { identifier: "OutputContent" }
)

const OutputItem = kinds(
  [
    kind(
      "message",
      {
        id: Schema.String,
        role: Schema.Literal("assistant"),
        content: Schema.Array(OutputContent),
        status: maybe(Status)
      },
      "OutputMessage"
    ),
    functionCall,
    customCall,
    reasoning,
    ...localCalls
  ],
  { identifier: "OutputItem" }
)

const ResponseUsage = object(
  {
    input_tokens: said(Schema.Int, "Tokens of the request, cached ones included.", 14),
    output_tokens: said(Schema.Int, "Tokens of the reply, reasoning included.", 17),
    total_tokens: said(Schema.Int, "Their sum.", 31),
    input_tokens_details: maybe(object({ cached_tokens: maybe(Schema.Int) }), "Which of them came from the cache."),
    output_tokens_details: maybe(object({ reasoning_tokens: maybe(Schema.Int) }), "Which of them were reasoning.")
  },
  "ResponseUsage"
)

export const ResponseObject = object(
  {
    id: Schema.String,
    object: Schema.Literal("response"),
    created_at: said(Schema.Finite, "Seconds since 1970.", 1_767_225_600),
    status: maybe(Status, "How far the reply is, and how it ended."),
    model: said(Schema.String, "The cloud's name of the model.", "gpt-5.1"),
    output: Schema.Array(OutputItem),
    usage: maybe(ResponseUsage, "Absent while the reply streams."),
    error: maybe(object({ code: maybe(Schema.String), message: maybe(Schema.String) }), "Why it failed."),
    incomplete_details: maybe(
      object({ reason: maybe(oneOf("max_output_tokens", "content_filter")) }),
      "Why it is incomplete."
    ),
    x_gateway_governance: Schema.optionalKey(Governance)
  },
  "Response"
).annotate({
  examples: [
    {
      id: "resp_01",
      object: "response",
      created_at: 1_767_225_600,
      status: "completed",
      model: "gpt-5.1",
      output: [
        {
          type: "message",
          id: "msg_01",
          role: "assistant",
          content: [
            {
              type: "output_text",
              text: "FedRAMP High is the strictest of the three FedRAMP baselines.",
              annotations: []
            }
          ]
        }
      ],
      usage: { input_tokens: 14, output_tokens: 17, total_tokens: 31 }
    }
  ]
})
export type ResponseObject = typeof ResponseObject.Type

const order = { sequence_number: maybe(Schema.Int, "The event's place in the stream.") }
const whole = { response: ResponseObject, ...order }
const ofItem = { output_index: Schema.Int, item_id: maybe(Schema.String), ...order }
const ofItemWhole = { item: OutputItem, output_index: Schema.Int, ...order }
const ofPart = { content_index: Schema.Int, ...ofItem }
const ofSummary = { summary_index: Schema.Int, ...ofItem }
const text = Schema.String

/** `response.completed`, `.incomplete` and `.failed` end the stream, and so does `error`. */
export const ResponsesEvent = eventKinds({
  "response.created": whole,
  "response.in_progress": whole,
  "response.queued": whole,
  "response.completed": whole,
  "response.incomplete": whole,
  "response.failed": whole,
  "response.output_item.added": ofItemWhole,
  "response.output_item.done": ofItemWhole,
  "response.content_part.added": { part: OutputContent, ...ofPart },
  "response.content_part.done": { part: OutputContent, ...ofPart },
  "response.output_text.delta": { delta: text, ...ofPart },
  "response.output_text.done": { text, ...ofPart },
  "response.output_text.annotation.added": { annotation: ParsedJson, annotation_index: Schema.Int, ...ofPart },
  "response.refusal.delta": { delta: text, ...ofPart },
  "response.refusal.done": { refusal: text, ...ofPart },
  "response.function_call_arguments.delta": { delta: text, ...ofItem },
  "response.function_call_arguments.done": { arguments: text, ...ofItem },
  "response.custom_tool_call_input.delta": { delta: text, ...ofItem },
  "response.custom_tool_call_input.done": { input: text, ...ofItem },
  "response.reasoning_summary_part.added": { part: ParsedJson, ...ofSummary },
  "response.reasoning_summary_part.done": { part: ParsedJson, ...ofSummary },
  "response.reasoning_summary_text.delta": { delta: text, ...ofSummary },
  "response.reasoning_summary_text.done": { text, ...ofSummary },
  "response.reasoning_text.delta": { delta: text, ...ofPart },
  "response.reasoning_text.done": { text, ...ofPart },
  "response.shell_call_command.added": { command: text, command_index: Schema.Int, ...ofItem },
  "response.shell_call_command.delta": { delta: text, command_index: Schema.Int, ...ofItem },
  "response.shell_call_command.done": { command: text, command_index: Schema.Int, ...ofItem },
  error: { code: maybe(Schema.String), message: Schema.String, param: maybe(Schema.String), ...order }
})
