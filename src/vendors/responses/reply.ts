/** OpenAI's responses API: what is answered as a whole (docs/upstreams.md#responses-api). */
import { Result } from "effect"
import { misshapen, type UpstreamFault } from "../../catalog/UpstreamFault.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import { finishOfBody, makeAnswer, makeCall, newCallId, noUsage, servedOf } from "../answer.ts"
import type { Dialect } from "../Dialect.ts"
import { answerTokens, responsesNames } from "../openaiUsage.ts"
import { responsesFault } from "./faults.ts"

export const reply: Dialect["reply"] = (body, route) => {
  if (body.object !== "response" || !Array.isArray(body.output)) return Result.fail(misshapen)
  const items = body.output.filter(isObject)
  const parts = items.filter(({ type }) => type === "message").map(({ content }) => arrayOf(content).filter(isObject))
  const refusals = parts.flat().flatMap((part) => (part.type === "refusal" ? [textOf(part.refusal) ?? ""] : []))
  const annotations = parts.flat().flatMap(annotationsOf)
  const logprobs = parts.flat().flatMap((part) => arrayOf(part.logprobs))
  return Result.map(finishOf(body), (finishReason) =>
    makeAnswer({
      id: textOf(body.id),
      text: parts
        .map((message) => message.map(textIn).join(""))
        .filter((text) => text !== "")
        .join(between),
      refusal: refusals.length === 0 ? undefined : refusals.join(""),
      toolCalls: items
        .filter(({ type }) => type === "function_call")
        .map((item) => makeCall(idOf(item), textOf(item.name) ?? "", textOf(item.arguments) ?? "")),
      finishReason,
      usage: answerTokens(body.usage, route, responsesNames) ?? noUsage,
      annotations: annotations.length === 0 ? undefined : annotations,
      logprobs: logprobs.length === 0 ? undefined : { content: logprobs, refusal: null },
      served: servedOf(body)
    })
  )
}

/** A model may speak before and after it calls tools; a chat message has one text. */
export const between = "\n\n"

const textIn = (part: JsonObject): string => (part.type === "output_text" ? (textOf(part.text) ?? "") : "")

/** The ID by which a call is answered; the item has another of its own. */
export const idOf = ({ call_id }: JsonObject): string => textOf(call_id) || newCallId()

/** Citations, as chat completions have them: one level deeper. Others point at files, which are not there. */
export const annotationsOf = ({ annotations }: JsonObject): ReadonlyArray<Json> =>
  arrayOf(annotations).flatMap((annotation) => {
    const { type, ...url_citation } = objectOf(annotation)
    return type === "url_citation" ? [{ type, url_citation }] : []
  })

/** What a response's status says: every other than the first two is no answer. */
export const finishOf = (response: JsonObject): Result.Result<FinishReason, UpstreamFault> => {
  switch (response.status) {
    case "completed":
      return finishOfBody(response.status, response)
    case "incomplete":
      return finishOfBody(textOf(objectOf(response.incomplete_details).reason), response)
    case "failed":
      return Result.fail(responsesFault(objectOf(response.error)))
    default:
      return Result.fail(misshapen)
  }
}
