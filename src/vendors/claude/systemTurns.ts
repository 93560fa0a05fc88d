/**
 * System messages among a conversation's other messages (docs/decisions.md#system-messages-within-a-conversation). Where the model
 * takes them only at the beginning, their text goes into the turn beside them, marked as what it is.
 */
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../../wire/json.ts"

export interface Folded {
  readonly body: JsonObject
  /** Whether there was anything to fold. */
  readonly folded: boolean
}

const isSystem = (message: Json | undefined): boolean => objectOf(message).role === "system"
const isUser = (message: Json | undefined): boolean => objectOf(message).role === "user"

const blocksOf = (content: Json | undefined): ReadonlyArray<Json> =>
  typeof content === "string" ? [{ type: "text", text: content }] : arrayOf(content)

/** The vendor's clients mark what the user did not say in this way. */
const reminder = (message: Json | undefined): ReadonlyArray<Json> =>
  blocksOf(objectOf(message).content).map((block) => {
    const text = textOf(objectOf(block).text)
    return text === undefined ? block : { ...objectOf(block), text: `<system-reminder>\n${text}\n</system-reminder>` }
  })

/** Results of tools come first in their turn. */
const afterResults = (content: Json | undefined, added: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const blocks = blocksOf(content)
  const at = blocks.findLastIndex((block) => objectOf(block).type === "tool_result") + 1
  return [...blocks.slice(0, at), ...added, ...blocks.slice(at)]
}

/** One pass. Each run of them goes before what the user says next, or else after what the user said last. */
const foldRuns = (messages: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const turns: Array<Json> = []
  let run: Array<Json> | undefined
  const close = () => {
    if (run === undefined) return
    const last = turns.at(-1)
    if (isObject(last) && isUser(last))
      turns[turns.length - 1] = { ...last, content: [...blocksOf(last.content), ...run] }
    else turns.push({ role: "user", content: run })
    run = undefined
  }
  for (const message of messages) {
    if (isSystem(message)) {
      run ??= []
      for (const block of reminder(message)) run.push(block)
    } else if (isObject(message) && isUser(message)) {
      turns.push(
        run === undefined || run.length === 0 ? message : { ...message, content: afterResults(message.content, run) }
      )
      run = undefined
    } else {
      close()
      turns.push(message)
    }
  }
  close()
  return turns
}

/** `keeps`: the model takes them after a user's turn; only those at the beginning become part of `system`. */
export const foldSystem = (body: JsonObject, keeps: boolean): Folded => {
  const messages = arrayOf(body.messages)
  if (!messages.some(isSystem)) return { body, folded: false }
  const first = messages.findIndex((message) => !isSystem(message))
  const leading = first < 0 ? messages : messages.slice(0, first)
  const rest = first < 0 ? [] : messages.slice(first)
  const turns = keeps ? rest : foldRuns(rest)
  const system = leading.flatMap((message) => blocksOf(objectOf(message).content))
  return {
    folded: !keeps || leading.length > 0,
    body: {
      ...body,
      ...(system.length === 0 ? {} : { system: [...blocksOf(body.system), ...system] }),
      // A conversation of instructions only is said by the user, because there must be a turn.
      messages: turns.length === 0 ? [{ role: "user", content: system }] : turns,
      ...(turns.length === 0 ? { system: body.system ?? [] } : {})
    }
  }
}
