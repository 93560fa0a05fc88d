/** Reading JSON of which nothing is known. */
import { Result, type Schema } from "effect"
import type { GatewayError } from "../model/GatewayError.ts"
import { parseExact } from "./exact.ts"
import { upstreamFailure } from "./failure.ts"

export type Json = Schema.Json
export type JsonObject = Schema.JsonObject

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const nothing: JsonObject = Object.freeze({})
const none: ReadonlyArray<Json> = Object.freeze([])

/** The object at hand, or an empty one: for reading optional fields of nested objects. */
export const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : nothing)
export const arrayOf = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : none)
export const textOf = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined)
export const numberOf = (value: Json | undefined): number | undefined => (typeof value === "number" ? value : undefined)

/** An object without the keys whose value is `undefined`: an absent field is never sent as null. */
export const compact = (fields: { readonly [key: string]: Json | undefined }): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, Json] => entry[1] !== undefined))

/** Levels of nesting that are taken in tool arguments and results: printing JSON recurses, and must not run out of stack. */
const maxNesting = 500

/** Whether a value can be printed safely. Iterative, linear in its size. */
export const isShallow = (value: Json | undefined): boolean => {
  let level: ReadonlyArray<Json | undefined> = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxNesting) return false
    level = level.flatMap((item) => (typeof item === "object" && item !== null ? Object.values(item) : []))
  }
  return true
}

/** An object from JSON text that a caller sent; undefined where it is none, or nested too deep. */
export const parseObject = (text: string): JsonObject | undefined => {
  const parsed = Result.try(() => parseExact(text) as Json)
  return Result.isSuccess(parsed) && isObject(parsed.success) && isShallow(parsed.success) ? parsed.success : undefined
}

/**
 * One upstream event as an object; anything else is the upstream's fault. Exact where a tool's arguments come parsed and
 * not as text.
 */
export const parseEvent = (data: string, exact = false): Result.Result<JsonObject, GatewayError> => {
  const parsed = Result.try(() => (exact ? parseExact(data) : JSON.parse(data)) as Json)
  return Result.isSuccess(parsed) && isObject(parsed.success)
    ? Result.succeed(parsed.success)
    : Result.fail(upstreamFailure("the model's cloud sent an event that is not a JSON object", "event"))
}
