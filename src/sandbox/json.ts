/** JSON as it is sent, read without trust. */
import { arrayOf, isObject, type Json, type JsonObject } from "../wire/json.ts"

export { arrayOf as listOf, isObject, type Json, type JsonObject, objectOf } from "../wire/json.ts"

/** The objects of an array; other elements are left out. */
export const objectsOf = (value: Json | undefined): ReadonlyArray<JsonObject> => arrayOf(value).filter(isObject)

/** The value as a string, or an empty one. */
export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** Parses JSON; `undefined` where it is none. */
export const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
