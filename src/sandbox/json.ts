/** JSON as it is sent, read without trust. */
import * as wire from "../wire/json.ts"
import { isShallow } from "../wire/parse.ts"

export * from "../wire/json.ts"
export { parseObject } from "../wire/parse.ts"

/** The object of a text; undefined for anything else, and for one nested too deep to be printed. */
export const readObject = (text: string): wire.JsonObject | undefined => {
  const value = wire.readObject(text)
  return isShallow(value) ? value : undefined
}

export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "")

export const parseBody = (body: Buffer): wire.JsonObject | undefined => readObject(body.toString())

/** A value within a message. A template would call an object's own `toString`. */
export const printed = (value: unknown): string => (typeof value === "string" ? value : String(JSON.stringify(value)))
