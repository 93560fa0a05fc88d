/** JSON as it is sent, read without trust. */

/** Any JSON value. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject

/** A JSON object; absent keys read as `undefined`. */
export interface JsonObject {
  readonly [key: string]: Json | undefined
}

/** Whether a value is a JSON object (not null, not an array). */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value as an object, or an empty one. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {})

const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** The value as an array, or an empty one. */
export const listOf = (value: Json | undefined): ReadonlyArray<Json> => (isList(value) ? value : [])

/** The objects of an array; other elements are left out. */
export const objectsOf = (value: Json | undefined): ReadonlyArray<JsonObject> => listOf(value).filter(isObject)

/** The value as a string, or an empty one. */
export const stringOf = (value: Json | undefined): string => (typeof value === "string" ? value : "")

/** Parses JSON; `undefined` where it is none. */
export const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
