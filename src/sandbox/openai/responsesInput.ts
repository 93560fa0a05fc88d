/** What the input of a Responses request may be, and what it costs. */
import { isObject, type Json, type JsonObject, listOf, objectOf, stringOf } from "../json.ts"
import { mediaTokens, resultText } from "../media.ts"
import type { GptModel } from "../models.ts"
import { isSigned } from "../signature.ts"
import { countTokens } from "../tokens.ts"
import { anything, closed, free, list, never, type Shape, text, textOr, variant } from "./shape.ts"
import { imageOf, insist, OpenAiRefusal } from "./shared.ts"

/** What `encrypted_content` is made over. */
export const ENCRYPTED = "responses reasoning"

/** The type of an item; one without is a message. */
export const typeOf = (item: JsonObject): string => stringOf(item.type ?? "message")

/** The parts of a message's content. */
export const partsOf = (content: Json | undefined): ReadonlyArray<JsonObject> =>
  typeof content === "string" ? [{ type: "input_text", text: content }] : listOf(content).filter(isObject)

/** The text of a message. */
export const textIn = (item: JsonObject | undefined): string =>
  partsOf(item?.content)
    .map((part) => stringOf(part.text))
    .filter((text) => text !== "")
    .join("\n")

/** Where calls of each type say what is asked. */
const asked: Readonly<Record<string, string>> = {
  function_call: "arguments",
  custom_tool_call: "input",
  local_shell_call: "action",
  shell_call: "action",
  apply_patch_call: "operation"
}

/** Whether an item is a tool call. */
export const isCall = (item: JsonObject): boolean => Object.hasOwn(asked, typeOf(item))
/** Whether an item is a tool's result. */
export const isOutput = (item: JsonObject): boolean =>
  typeOf(item).endsWith("_output") && Object.hasOwn(asked, typeOf(item).slice(0, -"_output".length))

const stored: Shape = (item, path) => {
  const { id, encrypted_content: secret } = objectOf(item)
  if (secret === undefined || secret === null) {
    const message = `Item with id '${stringOf(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
    throw new OpenAiRefusal(message, path, undefined, 404)
  }
  insist(
    isSigned(ENCRYPTED, stringOf(secret)),
    `The encrypted content for item ${stringOf(id)} could not be verified.`,
    path,
    "invalid_encrypted_content"
  )
}

/** Many take an item's ID for its `call_id`; the API tells them apart. */
const idOf =
  (prefix: string): Shape =>
  (id, path) =>
    insist(
      stringOf(id).startsWith(prefix),
      `Invalid '${path}': '${stringOf(id)}'. Expected an ID that begins with '${prefix}'.`,
      path,
      "invalid_value"
    )

const callId: Shape = (id, path) => {
  const { length } = stringOf(id)
  insist(
    length <= 64,
    `Invalid '${path}': string too long. Expected a string with maximum length 64, but got a string with length ${length} instead.`,
    path,
    "string_above_max_length"
  )
}

const inputOf = (model: GptModel): Shape => {
  const item = (prefix: string, fields: Readonly<Record<string, Shape>>) =>
    closed({ ...free("type", "status"), id: idOf(prefix), ...fields })
  const output = (prefix: string) => item(prefix, { call_id: callId, ...free("output", "max_output_length") })
  const named = { call_id: callId, ...free("name", "namespace") }
  const image: Shape = (part, path) => imageOf(stringOf(objectOf(part).image_url), `${path}.image_url`, model)
  const message = (parts: Readonly<Record<string, Shape>>) =>
    item("msg", { ...free("role", "phase"), "content!": textOr(variant("type", parts)) })
  const input = message({
    input_text: anything,
    input_image: image,
    input_file: never("This model does not support file content types.", "unsupported_content_type")
  })
  const answer = message({ output_text: anything, refusal: anything })
  const messages = variant("role", { user: input, assistant: answer, system: input, developer: input })
  const secrets = item("rs", free("summary", "content", "encrypted_content"))
  const shapes: Readonly<Record<string, Shape>> = {
    message: messages,
    reasoning: (value, path) => {
      secrets(value, path)
      stored(value, "input")
    },
    function_call: item("fc", { ...named, "arguments!": text }),
    function_call_output: output("fc"),
    custom_tool_call: item("ctc", { ...named, "input!": text }),
    custom_tool_call_output: output("ctc"),
    local_shell_call: item("lsh", { call_id: callId, "action!": anything }),
    local_shell_call_output: output(""),
    shell_call: item("sh", { call_id: callId, "action!": anything }),
    shell_call_output: output(""),
    apply_patch_call: item("apc", { call_id: callId, "operation!": anything }),
    apply_patch_call_output: output("")
  }
  return list(variant("type", shapes, "message"), { filled: true })
}

/** Checks the input as the clouds do: messages, calls with their outputs, reasoning items. */
export const checkInput = (items: ReadonlyArray<JsonObject>, model: GptModel): void => {
  inputOf(model)(items, "input")
  const calls = new Set<string>()
  const outputs = new Set<string>()
  for (const item of items) {
    const id = stringOf(item.call_id)
    if (isCall(item)) calls.add(id)
    if (!isOutput(item)) continue
    insist(calls.has(id), `No tool call found for function call output with call_id ${id}.`, "input")
    outputs.add(id)
  }
  const missing = [...calls].find((id) => !outputs.has(id))
  insist(missing === undefined, `No tool output found for function call ${missing}.`, "input")
}

const said = (value: Json | undefined): string => (typeof value === "string" ? value : JSON.stringify(value ?? ""))

/** What an item costs in prompt tokens. */
export const itemTokens = (item: JsonObject): number =>
  partsOf(item.content).reduce((sum, part) => {
    const url = stringOf(part.image_url)
    return sum + countTokens(stringOf(part.text)) + (url === "" ? 0 : mediaTokens(url.length * 0.75))
  }, 4) +
  (isCall(item) ? countTokens(`${stringOf(item.name)} ${said(item[asked[typeOf(item)] ?? ""])}`) : 0) +
  (isOutput(item) ? countTokens(resultText(item.output)) : 0)
