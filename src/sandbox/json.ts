/** JSON as it is sent, read without trust. */
import * as wire from "../wire/json.ts"

export * from "../wire/json.ts"

/** The object that a text is; undefined where it is none, or is nested too deep to be printed. */
export const readObject = (text: string): wire.JsonObject | undefined => {
  const value = wire.readObject(text)
  return wire.isShallow(value) ? value : undefined
}

/** The value as a string, or an empty one. */
export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** The object that a body is; `undefined` where it is none. */
export const parseBody = (body: Buffer): wire.JsonObject | undefined => readObject(body.toString())

/** A value within a message. A template would call what an object has by the name of `toString`. */
export const printed = (value: unknown): string => (typeof value === "string" ? value : String(JSON.stringify(value)))
