import { isObject, type Json, type JsonObject, listOf, stringOf } from "../json.ts"
import { mediaTokens, resultText } from "../media.ts"
import type { GptModel } from "../models.ts"
import { isSigned } from "../signature.ts"
import { countTokens } from "../tokens.ts"
import { imageOf, insist, OpenAiRefusal, onlyParameters } from "./shared.ts"
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

const checkMessage = (item: JsonObject, path: string, model: GptModel): void => {
  const role = stringOf(item.role)
  insist(
    ["user", "assistant", "system", "developer"].includes(role),
    `Invalid value: '${role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`,
    `${path}.role`,
    "invalid_value"
  )
  onlyParameters(item, ["type", "role", "content", "id", "status", "phase"], path)
  insist(
    typeof item.content === "string" || Array.isArray(item.content),
    `Missing required parameter: '${path}.content'.`,
    `${path}.content`,
    "missing_required_parameter"
  )
  for (const [index, part] of partsOf(typeof item.content === "string" ? undefined : item.content).entries()) {
    const type = stringOf(part.type)
    const at = `${path}.content[${index}]`
    const allowed = role === "assistant" ? ["output_text", "refusal"] : ["input_text", "input_image"]
    insist(type !== "input_file", "This model does not support file content types.", at, "unsupported_content_type")
    insist(
      allowed.includes(type),
      `Invalid value: '${type}'. Supported values are: ${allowed.map((one) => `'${one}'`).join(" and ")}.`,
      `${at}.type`,
      "invalid_value"
    )
    if (type === "input_image") imageOf(stringOf(part.image_url), `${at}.image_url`, model)
  }
}

const checkReasoning = (item: JsonObject, path: string): void => {
  onlyParameters(item, ["type", "id", "summary", "content", "encrypted_content", "status"], path)
  const secret = item.encrypted_content
  if (secret === undefined || secret === null) {
    throw new OpenAiRefusal(
      `Item with id '${stringOf(item.id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
      "input",
      undefined,
      404
    )
  }
  insist(
    isSigned(ENCRYPTED, stringOf(secret)),
    `The encrypted content for item ${stringOf(item.id)} could not be verified.`,
    "input",
    "invalid_encrypted_content"
  )
}

const idPrefixes: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fc",
  custom_tool_call: "ctc",
  custom_tool_call_output: "ctc",
  local_shell_call: "lsh",
  shell_call: "sh",
  apply_patch_call: "apc"
}

/** Many take an item's ID for its `call_id`; Azure tells them apart. */
const checkId = (item: JsonObject, path: string): void => {
  const prefix = idPrefixes[typeOf(item)]
  if (prefix === undefined || item.id === undefined || item.id === null) return
  insist(
    stringOf(item.id).startsWith(prefix),
    `Invalid '${path}.id': '${stringOf(item.id)}'. Expected an ID that begins with '${prefix}'.`,
    `${path}.id`,
    "invalid_value"
  )
}

/** Checks the input as Azure does: messages, calls with their outputs, reasoning items. */
export const checkInput = (items: ReadonlyArray<JsonObject>, model: GptModel): void => {
  insist(
    items.length > 0,
    "Invalid 'input': empty array. Expected an array with minimum length 1.",
    "input",
    "empty_array"
  )
  const calls = new Set<string>()
  const outputs = new Set<string>()
  for (const [index, item] of items.entries()) {
    const path = `input[${index}]`
    const id = stringOf(item.call_id)
    insist(
      id.length <= 64,
      `Invalid '${path}.call_id': string too long. Expected a string with maximum length 64, but got a string with length ${id.length} instead.`,
      `${path}.call_id`,
      "string_above_max_length"
    )
    checkId(item, path)
    if (isCall(item)) {
      const field = asked[typeOf(item)] ?? ""
      const named = field === "arguments" || field === "input"
      onlyParameters(item, ["type", "id", "call_id", "status", field, ...(named ? ["name", "namespace"] : [])], path)
      insist(
        named ? typeof item[field] === "string" : isObject(item[field]),
        `Missing required parameter: '${path}.${field}'.`,
        path,
        "missing_required_parameter"
      )
      calls.add(id)
    } else if (isOutput(item)) {
      onlyParameters(item, ["type", "id", "call_id", "output", "status", "max_output_length"], path)
      insist(calls.has(id), `No tool call found for function call output with call_id ${id}.`, "input")
      outputs.add(id)
    } else if (typeOf(item) === "message") checkMessage(item, path, model)
    else if (typeOf(item) === "reasoning") checkReasoning(item, path)
    else throw new OpenAiRefusal(`Invalid value: '${typeOf(item)}'.`, `${path}.type`, "invalid_value")
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
