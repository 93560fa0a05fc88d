/**
 * Parses JSON in slices, exactly, and within what one request may hold, over its body and every JSON text inside it
 * (docs/api.md#limits). It takes and returns what `JSON.parse` does, and says where it ends. For large texts: on small ones
 * `JSON.parse` is several times faster.
 */
import { Data, Result } from "effect"
import { KeyOrder, keepOrder, setField } from "./json.ts"
import type { Slices } from "./slices.ts"

/** Deepest nesting of arrays and objects in a body. */
export const maxDepth = 256
/**
 * Most commas and colons outside strings: twice the values of objects, once those of arrays. 2,048 messages with 20 images, 5 files
 * and a text each have 292,864 (docs/decisions.md#sizes).
 */
export const maxTokens = 300_000
/** Longest name of a property, in bytes of UTF-8. */
export const maxNameBytes = 1024
/** Most fields of a request itself. */
export const maxFields = 1024
/** Longest number, in characters. */
export const maxNumber = 1024
/**
 * Longest text of a field that is looked up in a set or a map, and of such a list, in characters. V8 tells longer ones apart by their
 * length only, so that thousands of one length take seconds. A small text cannot hold as many.
 */
export const maxWord = 16_383
const wordFields: ReadonlySet<unknown> = new Set(["type", "role", "ttl", "enum", "required"])

const inWords = (limit: number): string => limit.toLocaleString("en-US")

/** Why a text was not taken. */
export class Refusal extends Data.Error<{
  /** `syntax`: it is no JSON. `depth`, `budget`: it is nested deeper, or holds more, than it may. `repeat`: a name stands twice. */
  readonly kind: "syntax" | "depth" | "budget" | "repeat"
  /** Where, as `messages[0].content`; empty at the top. */
  readonly path: string
  readonly message: string
  /** Bytes before the place. */
  readonly at: number
}> {}

export interface ParseOptions {
  /** Values left; counts down. */
  readonly budget: { tokens: number }
  /** Deepest nesting. */
  readonly depth?: number
  /** Most fields of the object itself. */
  readonly fields?: number
  /** Longest name of a property, in bytes of UTF-8. */
  readonly nameBytes?: number
  /** Longest text of a field that is looked up, in characters. */
  readonly word?: number
  /** Whether a name may stand twice in an object, which then has its last value. */
  readonly repeats?: boolean
  /** The value of a number. */
  readonly numberOf: (text: string) => unknown
}

/** Bytes and tokens of one slice, each about half a millisecond. */
const sliceBytes = 128 * 1024
const sliceTokens = 4_000
/** Strings up to this many bytes are looked through one by one. */
const shortString = 64
const maxPath = 300

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openArray = 0x5b
const backslash = 0x5c
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const words = Object.entries({ true: true, false: false, null: null })

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39
/** Of a digit, or of `+`, `-`, `.`, `E` and `e`. */
export const isNumberByte = (byte: number): boolean =>
  isDigit(byte) || byte === 0x2b || byte === 0x2d || byte === 0x2e || byte === 0x45 || byte === 0x65
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const pathOf = (keys: ReadonlyArray<string | number>): string => {
  let path = ""
  for (const [level, key] of keys.entries()) {
    if (path.length > maxPath) return `${path.slice(0, maxPath)}…`
    if (typeof key === "number") path += `[${key}]`
    else if (key !== "") path += `${level === 0 ? "" : "."}${key.slice(0, 100)}`
  }
  return path
}

/** The value, or why the text is not taken. */
export function* parseInSlices(bytes: Buffer, options: ParseOptions): Slices<Result.Result<unknown, Refusal>> {
  try {
    return Result.succeed(yield* read(bytes, options))
  } catch (error) {
    if (error instanceof Refusal) return Result.fail(error)
    throw error
  }
}

