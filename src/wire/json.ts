/**
 * JSON of which nothing is known: parsed exactly where it matters, and read without surprises. Numbers that JavaScript cannot hold
 * keep their text: IDs of 64 bits are common in arguments of tools.
 */
import { Result, type Schema } from "effect"
import { isObject as isAnyObject, isRaw, readObject as readAnyObject } from "./isObject.ts"
import { hasNumberedKey, put } from "./keyOrder.ts"
import { parseInSlices } from "./parseInSlices.ts"
import { runNow, type Slices, sliceValues } from "./slices.ts"

/** ECMAScript's JSON.rawJSON, which TypeScript's library does not know yet. */
export const rawJson: (text: string) => unknown = Reflect.get(JSON, "rawJSON")

/** Whether printing the number would say another one: integers beyond 2^53, and what is beyond the range. */
const isInexact = (value: number): boolean =>
  !Number.isSafeInteger(value) && (Number.isInteger(value) || !Number.isFinite(value))

/** The number that a text is, or the text where JavaScript would print another one. */
export const writtenNumberOf = (text: string): unknown => {
  const value = Number(text)
  return String(value) === text ? value : rawJson(text)
}

/** The number that a text is, or the text. */
export const exactNumberOf = (text: string): unknown => {
  const value = Number(text)
  return isInexact(value) ? rawJson(text) : value
}

/** JavaScript's number for one that stands as it was written, where it can hold it; any other value as it is. */
export const plainNumber = <Value>(value: Value): Value =>
  typeof value === "object" && value !== null && isRaw(value) ? (exactNumberOf(value.rawJSON) as Value) : value

/** The same of every field of an object, and not of what these hold. */
export const plainFields = <Value>(fields: { readonly [name: string]: Value }): { readonly [name: string]: Value } =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plainNumber(value)]))

export type Json = Schema.Json
export type JsonObject = Schema.JsonObject

export const isObject = isAnyObject<Json>

const nothing: JsonObject = Object.freeze({})
const none: ReadonlyArray<Json> = Object.freeze([])

/** The object at hand, or an empty one: for reading optional fields of nested objects. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : nothing)
export const arrayOf = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value : none)
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
export const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

/** An object without the keys whose value is `undefined`: an absent field is never sent as null. */
export const compact = (fields: { readonly [key: string]: Json | undefined }): JsonObject => {
  const kept: { [key: string]: Json } = {}
  for (const key of Object.keys(fields)) {
    const value = fields[key]
    if (value !== undefined) put(kept, key, value)
  }
  return kept
}

/** The fields that say something, of those that are kept: neither null nor absent. */
export const omitNull = (
  fields: { readonly [key: string]: Json | undefined },
  keeps: (key: string) => boolean = () => true
): { [key: string]: Json } => {
  const kept: { [key: string]: Json } = {}
  for (const key of Object.keys(fields)) {
    const value = fields[key]
    if (value !== undefined && value !== null && keeps(key)) put(kept, key, value)
  }
  return kept
}

/** Levels of nesting that are taken in tool arguments and results: printing JSON recurses, and must not run out of stack. */
export const maxNesting = 500

/** Whether a value can be printed safely. Iterative, linear in its size. */
export function* isShallowInSlices(value: Json | undefined): Slices<boolean> {
  let level: Array<unknown> = [value]
  let count = 0
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxNesting) return false
    const next: Array<unknown> = []
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue
      for (const inner of Array.isArray(item) ? item : Object.values(item)) {
        next.push(inner)
        if (++count % sliceValues === 0) yield
      }
    }
    level = next
  }
  return true
}

/** The same in one go. */
export const isShallow = (value: Json | undefined): boolean => runNow(isShallowInSlices(value))

/** Reads numbers from their text. */
const reviver =
  (numberOf: (text: string) => unknown) =>
  (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === "number" && context?.source !== undefined ? numberOf(context.source) : value

/**
 * What a number outside strings may look like that JavaScript cannot hold. Strings may look so too, which costs time and
 * nothing else; IDs in hexadecimal, which most replies have, do not. Found by its first digit, because prose has few.
 */
const unusualNumber = /\d(?<=(?:^|[[,:\s-])\d)(?:\d{15}|\d*(?:\.\d+)?[eE])/

/** With the order of its keys, where the engine's parser would change it; undefined for a text that the engine reads as it is. */
const parseInOrder = (text: string, numberOf: (text: string) => unknown): unknown => {
  if (!hasNumberedKey(text)) return undefined
  const budget = { tokens: Number.POSITIVE_INFINITY }
  const options = { budget, depth: maxNesting, fields: Number.POSITIVE_INFINITY, numberOf }
  return Result.getOrUndefined(runNow(parseInSlices(Buffer.from(text), options)))
}

/** By the engine's parser, for texts without keys that are numbers. */
export const engineExact = (text: string): unknown =>
  unusualNumber.test(text) ? JSON.parse(text, reviver(exactNumberOf)) : JSON.parse(text)

/**
 * Parses JSON; throws where it is none. Numbers that JavaScript cannot hold stay as they were written: IDs of 64 bits are
 * common in tools' arguments. So does the order of keys.
 */
export const parseExact = (text: string): unknown => parseInOrder(text, exactNumberOf) ?? engineExact(text)

export const readObject: (text: string, parse?: (text: string) => unknown) => JsonObject | undefined =
  readAnyObject<Json>

/** The same with the numbers that JavaScript cannot hold as they were written. */
export const readExactObject = (text: string): JsonObject | undefined => readObject(text, parseExact)

/**
 * What a number outside strings may look like that JavaScript would print otherwise than it was written: `1.0`, `1e3`, `-0`, less than
 * a millionth, or more than 15 digits. Strings look so where they hold JSON; prose and most code do not.
 */
const reprinted =
  /\d(?<=(?:^|[[,]|"\s*:)\s*-?\d)(?:(?<=-0)(?=[,\s\]}]|$)|\.0{6}|[\d.]{15}|\d*(?:\.\d*0(?!\d)|(?:\.\d+)?[eE]))/

/** By the engine's parser, too. */
export const engineWritten = (text: string): unknown =>
  reprinted.test(text) ? JSON.parse(text, reviver(writtenNumberOf)) : JSON.parse(text)

/**
 * Parses JSON; throws where it is none. Every number keeps its text, for what is printed again. Such numbers are no JavaScript
 * numbers any more: counts, which are plain integers, are.
 */
export const parseWritten = (text: string): unknown => parseInOrder(text, writtenNumberOf) ?? engineWritten(text)

/** The same of an object; undefined where the text is none. */
export const readWrittenObject = (text: string): JsonObject | undefined => readObject(text, parseWritten)

/** The same of a text of a caller: undefined, too, where it is nested too deep to be printed. */
export const parseObject = (text: string): JsonObject | undefined => {
  const value = readWrittenObject(text)
  return value !== undefined && isShallow(value) ? value : undefined
}
