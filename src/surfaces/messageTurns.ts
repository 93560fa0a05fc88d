/**
 * Messages of one role in a row, which some deployments refuse and the vendor's own API takes as one turn
 * (docs/upstreams.md#anthropic-messages): they become one message, as on the chat surface.
 */
import { type Adjusted, removed } from "../vendors/adjustments.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"

const roleOf = (message: Json | undefined): string | undefined => textOf(objectOf(message).role)

const blocksOf = (content: Json | undefined): ReadonlyArray<Json> =>
  typeof content === "string" ? (content === "" ? [] : [{ type: "text", text: content }]) : arrayOf(content)

/** Results of tools come first in their turn. */
const resultsFirst = (blocks: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const isResult = (block: Json) => objectOf(block).type === "tool_result"
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
}

/** One message of several. Of a field that more than one has, the first counts; `adjusted` names the others. */
const joined = (run: ReadonlyArray<JsonObject>, adjusted: Adjusted): JsonObject => {
  const fields: { [key: string]: Json | undefined } = {}
  const blocks: Array<Json> = []
  for (const message of run) {
    for (const block of blocksOf(message.content)) blocks.push(block)
    for (const name of Object.keys(message)) {
      if (!Object.hasOwn(fields, name)) fields[name] = message[name]
      else if (name !== "role" && name !== "content") {
        adjusted.add(removed(`messages.${name}`))
      }
    }
  }
  return { ...fields, content: fields.role === "user" ? resultsFirst(blocks) : blocks }
}

/** `adjusted` takes that something was merged. */
export const mergeTurns = (body: JsonObject, adjusted: Adjusted): JsonObject => {
  const messages = arrayOf(body.messages)
  const follows = (at: number) => at > 0 && isObject(messages[at]) && roleOf(messages[at]) === roleOf(messages[at - 1])
  if (!messages.some((message, at) => roleOf(message) !== undefined && follows(at))) return body
  adjusted.add("messages:merged")
  const turns: Array<Json> = []
  let run: Array<JsonObject> = []
  for (const [at, message] of messages.entries()) {
    if (isObject(message) && roleOf(message) !== undefined) run.push(message)
    else turns.push(message)
    const [first] = run
    if (first === undefined || follows(at + 1)) continue
    turns.push(run.length === 1 ? first : joined(run, adjusted))
    run = []
  }
  return { ...body, messages: turns }
}