/** Throws a `Refusal`. */
function* read(
  bytes: Buffer,
  {
    budget,
    depth = maxDepth,
    fields = maxFields,
    nameBytes = maxNameBytes,
    word = maxWord,
    repeats = true,
    numberOf
  }: ParseOptions
): Slices<unknown> {
  let at = 0
  let sliceEnd = sliceBytes
  let tokens = 0
  /** The name or position, in each array and object, of what is being read. */
  const keys: Array<string | number> = []

  const refuse = (kind: Refusal["kind"], message: string, place = at): never => {
    throw new Refusal({ kind, path: pathOf(keys), message, at: place })
  }
  const invalid = (place = at): never => refuse("syntax", "not valid JSON", place)

  /** Goes to the next token; false where the slice is over. */
  const reach = (): boolean => {
    while (at < sliceEnd && isSpace(bytes[at])) at++
    if (at < sliceEnd && ++tokens <= sliceTokens) return true
    sliceEnd = at + sliceBytes
    tokens = 0
    return false
  }

  /** Passes a comma or a colon: a request may have so many. */
  const pass = (sign: number): void => {
    if (bytes[at] !== sign) invalid()
    at++
    if (--budget.tokens < 0)
      refuse(
        "budget",
        `too many values: a request may hold about ${inWords(maxTokens / 2)} in objects, or ${inWords(maxTokens)} in arrays; send fewer, or send them as text`
      )
  }

  const readNumber = (): unknown => {
    let to = at + 1
    while (isNumberByte(bytes[to] ?? 0) && to - at <= maxNumber) to++
    if (to - at > maxNumber)
      refuse("budget", `a number of more than ${inWords(maxNumber)} characters; send it as a string`)
    const text = bytes.toString("latin1", at, to)
    if (!number.test(text)) invalid()
    at = to
    return numberOf(text)
  }

  const readWord = (): boolean | null => {
    const [word, value] = words.find(([word]) => bytes.toString("latin1", at, at + word.length) === word) ?? invalid()
    at += word.length
    return value
  }

  /** A short string of ASCII without escapes, which most are. */
  const readShort = (): string | undefined => {
    const end = Math.min(bytes.length, at + 1 + shortString)
    for (let to = at + 1; to < end; to++) {
      const byte = bytes[to] ?? 0
      if (byte === quote) {
        const text = bytes.toString("latin1", at + 1, to)
        at = to + 1
        return text
      }
      if (byte === backslash || byte < 0x20 || byte > 0x7e) return undefined
    }
    return undefined
  }

  /** Where the string ends, or a slice of it: never inside an escape or a character. */
  const pieceEnd = (): number => {
    const slice = bytes.subarray(at, at + sliceBytes)
    const end = slice.indexOf(quote)
    const upTo = end === -1 ? slice : slice.subarray(0, end)
    let to = at + upTo.length
    if (upTo.includes(backslash)) {
      to = at
      while (to < at + slice.length && bytes[to] !== quote) {
        to += bytes[to] === backslash ? (bytes[to + 1] === 0x75 ? 6 : 2) : 1
      }
    }
    if (to >= bytes.length) invalid(bytes.length)
    for (let back = 0; back < 3 && ((bytes[to] ?? 0) & 0xc0) === 0x80; back++) to--
    return to
  }

  const readPiece = (): string => {
    const from = at
    at = pieceEnd()
    try {
      return JSON.parse(`"${bytes.toString("utf8", from, at)}"`)
    } catch {
      const control = bytes.subarray(from, at).findIndex((byte) => byte < 0x20)
      return invalid(from + Math.max(control, 0))
    }
  }

  function* readString(): Slices<string> {
    at++
    const pieces = [readPiece()]
    while (bytes[at] !== quote) {
      yield
      pieces.push(readPiece())
    }
    at++
    return pieces.join("")
  }

  function* readLongName(): Slices<string> {
    const name = yield* readString()
    if (Buffer.byteLength(name) > nameBytes)
      refuse(
        "budget",
        `the name of a property is longer than ${inWords(nameBytes)} bytes; shorten it, or move the text into the value`
      )
    return name
  }

  /** A value that is short and holds no other, read without a generator; undefined for the rest. */
  const readPlain = (): unknown => {
    const byte = bytes[at] ?? invalid()
    if (byte === quote) return readShort()
    if (byte === openArray || byte === openObject) return undefined
    return byte === 0x2d || isDigit(byte) ? readNumber() : readWord()
  }

  function* readText(): Slices<string> {
    const text = yield* readString()
    if (text.length <= word) return text
    const field = keys.findLast((key) => typeof key === "string")
    if (wordFields.has(field))
      refuse("budget", `a text of more than ${inWords(maxWord)} characters, which no ${field} has`)
    return text
  }

  const readNested = (): Slices<unknown> => {
    if (bytes[at] === quote) return readText()
    return bytes[at] === openArray ? readArray() : readObject()
  }

  const open = (key: string | number): void => {
    if (keys.length >= depth) refuse("depth", `nested deeper than ${depth} levels`)
    at++
    keys.push(key)
  }

  const close = (): void => {
    at++
    keys.pop()
  }

  function* readArray(): Slices<ReadonlyArray<unknown>> {
    const items: Array<unknown> = []
    open(0)
    while (!reach()) yield
    while (bytes[at] !== closeArray) {
      if (items.length > 0) pass(comma)
      keys[keys.length - 1] = items.length
      while (!reach()) yield
      const plain = readPlain()
      items.push(plain === undefined ? yield* readNested() : plain)
      while (!reach()) yield
    }
    close()
    return items
  }

  function* readObject(): Slices<object> {
    const object = {}
    /** Where some names may be numbers. */
    let order: KeyOrder | undefined
    open("")
    while (!reach()) yield
    for (let count = 0; bytes[at] !== closeObject; count++) {
      if (count > 0) pass(comma)
      keys[keys.length - 1] = ""
      if (keys.length === 1 && count >= fields)
        refuse("budget", `more than ${inWords(maxFields)} fields; send what belongs together as one object`)
      while (!reach()) yield
      if (bytes[at] !== quote) invalid()
      const name = readShort() ?? (yield* readLongName())
      keys[keys.length - 1] = name
      if (!repeats && Object.hasOwn(object, name)) refuse("repeat", "stands twice")
      while (!reach()) yield
      pass(colon)
      while (!reach()) yield
      const plain = readPlain()
      if (order === undefined && isDigit(name.charCodeAt(0))) order = new KeyOrder(Object.keys(object))
      if (order !== undefined && !Object.hasOwn(object, name)) order.add(name)
      setField(object, name, plain === undefined ? yield* readNested() : plain)
      while (!reach()) yield
    }
    close()
    return order?.differs === true ? keepOrder(object, order.keys) : object
  }

  while (!reach()) yield
  const plain = readPlain()
  const value = plain === undefined ? yield* readNested() : plain
  while (!reach()) yield
  if (at < bytes.length) invalid()
  return value
}
