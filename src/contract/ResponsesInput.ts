/** Items of the responses format, as callers send them (docs/api.md#responses). Images and files come inline. */
import { Schema } from "effect"
import { described, either, nullable, object, ParsedJson, refused } from "./fields.ts"
import { kind, kinds } from "./kinds.ts"

const id = { id: nullable(Schema.String, "The item's ID, as a reply gave it.", "msg_01") }
const status = nullable(
  Schema.Literals(["in_progress", "completed", "incomplete"]),
  "How far the item is, as a reply gave it.",
  "completed"
)
const callId = described(Schema.String, "The call's ID, which the output names.", "call_1")
const answers = described(Schema.String, "The `call_id` of the call that this answers.", "call_1")

const kept = "not available, because nothing is stored; send the data inline"

export const inputText = kind("input_text", {
  text: described(Schema.String, "The text.", "What is in this picture?")
}).annotate({ identifier: "InputText", description: "A text." })
const inputImage = kind("input_image", {
  file_id: refused(kept),
  image_url: described(
    Schema.String,
    "A data URI of type image/jpeg, image/png, image/gif or image/webp; URLs and file IDs are refused.",
    "data:image/png;base64,iVBORw0KGgo="
  ),
  detail: nullable(Schema.Literals(["low", "high", "auto", "original"]), "How closely the model looks.", "low", {
    default: "auto"
  })
}).annotate({ identifier: "InputImage", description: "An image, inline." })
const inputFile = kind("input_file", {
  file_url: refused("not available, URLs are not fetched; send the data inline, as file_data"),
  file_id: refused(kept),
  filename: nullable(Schema.String, "The file's name.", "report.pdf"),
  file_data: described(
    Schema.String,
    "A data URI of type application/pdf; URLs and file IDs are refused.",
    "data:application/pdf;base64,JVBERi0xLjcK"
  )
}).annotate({ identifier: "InputFile", description: "A PDF, inline." })
const saidBefore = [
  kind("output_text", { text: described(Schema.String, "What the model said.", "It is a chart.") }),
  kind("refusal", { refusal: described(Schema.String, "Why the model did not answer.", "I cannot help with that.") })
] as const

const InputContent = kinds([inputText, inputImage, inputFile, ...saidBefore]).annotate({
  identifier: "InputContent",
  description: "A part of a message."
})
const output = either(Schema.String, Schema.Array(kinds([inputText, inputImage, inputFile]))).annotate({
  description: "What the tool answered.",
  examples: ["21 °C"]
})

const message = object({
  type: nullable(Schema.Literal("message"), "May be left out.", "message", { default: "message" }),
  role: described(Schema.Literals(["user", "assistant", "system", "developer"]), "Who speaks.", "user"),
  content: either(Schema.String, Schema.Array(InputContent)).annotate({
    description: "A text, or parts.",
    examples: ["What is FedRAMP High?"]
  }),
  ...id,
  status
}).annotate({ identifier: "InputMessage", description: "A message of the conversation." })

export const functionCall = kind("function_call", {
  call_id: callId,
  name: described(Schema.String, "The function to call.", "get_weather"),
  arguments: described(Schema.String, "The arguments as JSON text, which may not be valid.", '{"city":"Denver"}'),
  ...id,
  status
}).annotate({ identifier: "FunctionCall", description: "A function that the model wants called." })
export const customCall = kind("custom_tool_call", {
  call_id: callId,
  name: described(Schema.String, "The tool to call.", "run_sql"),
  input: described(Schema.String, "What the model wrote for it.", "select 1"),
  ...id
}).annotate({ identifier: "CustomToolCall", description: "A custom tool that the model wants called." })
const summaryText = object({
  type: Schema.Literal("summary_text"),
  text: described(Schema.String, "A part of it.", "Three baselines exist.")
})
export const reasoning = kind("reasoning", {
  summary: described(Schema.Array(summaryText), "What the model thought, in short.", []),
  content: nullable(
    Schema.Array(
      object({ type: Schema.Literal("reasoning_text"), text: described(Schema.String, "A part of it.", "Three.") })
    ),
    "What the model thought, where it says so."
  ),
  ...id,
  status
}).annotate({
  identifier: "ReasoningItem",
  description: "What the model thought. Its encrypted content never leaves the cloud, so it is left out of an input."
})
const action = (example: Schema.Json) => described(ParsedJson, "What to run, as the model wrote it.", example)
/** Calls of tools whose definition is the vendor's, and which the caller executes. */
export const localCalls = [
  kind("local_shell_call", {
    call_id: callId,
    action: action({ type: "exec", command: ["ls"], env: {} }),
    ...id
  }).annotate({ identifier: "LocalShellCall", description: "A command for the caller's shell." }),
  kind("shell_call", { call_id: callId, action: action({ commands: ["ls"] }), ...id }).annotate({
    identifier: "ShellCall",
    description: "Commands for the caller's shell."
  }),
  kind("apply_patch_call", {
    call_id: callId,
    operation: described(ParsedJson, "The file and its patch, as the model wrote them.", {
      type: "update_file",
      path: "notes.txt",
      diff: "@@\n-old\n+new"
    }),
    ...id
  }).annotate({ identifier: "ApplyPatchCall", description: "A change of a file, for the caller to make." })
] as const

const reference = object({
  id: described(Schema.String, "The item's ID.", "msg_01"),
  type: refused("an item that has no content has no type"),
  role: refused("an item that has no content has no role")
}).annotate({
  identifier: "ItemReference",
  description: "Refused: items cannot be referred to, because nothing is stored."
})

export const InputItem = kinds([
  functionCall,
  kind("function_call_output", { call_id: answers, output, ...id, status }).annotate({
    identifier: "FunctionCallOutput",
    description: "What a function answered."
  }),
  customCall,
  kind("custom_tool_call_output", { call_id: answers, output, ...id }).annotate({
    identifier: "CustomToolCallOutput",
    description: "What a custom tool answered."
  }),
  reasoning,
  ...localCalls,
  kind("local_shell_call_output", { output: described(Schema.String, "What the shell printed.", "ok") }),
  kind("shell_call_output", {
    call_id: answers,
    output: described(ParsedJson, "What the commands printed, one entry each.", [
      { stdout: "notes.txt", stderr: "", outcome: { type: "exit", exit_code: 0 } }
    ])
  }),
  kind("apply_patch_call_output", {
    call_id: answers,
    status: nullable(Schema.Literals(["completed", "failed"]), "Whether the patch was applied.", "completed"),
    output: nullable(Schema.String, "What happened.", "applied")
  }),
  // Last, because it needs no type: what is wrong with another item is said of that.
  message,
  reference
]).annotate({ identifier: "InputItem", description: "An item of the conversation." })
