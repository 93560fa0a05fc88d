/**
 * Reads JSON of unknown shape, and keeps the keys of objects in the order in which they were written. It imports nothing, because the
 * published client loads it without any library.
 */

export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** The text of a value that `JSON.rawJSON` made: a number that JavaScript cannot hold. */
export const isRaw: (value: object) => value is { readonly rawJSON: string } =
  Reflect.get(JSON, "isRawJSON") ?? (() => false)

/** Whether it is an object of JSON; a number that is kept as its text is none. */
export const isObject = <A = Json>(value: unknown): value is Readonly<Record<string, A>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isRaw(value)

/** The object that a text is; undefined where it is none. Numbers are JavaScript's, or as `parse` reads them. */
export const readObject = <A = Json>(
  text: string,
  parse: (text: string) => unknown = JSON.parse
): Readonly<Record<string, A>> | undefined => {
  try {
    const value = parse(text)
    return isObject<A>(value) ? value : undefined
  } catch {
    return undefined
  }
}

const nothing: JsonObject = Object.freeze({})
const none: ReadonlyArray<Json> = Object.freeze([])

/** The value where it is an object, else an empty one: for reading optional fields of nested objects. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : nothing)
export const arrayOf = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value : none)
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
export const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

type Fields = { readonly [key: string]: Json | undefined }

/** An object without the keys whose value is `undefined`: an absent field is never sent as null. */
export const compact = (fields: Fields): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter((field): field is [string, Json] => field[1] !== undefined))

/** The object without the fields of these names; itself where it has none of them. */
export const without = (fields: JsonObject, names: ReadonlyArray<string>): JsonObject =>
  names.some((name) => Object.hasOwn(fields, name))
    ? Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
    : fields

/** The fields that are neither null nor absent, of those that `keeps` names. */
export const omitNull = (fields: Fields, keeps: (key: string) => boolean = () => true): { [key: string]: Json } =>
  Object.fromEntries(Object.entries(compact(fields)).filter(([key, value]) => value !== null && keeps(key)))

// The order of keys: JavaScript has those that are numbers first (`{"b":1,"10":2,"2":3}` becomes `2`, `10`, `b`), so an object that would
// change is kept with the order in which it was written. Copies are ordinary objects, in JavaScript's order.

/** Sets a field of any name. */
export const setField = <Value>(fields: { [key: string]: Value }, key: string, value: Value): void => {
  // An assignment to this name would set the prototype.
  if (key === "__proto__") {
    Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true })
  } else fields[key] = value
}

const numberedKey = /"(?:0|[1-9]\d*)"\s*:/

/** A key with an escape, its last one here: the engine may take it for another key that it has read before (docs/architecture.md#json). */
const escapedKey = /"\s*:(?<=(?<!\\)\\(?:\\\\)*.[^"\\]*"\s*:)/

/** Texts that may have keys which the engine would put in another order or misread. */
export const hasHardKey = (text: string): boolean =>
  numberedKey.test(text) || (text.includes("\\") && escapedKey.test(text))

/** The largest of the numbers that come first. */
const maxIndex = 2 ** 32 - 2

/** The keys of one object as they are read, each once, from the first on that may be a number. */
export class KeyOrder {
  readonly keys: Array<string>
  /** Whether JavaScript has another order. */
  differs = false
  private largest = -1
  private named: boolean
  constructor(before: Array<string>) {
    this.keys = before
    this.named = before.length > 0
  }
  add(key: string): void {
    this.keys.push(key)
    const index = Number(key)
    if (!(Number.isInteger(index) && index >= 0 && index <= maxIndex) || String(index) !== key) this.named = true
    else if (this.named || index < this.largest) this.differs = true
    else this.largest = index
  }
}

const written = Symbol("keys as they were written")
const otherOrder = Symbol("JavaScript has another order")
/** Whether the engine's printer stops at such an object, whose text would have the wrong order. */
let stops = false

/** Makes the engine's printer stop at such an object, whose order it cannot keep. An object with a key `toJSON` is printed in JavaScript's order. */
const inOrder = Object.defineProperty({}, "toJSON", {
  value(this: object): object {
    if (stops) throw otherOrder
    return this
  }
})

export const keepOrder = (fields: object, keys: ReadonlyArray<string>): object =>
  Object.defineProperty(Object.setPrototypeOf(fields, inOrder), written, { value: keys })

export const keysInOrder = (value: object): ReadonlyArray<string> => Reflect.get(value, written) ?? Object.keys(value)

/** By the engine's printer; undefined where it would change the order of keys, or the value is nested too deep for it. */
export const engineText = (value: unknown): string | undefined => {
  const outer = stops
  stops = true
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error === otherOrder || error instanceof RangeError) return undefined
    throw error
  } finally {
    stops = outer
  }
}
