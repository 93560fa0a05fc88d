/** The contents of a request to Gemini: what their parts may hold, and how calls, responses and signatures follow each other. */
import { type Json, stringOf } from "../json.ts"
import { fileOf, sniff } from "../media.ts"
import type { GeminiModel } from "../models.ts"
import { reads } from "../shape.ts"
import { isSigned } from "../signature.ts"
import type { Message, Part } from "../turn.ts"
import { closed, insist, list, struct, text, where } from "./shape.ts"

/** The documented values that stand for a missing signature. */
const SKIP = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"]

/** What a thought signature is made over: a function's name, or `text`. */
export const signed = (model: GeminiModel, what: string): string => `gemini:${model.base}:${what}`

/** What a function may be called. */
export const wellNamed = ({ name }: { readonly name?: Json | undefined }) => ({
  "Invalid function name at '{path}.name'. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 128.":
    /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(stringOf(name))
})

const media = reads(closed("mimeType data displayName"), ({ data, mimeType }, path): Part => {
  const type = stringOf(mimeType)
  const { valid, length, type: found } = sniff(data)
  insist({ "Invalid value at '{path}.data' (TYPE_BYTES), Base64 decoding failed": valid }, path)
  insist({
    [`Unable to submit request because it has a mimeType parameter with value ${type}, which is not supported.`]:
      /^(?:image\/(?:png|jpeg|webp|gif)|application\/pdf)$/.test(type),
    "The document has no pages.": type !== "application/pdf" || found === type,
    "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting":
      found === type
  })
  return fileOf(type, length)
})

const part = (model: GeminiModel) =>
  where(
    closed("thought thoughtSignature", {
      text,
      inlineData: media,
      functionCall: where(closed("id name", { args: struct }), wellNamed),
      functionResponse: reads(closed("id name response"), ({ name, response }, path) => ({
        name,
        response: struct(response, `${path}.response`)
      }))
    }),
    ({ text, inlineData, functionCall, functionResponse, thoughtSignature: signature }) => ({
      "{path}.data: required oneof field 'data' must have one initialized field":
        [text, inlineData, functionCall, functionResponse].filter((data) => data !== undefined).length === 1,
      "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again.":
        text !== "" || signature !== undefined,
      "Thought signature is not valid.":
        text === undefined || signature === undefined || isSigned(signed(model, "text"), stringOf(signature))
    })
  )

/** A content, for itself. */
export const contentOf = (model: GeminiModel) => closed("role", { parts: list(part(model)) })

type Content = ReturnType<ReturnType<typeof contentOf>>

const callsIn = ({ parts = [] }: Content) => parts.filter(({ functionCall }) => functionCall !== undefined)
const responsesIn = ({ parts = [] }: Content) => parts.filter((part) => part.functionResponse !== undefined)

const checkSignatures = (contents: ReadonlyArray<Content>, model: GeminiModel): void => {
  // Only the current turn is held to it: what came after the last message that is the user's own.
  const start = contents.findLastIndex((content) => content.role !== "model" && responsesIn(content).length === 0)
  for (const [index, content] of contents.entries()) {
    for (const [at, { functionCall, thoughtSignature: signature }] of callsIn(content).entries()) {
      const name = stringOf(functionCall?.name)
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

/** Checks the contents together, as Vertex AI does: roles, function calls with their responses and signatures. */
export const checkContents = (contents: ReadonlyArray<Content>, model: GeminiModel): void => {
  insist({ "Unable to submit request because at least one contents field is required.": contents.length > 0 })
  for (const [index, content] of contents.entries()) {
    const role = content.role ?? (contents.length === 1 ? "user" : undefined)
    const before = contents[index - 1]
    const calls = callsIn(content)
    const answers = responsesIn(content)
    const asked = before === undefined ? [] : callsIn(before)
    const names = asked.map(({ functionCall }) => functionCall?.name)
    insist({
      "Please use a valid role: user, model.": role === "user" || role === "model",
      "Please ensure that multiturn requests alternate between user and model.":
        // The user may speak right after the function responses, which have the same role.
        before === undefined ? role === "user" : before.role !== role || responsesIn(before).length > 0,
      "Unable to submit request because it must include at least one parts field, which describes the prompt input.":
        content.parts !== undefined && content.parts.length > 0,
      "Please ensure that function call parts are in a model turn.": role === "model" || calls.length === 0,
      "Please ensure that function response parts are in a user turn.": role === "user" || answers.length === 0,
      "Please ensure that function response turn comes immediately after a function call turn.":
        asked.length > 0 || answers.length === 0,
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.":
        asked.length === answers.length,
      "Please ensure that function response names match the function calls.": answers.every(({ functionResponse }) =>
        names.includes(functionResponse?.name)
      )
    })
  }
  insist({
    "Please ensure that multiturn requests end with a user role or a function response.":
      contents.at(-1)?.role !== "model"
  })
  checkSignatures(contents, model)
}

/** A content in no vendor's words; calls and responses find each other by their names. */
export const messageOf = ({ role, parts = [] }: Content): Message => ({
  role: role === "model" ? "assistant" : "user",
  parts: parts.map(({ text, thought, inlineData, functionCall: call, functionResponse: response }): Part => {
    if (inlineData !== undefined) return inlineData
    if (response !== undefined) return { result: { id: stringOf(response.name), content: response.response } }
    if (call === undefined) return text === undefined || thought === true ? { thought: true } : { text }
    const name = stringOf(call.name)
    return { call: { id: name, name, json: JSON.stringify(call.args ?? {}) } }
  })
})
