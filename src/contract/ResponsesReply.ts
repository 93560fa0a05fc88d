/** What the responses endpoint answers: the response, and the events of its stream (docs/api.md#responses-stream). */
import { Schema } from "effect"
import { answer, described, int, maybe, named, object, ParsedJson, string } from "./fields.ts"
import { advisories } from "./Governance.ts"
import { eventKinds, kind, kinds, oneOf } from "./kinds.ts"
import { customCall, functionCall, localCalls, reasoning } from "./ResponsesInput.ts"

const Status = oneOf("completed", "failed", "in_progress", "cancelled", "queued", "incomplete")

const said = [
  kind("output_text", {
    text: string("The text.", "FedRAMP High is the strictest baseline."),
    annotations: maybe(Schema.Array(ParsedJson), "Sources that the model names."),
    logprobs: maybe(Schema.Array(ParsedJson), "One entry for each token, where `include` asked for them.")
  }).annotate(named("OutputText", "A text.")),
  kind("refusal", { refusal: string("Why the model did not answer.", "I cannot help with that.") })
] as const

const OutputContent = kinds(said).annotate(named("OutputContent", "A part of a message."))
const StreamedContent = kinds([
  ...said,
  kind("reasoning_text", { text: string("What the model thought.", "Three baselines exist.") })
]).annotate(named("StreamedContent", "A part of a message, or of reasoning."))

const OutputItem = kinds([
  kind("message", {
    id: string("The item's ID.", "msg_01"),
    role: Schema.Literal("assistant"),
    content: described(Schema.Array(OutputContent), "The parts of the message."),
    status: maybe(Status, "How far the item is.")
  }).annotate(named("OutputMessage", "What the model says.")),
  functionCall,
  customCall,
  reasoning,
  ...localCalls
]).annotate(named("OutputItem", "An item of the reply."))

const ResponseUsage = object({
  input_tokens: int("Tokens of the request, cached ones included.", 14),
  output_tokens: int("Tokens of the reply, reasoning included.", 17),
  total_tokens: int("Their sum.", 31),
  input_tokens_details: maybe(
    object({ cached_tokens: maybe(Schema.Int, "Tokens that came from the cloud's cache.") }),
    "How many tokens of the request came from a cache."
  ),
  output_tokens_details: maybe(
    object({ reasoning_tokens: maybe(Schema.Int, "Tokens that the model thought with.") }),
    "How many tokens of the reply were reasoning."
  )
}).annotate(named("ResponseUsage", "Tokens of the request and of the reply."))

export const ResponseObject = object({
  id: string("The response's ID. Nothing is stored under it.", "resp_01"),
  object: Schema.Literal("response"),
  created_at: described(Schema.Finite, "When it was made, in seconds since 1970.", 1_767_225_600),
  status: maybe(Status, "Whether the reply is complete, or how it ended."),
  model: string("The cloud's name of the model.", "gpt-5.1"),
  output: described(Schema.Array(OutputItem), "The items of the reply: reasoning, messages, tool calls."),
  usage: maybe(ResponseUsage, "Absent while the reply streams."),
  error: maybe(
    object({
      code: maybe(Schema.String, "For programs: the kind of error."),
      message: maybe(Schema.String, "For people: what went wrong.")
    }),
    "Why it failed."
  ),
  incomplete_details: maybe(
    object({ reason: maybe(oneOf("max_output_tokens", "content_filter"), "What ended it early.") }),
    "Why it is incomplete."
  ),
  ...advisories
}).annotate(
  named("ResponseObject", "A whole reply: what the cloud answered, with the gateway's flag where there is one.", {
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
        content: [{ type: "output_text", text: answer, annotations: [] }]
      }
    ],
    usage: { input_tokens: 14, output_tokens: 17, total_tokens: 31 }
  })
)
export type ResponseObject = typeof ResponseObject.Type

