/** JSON as it is sent, read without trust. */
import { type JsonObject, readObject } from "../wire/json.ts"

export * from "../wire/json.ts"

/** The value as a string, or an empty one. */
export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** The object that a body is; `undefined` where it is none. */
export const parseBody = (body: Buffer): JsonObject | undefined => readObject(body.toString())
