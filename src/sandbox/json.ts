/** JSON as it is sent, read without trust. */
import { setImmediate as nextTurn } from "node:timers/promises"
import { isObject, type JsonObject, readObject } from "../wire/json.ts"
import { Parse } from "../wire/parse.ts"

export * from "../wire/json.ts"

/** The value as a string, or an empty one. */
export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "")

const ahead = new WeakMap<Buffer, unknown>()

/** Bodies above this many bytes are parsed ahead, a slice in a turn, because the gateway that is asked runs in the same process. */
const largeBytes = 256 * 1024

export const parseAhead = async (body: Buffer): Promise<void> => {
  if (body.length <= largeBytes) return
  const none = Number.POSITIVE_INFINITY
  const parse = new Parse(body, { budget: { tokens: none }, depth: none, fields: none, numberOf: Number })
  while (!parse.step()) await nextTurn()
  if (parse.refusal === undefined) ahead.set(body, parse.value)
}

/** The object that a body is, which may have been parsed ahead; `undefined` where it is none. */
export const parseBody = (body: Buffer): JsonObject | undefined => {
  const value = ahead.get(body)
  return isObject(value) ? value : readObject(body.toString())
}
