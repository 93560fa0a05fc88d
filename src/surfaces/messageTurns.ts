/** The turns of a messages body, as deployments take them. */
import { type Adjusted, isIdle } from "../vendors/adjustments.ts"
import { isThinking, isUnsigned } from "../vendors/claude/order.ts"
import { resultsFirst } from "../vendors/claude/turns.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"

const roleOf = (message: Json | undefined): string | undefined => textOf(objectOf(message).role)

/** The blocks of a message or of `system`. */
export const blocksOf = (content: Json | undefined): ReadonlyArray<Json> =>
  typeof content === "string" ? (content === "" ? [] : [{ type: "text", text: content }]) : arrayOf(content)

const isSystem = (message: Json): boolean => roleOf(message) === "system"

/** A block of a system message, marked as the vendor's clients mark texts that the user did not write. */
const reminder = (block: Json): Json => {
  const text = textOf(objectOf(block).text)
  // A client that knows the model may have marked it.
  if (text === undefined || text.startsWith("<system-reminder>")) return block
  return { ...objectOf(block), text: `<system-reminder>\n${text}\n</system-reminder>` }
}

/** The content with blocks added after its tool results, which must come first. */
const afterResults = (content: Json | undefined, added: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const blocks = blocksOf(content)
  const at = blocks.findLastIndex((block) => objectOf(block).type === "tool_result") + 1
  return [...blocks.slice(0, at), ...added, ...blocks.slice(at)]
}

/**
 * Each run of system messages goes to the beginning of the user's next turn, or else to the end of the last one. `keeps`: the model takes
 * them after a user's turn, last or before the assistant's (docs/upstreams.md#anthropic-messages). `fold` makes blocks of one.
 */
const foldRuns = (
  messages: ReadonlyArray<Json>,
  keeps: boolean,
  fold: (message: Json) => ReadonlyArray<Json>
): ReadonlyArray<Json> => {
  const turns: Array<Json> = []
  let run: Array<Json> = []
  const place = (next?: Json) => {
    const last = turns.at(-1)
    const stays = keeps && roleOf(last) === "user" && roleOf(next) !== "user"
    const blocks = stays ? [] : run.flatMap(fold)
    if (stays) for (const message of run) turns.push(message)
    run = []
    if (isObject(next) && next.role === "user") {
      turns.push(blocks.length === 0 ? next : { ...next, content: afterResults(next.content, blocks) })
      return
    }
    // A turn without blocks would be refused.
    if (blocks.length > 0) {
      if (isObject(last) && last.role === "user")
        turns[turns.length - 1] = { ...last, content: [...blocksOf(last.content), ...blocks] }
      else turns.push({ role: "user", content: blocks })
    }
    if (next !== undefined) turns.push(next)
  }
  for (const message of messages) {
    if (isSystem(message)) run.push(message)
    else place(message)
  }
  place()
  return turns
}

/**
 * System messages among a conversation's other messages (docs/decisions.md#system-messages-within-a-conversation). Where the model does
 * not take them, those at the beginning become part of `system`, and the text of others goes into the turn beside them, marked as a
 * reminder. `keeps`: the model takes some. `adjusted` gets that something was folded, and the fields that were lost.
 */
export const foldSystem = (body: JsonObject, keeps: boolean, adjusted: Adjusted): JsonObject => {
  const messages = arrayOf(body.messages)
  if (!messages.some(isSystem)) return body
  const blocksIn = (message: Json, change: string): ReadonlyArray<Json> => {
    adjusted.add(change)
    for (const [name, value] of Object.entries(objectOf(message))) {
      if (name !== "role" && name !== "content" && !isIdle(name, value)) adjusted.removed(`messages.${name}`)
    }
    return blocksOf(objectOf(message).content)
  }
  const first = messages.findIndex((message) => !isSystem(message))
  const [leading, rest] = first < 0 ? [messages, []] : [messages.slice(0, first), messages.slice(first)]
  const [toUser, toFront] = ["messages.role:system->user", "messages:system-first"]
  // A conversation of instructions only becomes the user's turn, because there must be one.
  const system = leading.flatMap((message) => blocksIn(message, first < 0 ? toUser : toFront))
  const turns = foldRuns(rest, keeps, (message) => blocksIn(message, toUser).map(reminder))
  if (turns.length === 0) return { ...body, messages: [{ role: "user", content: system }], system: body.system ?? [] }
  return { ...body, messages: turns, ...(system.length === 0 ? {} : { system: [...blocksOf(body.system), ...system] }) }
}

