/**
 * `cache_control` of a messages request itself: the vendor's own API marks the last block that can be cached. The clouds refuse the
 * field, so the block is marked here (docs/upstreams.md#automatic-caching).
 */
import { type Adjusted, removed } from "../vendors/adjustments.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf } from "../wire/json.ts"

/** The most marks of one request. */
const maxMarks = 4

/** Blocks that take no mark: thinking, and a text of nothing. */
const takesMark = ({ text, type }: JsonObject): boolean =>
  type !== "thinking" && type !== "redacted_thinking" && !(type === "text" && text === "")

const blocksOf = (content: Json | undefined): ReadonlyArray<Json> =>
  typeof content === "string" ? [{ type: "text", text: content }] : arrayOf(content)

const isMarked = (holder: Json): boolean => isObject(objectOf(holder).cache_control ?? null)

const marksIn = (holders: ReadonlyArray<Json>): number => {
  let marks = 0
  for (const holder of holders) {
    if (isMarked(holder)) marks++
    marks += marksIn(arrayOf(objectOf(holder).content))
  }
  return marks
}

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

/** `adjusted` takes what became of the field. */
export const cacheLastBlock = (body: JsonObject, adjusted: Adjusted): JsonObject => {
  const { cache_control: mark, ...rest } = body
  if (mark === undefined) return body
  if (!isObject(mark)) return mark === null ? rest : body
  const messages = arrayOf(rest.messages)
  const room = marksIn([...arrayOf(rest.tools), ...arrayOf(rest.system), ...messages]) < maxMarks
  const marked = room ? markLast(messages, mark) : undefined
  adjusted.add(marked === undefined ? removed("cache_control") : "cache_control:request->block")
  return marked === undefined ? rest : { ...rest, messages: marked }
}
