/** The contents of a request to Gemini: what their parts may hold, and how calls, responses and signatures follow each other. */
import { check, Refusal } from "../http.ts"
import { type JsonObject, objectOf, objectsOf, stringOf } from "../json.ts"
import { decodeBase64, sniff } from "../media.ts"
import type { GeminiModel } from "../models.ts"
import { all, type Shape } from "../shape.ts"
import { isSigned } from "../signature.ts"
import { closed, fields, holds, list, struct, text } from "./shape.ts"

/** The documented values that stand for a missing signature. */
const SKIP = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"]

/** What a thought signature is made over: a function's name, or `text`. */
export const signed = (model: GeminiModel, what: string): string => `gemini:${model.base}:${what}`

/** What a function may be called. */
export const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/

const media: Shape = all(closed(fields("mimeType data displayName")), (value, path) => {
  const { data, mimeType } = objectOf(value)
  const type = stringOf(mimeType)
  const bytes = decodeBase64(stringOf(data))
  if (bytes === undefined) {
    throw new Refusal(400, `Invalid value at '${path}.data' (TYPE_BYTES), Base64 decoding failed`)
  }
  check(
    /^(?:image\/(?:png|jpeg|webp|gif)|application\/pdf)$/.test(type),
    `Unable to submit request because it has a mimeType parameter with value ${type}, which is not supported.`
  )
  check(
    sniff(bytes) === type,
    type === "application/pdf"
      ? "The document has no pages."
      : "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"
  )
})

const call = all(
  closed({ ...fields("id name"), args: struct }),
  holds(
    (value) => NAME.test(stringOf(objectOf(value).name)),
    (path) => `Invalid function name at '${path}.name'. Must start with a letter or an underscore.`
  )
)

const response = all(closed(fields("id name response")), (value, path) =>
  struct(objectOf(value).response, `${path}.response`)
)

const DATA = ["text", "inlineData", "functionCall", "functionResponse"]

const partOf = (model: GeminiModel): Shape =>
  all(
    closed({
      ...fields("thought thoughtSignature"),
      text,
      inlineData: media,
      functionCall: call,
      functionResponse: response
    }),
    holds(
      (part) => DATA.filter((name) => objectOf(part)[name] !== undefined).length === 1,
      (path) => `${path}.data: required oneof field 'data' must have one initialized field`
    ),
    (part) => {
      const { text, thoughtSignature: signature } = objectOf(part)
      if (text === undefined) return
      check(
        text !== "" || signature !== undefined,
        "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again."
      )
      const valid = signature === undefined || isSigned(signed(model, "text"), stringOf(signature))
      check(valid, "Thought signature is not valid.")
    }
  )

/** The contents, each for itself. */
export const contentsOf = (model: GeminiModel): Shape => list(closed({ ...fields("role"), parts: list(partOf(model)) }))

/** The parts of a content. */
export const partsOf = (content: JsonObject | undefined): ReadonlyArray<JsonObject> => objectsOf(content?.parts)

const callsIn = (content: JsonObject | undefined): ReadonlyArray<JsonObject> =>
  partsOf(content).filter((part) => part.functionCall !== undefined)

/** The parts that answer function calls. */
export const resultsIn = (content: JsonObject | undefined): ReadonlyArray<JsonObject> =>
  partsOf(content).filter((part) => part.functionResponse !== undefined)

/** The name in a `functionCall` or `functionResponse` part. */
export const nameOf = (part: JsonObject, field: string): string => stringOf(objectOf(part[field]).name)

const checkSignatures = (contents: ReadonlyArray<JsonObject>, model: GeminiModel): void => {
  // Only the current turn is held to it: what came after the last message that is the user's own.
  const start = contents.findLastIndex((content) => content.role !== "model" && resultsIn(content).length === 0)
  for (const [index, content] of contents.entries()) {
    const calls = callsIn(content)
    for (const [at, part] of calls.entries()) {
      const name = nameOf(part, "functionCall")
      const signature = part.thoughtSignature
      check(
        signature !== undefined || at > 0 || index < start,
        `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${index + 1}.`
      )
      const value = stringOf(signature)
      check(
        signature === undefined || SKIP.includes(value) || isSigned(signed(model, name), value),
        "Thought signature is not valid."
      )
    }
  }
}

/** Checks the contents together, as Vertex AI does: roles, function calls with their responses and signatures. */
export const checkContents = (contents: ReadonlyArray<JsonObject>, model: GeminiModel): void => {
  check(contents.length > 0, "Unable to submit request because at least one contents field is required.")
  for (const [index, content] of contents.entries()) {
    const role = content.role ?? (contents.length === 1 ? "user" : undefined)
    check(role === "user" || role === "model", "Please use a valid role: user, model.")
    const before = contents[index - 1]
    check(
      // The user may speak right after the function responses, which have the same role.
      before === undefined ? role === "user" : before.role !== role || resultsIn(before).length > 0,
      "Please ensure that multiturn requests alternate between user and model."
    )
    const parts = partsOf(content)
    check(
      parts.length > 0,
      "Unable to submit request because it must include at least one parts field, which describes the prompt input."
    )
    for (const part of parts) {
      check(
        part.functionCall === undefined || role === "model",
        "Please ensure that function call parts are in a model turn."
      )
      check(
        part.functionResponse === undefined || role === "user",
        "Please ensure that function response parts are in a user turn."
      )
    }
    const asked = callsIn(before)
    const answered = resultsIn(content)
    check(
      asked.length > 0 || answered.length === 0,
      "Please ensure that function response turn comes immediately after a function call turn."
    )
    check(
      asked.length === answered.length,
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
    )
    const names = asked.map((part) => nameOf(part, "functionCall"))
    check(
      answered.every((part) => names.includes(nameOf(part, "functionResponse"))),
      "Please ensure that function response names match the function calls."
    )
  }
  check(
    contents.at(-1)?.role !== "model",
    "Please ensure that multiturn requests end with a user role or a function response."
  )
  checkSignatures(contents, model)
}

/** The text of a content, without thoughts. */
export const textsIn = (content: JsonObject | undefined): string =>
  partsOf(content)
    .filter((part) => part.thought !== true)
    .map((part) => stringOf(part.text))
    .filter((text) => text !== "")
    .join("\n")