/** One message of several. Of a field that several have, the first is kept; `adjusted` names the others. */
const joined = (run: ReadonlyArray<JsonObject>, adjusted: Adjusted): JsonObject => {
  const fields: { [key: string]: Json | undefined } = {}
  const blocks: Array<Json> = []
  for (const message of run) {
    for (const block of blocksOf(message.content)) blocks.push(block)
    for (const name of Object.keys(message)) {
      if (!Object.hasOwn(fields, name)) fields[name] = message[name]
      else if (name !== "role" && name !== "content") {
        adjusted.removed(`messages.${name}`)
      }
    }
  }
  return { ...fields, content: fields.role === "user" ? resultsFirst(blocks) : blocks }
}

/**
 * Messages of one role in a row, which some deployments refuse and the vendor's own API takes as one turn
 * (docs/upstreams.md#anthropic-messages), become one message, as on the chat surface. `adjusted` gets that something was merged.
 */
export const mergeTurns = (body: JsonObject, adjusted: Adjusted): JsonObject => {
  const messages = arrayOf(body.messages)
  const runs: Array<Array<Json>> = []
  for (const message of messages) {
    const role = roleOf(message)
    const last = runs.at(-1)
    if (last === undefined || role === undefined || role !== roleOf(last[0])) runs.push([message])
    else last.push(message)
  }
  if (runs.length === messages.length) return body
  adjusted.add("messages:merged")
  return { ...body, messages: runs.flatMap((run) => (run.length === 1 ? run : [joined(run.map(objectOf), adjusted)])) }
}

/**
 * Removes thinking that the vendor refuses (docs/upstreams.md#anthropic-messages), and messages that are then empty: at the end of the
 * assistant's messages, as answers that were cut or refused have it, and all of a message where some has no signature, because without
 * that the others would stand in other places. `adjusted` gets that thinking was removed.
 */
export const withoutRefusedThinking = (body: JsonObject, adjusted: Adjusted): JsonObject => {
  const messages = arrayOf(body.messages)
  let thoughts = 0
  const kept = messages.flatMap((message): ReadonlyArray<Json> => {
    if (!isObject(message) || message.role !== "assistant" || !Array.isArray(message.content)) return [message]
    const blocks = arrayOf(message.content)
    const end = blocks.findLastIndex((block) => !isThinking(objectOf(block))) + 1
    const begun = blocks.slice(0, end)
    const isWhole = !begun.some((block) => isUnsigned(objectOf(block)))
    const content = isWhole ? begun : begun.filter((block) => !isThinking(objectOf(block)))
    thoughts += blocks.length - content.length
    if (content.length === 0) return []
    return [content.length === blocks.length ? message : { ...message, content }]
  })
  if (kept.length === 0 || (thoughts === 0 && kept.length === messages.length)) return body
  if (thoughts > 0) adjusted.removed("messages.content.thinking")
  return { ...body, messages: kept }
}

/** Most marks of the prompt cache in one request. */
const maxMarks = 4

/** Whether a block may have a mark: thinking and empty texts may not. */
const takesMark = (block: JsonObject): boolean => !isThinking(block) && !(block.type === "text" && block.text === "")

const isMarked = (holder: Json): boolean => isObject(objectOf(holder).cache_control)

const marksIn = (holders: ReadonlyArray<Json>): number =>
  holders.filter(isMarked).length +
  holders.reduce<number>((marks, holder) => marks + marksIn(arrayOf(objectOf(holder).content)), 0)

/** The messages with a mark on the last block that takes one; undefined where that one has a mark or there is none. */
const markLast = (messages: ReadonlyArray<Json>, mark: JsonObject): ReadonlyArray<Json> | undefined => {
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = objectOf(messages[at])
    const blocks = blocksOf(message.content)
    const last = blocks.findLastIndex((block) => isObject(block) && takesMark(block))
    if (last < 0) continue
    const block = objectOf(blocks[last])
    if (isMarked(block)) return undefined
    return messages.with(at, { ...message, content: blocks.with(last, { ...block, cache_control: mark }) })
  }
  return undefined
}

/**
 * `cache_control` of a messages request itself: the vendor's own API marks the last block that can be cached. The clouds refuse the
 * field, so the block is marked here (docs/upstreams.md#automatic-caching). `adjusted` gets what became of the field.
 */
export const cacheLastBlock = (body: JsonObject, adjusted: Adjusted): JsonObject => {
  const { cache_control: mark, ...rest } = body
  if (mark === undefined) return body
  if (!isObject(mark)) return mark === null ? rest : body
  const messages = arrayOf(rest.messages)
  const room = marksIn([...arrayOf(rest.tools), ...arrayOf(rest.system), ...messages]) < maxMarks
  const marked = room ? markLast(messages, mark) : undefined
  if (marked === undefined) {
    adjusted.removed("cache_control")
    return rest
  }
  adjusted.changed("cache_control", "request", "block")
  return { ...rest, messages: marked }
}
