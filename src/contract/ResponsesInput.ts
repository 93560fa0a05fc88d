/** Items of the responses format, as callers send them (docs/api.md#responses). Images and files come inline. */
import { Schema } from "effect"
import { described, either, named, nullable, object, ParsedJson, refused, string } from "./fields.ts"
import { kind, kinds, oneOf } from "./kinds.ts"

const id = { id: nullable(Schema.String, "The item's ID, as a reply gave it.", "msg_01") }
const status = nullable(
  oneOf("in_progress", "completed", "incomplete"),
  "How far the item is, as a reply gave it.",
  "completed"
)
const callId = string("The call's ID, which the output names.", "call_1")
const answers = string("The `call_id` of the call that this answers.", "call_1")

const kept = "not available, because nothing is stored; send the data inline"

const inputText = kind("input_text", { text: string("The text.", "What is in this picture?") }).annotate(
  named("InputText", "A text.")
)
const inputImage = kind("input_image", {
  file_id: refused(kept),
  image_url: string(
    "A data URI of type image/jpeg, image/png, image/gif or image/webp; URLs and file IDs are refused.",
    "data:image/png;base64,iVBORw0KGgo="
  ),
  detail: nullable(oneOf("low", "high", "auto", "original"), "How closely the model looks.", "low", {
    default: "auto"
  })
}).annotate(named("InputImage", "An image, inline."))
const inputFile = kind("input_file", {
  file_url: refused("not available, URLs are not fetched; send the data inline, as file_data"),
  file_id: refused(kept),
  filename: nullable(Schema.String, "The file's name.", "report.pdf"),
  file_data: string(
    "A data URI of type application/pdf; URLs and file IDs are refused.",
    "data:application/pdf;base64,JVBERi0xLjcK"
  )
}).annotate(named("InputFile", "A PDF, inline."))
const saidBefore = [
  kind("output_text", { text: string("What the model said.", "It is a chart.") }),
  kind("refusal", { refusal: string("Why the model did not answer.", "I cannot help with that.") })
] as const

const InputContent = kinds([inputText, inputImage, inputFile, ...saidBefore]).annotate(
  named("InputContent", "A part of a message.")
)
const output = either(Schema.String, Schema.Array(kinds([inputText, inputImage, inputFile]))).annotate({
  description: "What the tool answered.",
  examples: ["21 °C"]
})

const message = object({
  type: nullable(Schema.Literal("message"), "May be left out.", "message", {
    default: "message",
    message: "must be the type of an item, such as message, function_call or function_call_output"
  }),
  role: described(Schema.Literals(["user", "assistant", "system", "developer"]), "Who speaks.", "user").annotateKey({
    messageMissingKey: "is required in a message; every other item has a type"
  }),
  content: either(Schema.String, Schema.Array(InputContent)).annotate({
    description: "A text, or parts.",
    examples: ["What is FedRAMP High?"]
  }),
  ...id,
  status
}).annotate(named("InputMessage", "A message of the conversation."))

export const functionCall = kind("function_call", {
  call_id: callId,
  name: string("The function to call.", "get_weather"),
  arguments: string("The arguments as JSON text, which may not be valid.", '{"city":"Denver"}'),
  ...id,
  status
}).annotate(named("FunctionCall", "A function that the model wants called."))
export const customCall = kind("custom_tool_call", {
  call_id: callId,
  name: string("The tool to call.", "run_sql"),
  input: string("What the model wrote for it.", "select 1"),
  ...id
}).annotate(named("CustomToolCall", "A custom tool that the model wants called."))
const summaryText = object({
  type: Schema.Literal("summary_text"),
  text: string("A part of it.", "Three baselines exist.")
})
export const reasoning = kind("reasoning", {
  summary: described(Schema.Array(summaryText), "What the model thought, in short.", []),
  content: nullable(
    Schema.Array(object({ type: Schema.Literal("reasoning_text"), text: string("A part of it.", "Three.") })),
    "What the model thought, where it says so."
  ),
  ...id,
  status
}).annotate(
  named(
    "ReasoningItem",
    "What the model thought. Its encrypted content never leaves the cloud, so it is left out of an input."
  )
)
const action = (example: Schema.Json) => described(ParsedJson, "What to run, as the model wrote it.", example)
/** Calls of tools whose definition is the vendor's, and which the caller executes. */
export const localCalls = [
  kind("local_shell_call", {
    call_id: callId,
    action: action({ type: "exec", command: ["ls"], env: {} }),
    ...id
  }).annotate(named("LocalShellCall", "A command for the caller's shell.")),
  kind("shell_call", { call_id: callId, action: action({ commands: ["ls"] }), ...id }).annotate(
    named("ShellCall", "Commands for the caller's shell.")
  ),
  kind("apply_patch_call", {
    call_id: callId,
    operation: described(ParsedJson, "The file and its patch, as the model wrote them.", {
      type: "update_file",
      path: "notes.txt",
      diff: "@@\n-old\n+new"
    }),
    ...id
  }).annotate(named("ApplyPatchCall", "A change of a file, for the caller to make."))
] as const

const reference = object({
  id: string("The item's ID.", "msg_01"),
  type: refused("an item that has no content has no type"),
  role: refused("an item that has no content has no role")
}).annotate(named("ItemReference", "Refused: items cannot be referred to, because nothing is stored."))

export const InputItem = kinds([
  functionCall,
  kind("function_call_output", { call_id: answers, output, ...id, status }).annotate(
    named("FunctionCallOutput", "What a function answered.")
  ),
  customCall,
  kind("custom_tool_call_output", { call_id: answers, output, ...id }).annotate(
    named("CustomToolCallOutput", "What a custom tool answered.")
  ),
  reasoning,
  ...localCalls,
  kind("local_shell_call_output", { output: string("What the shell printed.", "ok") }),
  kind("shell_call_output", {
    call_id: answers,
    output: described(ParsedJson, "What the commands printed, one entry each.", [
      { stdout: "notes.txt", stderr: "", outcome: { type: "exit", exit_code: 0 } }
    ])
  }),
  kind("apply_patch_call_output", {
    call_id: answers,
    status: nullable(oneOf("completed", "failed"), "Whether the patch was applied.", "completed"),
    output: nullable(Schema.String, "What happened.", "applied")
  }),
  // Last, because it needs no type: what is wrong with another item is said of that.
  message,
  reference
]).annotate(named("InputItem", "An item of the conversation."))
