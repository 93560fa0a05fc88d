/** Replies whose parsing would hold up other requests are parsed in slices (docs/decisions.md#work-in-slices). */
import { Effect } from "effect"
import { writtenNumberOf } from "../wire/exactNumber.ts"
import { isObject, type JsonObject, maxNesting, readExactObject, readObject, readWrittenObject } from "../wire/json.ts"
import { Parse } from "../wire/parse.ts"
import { inTurns } from "../wire/turns.ts"

/** Up to this many bytes the engine's own parser is faster, and takes at most some 20 ms. */
const largeBytes = 2 * 1024 * 1024

export const isLargeReply = (bytes: number): boolean => bytes > largeBytes

/** Names in replies that call tools with JSON values, which are printed again. */
const inputs = ['"input"', '"functionCall"']
const hasInput = (reply: string | Buffer): boolean => inputs.some((name) => reply.includes(name))

const typed = '"float":'
/**
 * The text of a vector that is said only once: Titan repeats its numbers by type, in the same words, and to parse them takes most
 * of the time of an embedding. Slices are compared as bytes; `startsWith` takes each character by itself.
 */
const unrepeated = (text: string): string => {
  const begin = text.indexOf("[")
  const end = text.indexOf("]", begin) + 1
  const again = text.indexOf(typed, end) + typed.length
  const rest = again + end - begin
  return begin < 0 || again < end || text.slice(again, rest) !== text.slice(begin, end)
    ? text
    : `${text.slice(0, again)}[]${text.slice(rest)}`
}

/**
 * The object that a reply is, exactly, and as it was written where it calls tools; undefined where it is none. Numbers of
 * vectors are as good as JavaScript's, and looking at each would take longer than parsing them.
 */
export const readReplyObject = (text: string, vectors = false): JsonObject | undefined =>
  vectors
    ? (readObject(unrepeated(text)) ?? readObject(text))
    : hasInput(text)
      ? readWrittenObject(text)
      : readExactObject(text)

/** The same in slices. */
export const readLargeReply = (bytes: Buffer): Effect.Effect<JsonObject | undefined> =>
  Effect.suspend(() => {
    const parse = new Parse(bytes, {
      budget: { tokens: Number.POSITIVE_INFINITY },
      depth: maxNesting,
      fields: Number.POSITIVE_INFINITY,
      ...(hasInput(bytes) ? { numberOf: writtenNumberOf } : {})
    })
    return Effect.map(inTurns(parse.step), () => {
      // What a request may not hold, such as a name of a thousand bytes, a reply may.
      if (parse.refusal !== undefined)
        return parse.refusal.kind === "syntax" ? undefined : readReplyObject(bytes.toString("utf8"))
      return isObject(parse.value) ? parse.value : undefined
    })
  })
