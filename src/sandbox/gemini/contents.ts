/**
 * The contents of a Gemini request: their parts, and the checks that span them, with the shapes and the refusals of Google's JSON
 * parser.
 */
import { invalid } from "../http.ts"
import { isObject, type Json, objectOf, stringOf } from "../json.ts"
import { fileOf, sniff } from "../media.ts"
import type { GeminiModel } from "../models.ts"
import { type Shape, shapesIn } from "../shape.ts"
import { isSigned } from "../signature.ts"
import type { Message, Part } from "../turn.ts"

/** The message for a missing field too: the only required field is a function's name. */
const misnamed =
  "Invalid function name at '{path}'. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 128."

export const { closed, list, insist, where, typed } = shapesIn({
  name: (field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  item: (path, index) => `${path}[${index}]`,
  unknown: (path, name) => {
    const at = path === "" ? "" : ` at '${path}'`
    return invalid(`Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`)
  },
  missing: misnamed,
  noObject: "Invalid value at '{path}'",
  noList: "Invalid value at '{path}'",
  refused: (_, message) => invalid(message)
})
export const text: Shape<string> = typed(
  (value) => typeof value === "string",
  "Invalid value at '{path}' (TYPE_STRING)"
)
export const struct = typed(isObject, "Invalid value at '{path}' (type.googleapis.com/google.protobuf.Struct)")
export const functionName = where(stringOf, (name) => /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name), misnamed)

/** The documented values that stand for a missing signature. */
const SKIP = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"]

/** The text that a thought signature signs. `what`: a function's name, or `text`. */
export const signed = (model: GeminiModel, what: string): string => `gemini:${model.base}:${what}`

const media = closed("mimeType data displayName", {}, ({ data, mimeType }, path): Part => {
  const type = stringOf(mimeType)
  const { valid, length, type: found } = sniff(data)
  const rules = {
    "Invalid value at '{path}.data' (TYPE_BYTES), Base64 decoding failed": valid,
    [`Unable to submit request because it has a mimeType parameter with value ${type}, which is not supported.`]:
      /^(?:image\/(?:png|jpeg|webp|gif)|application\/pdf)$/.test(type),
    "The document has no pages.": type !== "application/pdf" || found === type,
    "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting":
      found === type
  }
  insist(rules, path)
  return fileOf(type, length)
})

/** Names of media parts that a result refers to; the sandbox takes no such parts. */
const referencesIn = (value: Json | undefined): ReadonlyArray<string> =>
  Array.isArray(value)
    ? value.flatMap(referencesIn)
    : Object.entries(objectOf(value)).flatMap(([key, inner]) =>
        key === "$ref" ? [stringOf(inner)] : referencesIn(inner)
      )

const called = { "name!": functionName, args: struct }

/** A part; calls and responses match by their names. */
const partOf = (model: GeminiModel) => {
  const fields = {
    text,
    inlineData: media,
    functionCall: closed("id", called, ({ name, args = {} }) => ({ id: name, name, json: JSON.stringify(args) })),
    functionResponse: closed("id name response", {}, ({ name, response }, path) => {
      const content = struct(response, `${path}.response`)
      const [named] = referencesIn(content)
      const undefinedName = `The referenced name \`${named}\` in function_response.response does not match to a display_name in the function_response.parts.`
      insist({ [undefinedName]: named === undefined })
      return { id: stringOf(name), content }
    })
  }
  return closed("thought thoughtSignature", fields, (part, path): Part & { readonly signature?: Json | undefined } => {
    const { text, thought, inlineData: file, functionCall: call, functionResponse: result } = part
    const signature = part.thoughtSignature
    const rules = {
      "{path}.data: required oneof field 'data' must have one initialized field":
        [text, file, call, result].filter((data) => data !== undefined).length === 1,
      "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again.":
        text !== "" || signature !== undefined,
      "Thought signature is not valid.":
        text === undefined || signature === undefined || isSigned(signed(model, "text"), stringOf(signature))
    }
    insist(rules, path)
    if (call !== undefined) return { call, signature }
    if (result !== undefined) return { result }
    return file ?? (text === undefined || thought === true ? { thought: true } : { text })
  })
}

export const contentOf = (model: GeminiModel) =>
  closed("role", { parts: list(partOf(model)) }, ({ role, parts = [] }) => ({ role, parts }))

type Content = ReturnType<ReturnType<typeof contentOf>>

const callsIn = (content: Content | undefined) => (content?.parts ?? []).filter(({ call }) => call !== undefined)
const resultsIn = ({ parts }: Content) => parts.flatMap(({ result }) => result ?? [])

/** Checks that span contents: roles, function calls with their responses and signatures. */
export const checkContents = (contents: ReadonlyArray<Content>, model: GeminiModel): void => {
  insist({ "Unable to submit request because at least one contents field is required.": contents.length > 0 })
  for (const [index, content] of contents.entries()) {
    const role = content.role ?? (contents.length === 1 ? "user" : undefined)
    const before = contents[index - 1]
    const asked = callsIn(before)
    const names = new Set(asked.map(({ call }) => call?.name))
    const results = resultsIn(content)
    insist({
      "Please use a valid role: user, model.": role === "user" || role === "model",
      "Please ensure that multiturn requests alternate between user and model.":
        // A user's turn may follow function responses, which have the same role.
        before === undefined ? role === "user" : before.role !== role || resultsIn(before).length > 0,
      "Unable to submit request because it must include at least one parts field, which describes the prompt input.":
        content.parts.length > 0,
      "Please ensure that function call parts are in a model turn.": role === "model" || callsIn(content).length === 0,
      "Please ensure that function response parts are in a user turn.": role === "user" || results.length === 0,
      "Please ensure that function response turn comes immediately after a function call turn.":
        asked.length > 0 || results.length === 0,
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.":
        asked.length === results.length,
      "Please ensure that function response names match the function calls.": results.every(({ id }) => names.has(id))
    })
  }
  const ended = contents.at(-1)?.role !== "model"
  insist({ "Please ensure that multiturn requests end with a user role or a function response.": ended })
  // Signatures are required only in the current turn, which begins with the user's last message.
  const start = contents.findLastIndex((content) => content.role !== "model" && resultsIn(content).length === 0)
  for (const [index, content] of contents.entries()) {
    for (const [at, { call, signature }] of callsIn(content).entries()) {
      const name = call?.name ?? ""
      const value = stringOf(signature)
      insist({
        [`Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${index + 1}.`]:
          signature !== undefined || at > 0 || index < start,
        "Thought signature is not valid.":
          signature === undefined || SKIP.includes(value) || isSigned(signed(model, name), value)
      })
    }
  }
}

export const messageOf = ({ role, parts }: Content): Message => ({
  role: role === "model" ? "assistant" : "user",
  parts
})
