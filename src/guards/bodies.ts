/** What guards read of whole requests and replies, and what becomes of those that they block or say something of. */
import type { GuardAction } from "../contract/Governance.ts"
import { arrayOf, compact, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { jsonText } from "../wire/print.ts"
import type { GuardedSurface } from "./places.ts"

const fn = (name: Json | undefined, more: JsonObject): JsonObject => ({
  type: "function",
  function: { name: textOf(name) ?? "", ...more }
})

/** Tool definitions in the format of chat completions, also those that items bring along. What that format has no field for keeps its own. */
export const toolsOf = (surface: GuardedSurface, { input, tools }: JsonObject): ReadonlyArray<JsonObject> => {
  if (surface === "chat") return arrayOf(tools).filter(isObject)
  return [...arrayOf(tools), ...arrayOf(input).flatMap((item) => arrayOf(objectOf(item).tools))]
    .filter(isObject)
    .map(({ input_schema, name, parameters, type, ...others }) => {
      const schemas =
        (parameters ?? undefined) === undefined ? { parameters: input_schema } : { parameters, input_schema }
      return fn(name ?? type, compact({ ...others, ...schemas }))
    })
}

const printed = (value: Json | undefined): string => (typeof value === "string" ? value : jsonText(value ?? {}))

/** Calls of one message, or of the items of a response. */
const callsIn = (items: ReadonlyArray<Json>): ReadonlyArray<JsonObject> =>
  items
    .filter(isObject)
    .flatMap(({ action, arguments: args, call_id, id, input, name, operation, tool_calls, type }) => {
      if (Array.isArray(tool_calls)) return tool_calls.filter(isObject)
      if (!/_use$|_call$/.test(textOf(type) ?? "")) return []
      const callArguments = printed(args ?? input ?? action ?? operation)
      return [{ id: textOf(call_id) ?? textOf(id) ?? "", ...fn(name ?? type, { arguments: callArguments }) }]
    })

/** The calls of a whole reply in the format of chat completions. */
export const callsOf = (surface: GuardedSurface, body: JsonObject): ReadonlyArray<JsonObject> => {
  if (surface === "chat") return callsIn(arrayOf(body.choices).map((choice) => objectOf(objectOf(choice).message)))
  return callsIn(arrayOf(surface === "messages" ? body.content : body.output))
}

/** A whole reply of which nothing may pass, as the surface's own filters end theirs. Its flags would quote it. */
export const withheld = (surface: GuardedSurface, { x_gateway_governance: _, ...body }: JsonObject) => {
  switch (surface) {
    case "messages": {
      const stop = { stop_reason: "refusal", stop_details: null, stop_sequence: null }
      return { body: { ...body, content: [], ...stop }, finishReason: "refusal" }
    }
    case "responses": {
      const details = { incomplete_details: { reason: "content_filter" }, output: [] }
      return { body: { ...body, status: "incomplete", ...details }, finishReason: "incomplete" }
    }
    default: {
      const message = { role: "assistant", content: "", refusal: null }
      const choices = arrayOf(body.choices).map((choice) => ({
        ...objectOf(choice),
        message,
        logprobs: null,
        finish_reason: "content_filter"
      }))
      return { body: { ...body, choices }, finishReason: "content_filter" }
    }
  }
}

/** What guards did, in a body. */
export const withActions = (body: JsonObject, actions: ReadonlyArray<GuardAction>): JsonObject => ({
  ...body,
  x_gateway_guards: actions.map(({ action, categories, guard }) => ({ guard, action, categories }))
})
/** The same in its JSON text. */
export const textWithActions = (text: string, actions: ReadonlyArray<GuardAction>): string =>
  `${text.slice(0, -1)},${JSON.stringify(withActions({}, actions)).slice(1)}`