const order = { sequence_number: maybe(Schema.Int, "The event's place in the stream, from 0.") }
const whole = { response: ResponseObject, ...order }
const output_index = int("Which item of `output`, from 0.", 0)
const ofItem = { output_index, item_id: maybe(Schema.String, "The item's ID."), ...order }
const ofItemWhole = { item: OutputItem, output_index, ...order }
const ofPart = { content_index: int("Which part of the item's `content`, from 0.", 0), ...ofItem }
const ofSummary = { summary_index: int("Which part of the item's `summary`, from 0.", 0), ...ofItem }
const ofCommand = { command_index: int("Which command of the call, from 0.", 0), ...ofItem }
const delta = string("The next piece.", "FedRAMP")
const text = string("The whole text.", "FedRAMP High is the strictest baseline.")
const command = string("The command, as far as it is known.", "ls")
const summaryPart = described(ParsedJson, "The part of the summary.")

export const ResponsesEvent = eventKinds({
  "response.created": ["The stream starts.", whole],
  "response.in_progress": ["The model is at work.", whole],
  "response.queued": ["The request waits at the cloud.", whole],
  "response.completed": ["The reply is complete: the last event.", whole],
  "response.incomplete": ["The reply was ended early: the last event.", whole],
  "response.failed": ["The reply failed: the last event.", whole],
  "response.output_item.added": ["An item starts.", ofItemWhole],
  "response.output_item.done": ["An item is complete.", ofItemWhole],
  "response.content_part.added": ["A part of an item starts.", { part: StreamedContent, ...ofPart }],
  "response.content_part.done": ["A part of an item is complete.", { part: StreamedContent, ...ofPart }],
  "response.output_text.delta": ["A piece of a text.", { delta, ...ofPart }],
  "response.output_text.done": ["A text is complete.", { text, ...ofPart }],
  "response.output_text.annotation.added": [
    "A source that the model names.",
    {
      annotation: described(ParsedJson, "The source."),
      annotation_index: int("Which annotation of the text, from 0.", 0),
      ...ofPart
    }
  ],
  "response.refusal.delta": ["A piece of a refusal.", { delta, ...ofPart }],
  "response.refusal.done": [
    "A refusal is complete.",
    { refusal: string("The whole refusal.", "I cannot help with that."), ...ofPart }
  ],
  "response.function_call_arguments.delta": ["A piece of a call's arguments.", { delta, ...ofItem }],
  "response.function_call_arguments.done": [
    "A call's arguments are complete.",
    { arguments: string("The arguments as JSON text.", '{"city":"Denver"}'), ...ofItem }
  ],
  "response.custom_tool_call_input.delta": ["A piece of a custom tool's input.", { delta, ...ofItem }],
  "response.custom_tool_call_input.done": [
    "A custom tool's input is complete.",
    { input: string("The whole input.", "select 1"), ...ofItem }
  ],
  "response.reasoning_summary_part.added": ["A part of a summary starts.", { part: summaryPart, ...ofSummary }],
  "response.reasoning_summary_part.done": ["A part of a summary is complete.", { part: summaryPart, ...ofSummary }],
  "response.reasoning_summary_text.delta": ["A piece of a summary.", { delta, ...ofSummary }],
  "response.reasoning_summary_text.done": ["A text of a summary is complete.", { text, ...ofSummary }],
  "response.reasoning_text.delta": ["A piece of what the model thinks.", { delta, ...ofPart }],
  "response.reasoning_text.done": ["A thought is complete.", { text, ...ofPart }],
  "response.shell_call_command.added": ["A command of a shell call starts.", { command, ...ofCommand }],
  "response.shell_call_command.delta": ["A piece of a command.", { delta, ...ofCommand }],
  "response.shell_call_command.done": ["A command is complete.", { command, ...ofCommand }],
  error: [
    "A failure after the stream began: its last event.",
    {
      code: maybe(Schema.String, "For programs: the kind of error."),
      message: string("For people: what went wrong.", "the cloud ended its reply early"),
      param: maybe(Schema.String, "The parameter that is to blame, where there is one."),
      error: maybe(
        object({
          type: string("For programs: the kind of error.", "api_error"),
          message: string("For people: what went wrong.", "the cloud ended its reply early")
        }),
        "The same again, where OpenAI's SDK for Python looks for it."
      ),
      ...order
    }
  ]
})
