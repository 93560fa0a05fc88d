/**
 * Prints all JSON that goes out. What may be large is printed in slices, so that other requests are served in between
 * (docs/decisions.md#work-in-slices); the text is that of `JSON.stringify`, but for the order of keys (`json.ts`).
 */
import { Effect } from "effect"
import { engineText, isRaw, keysInOrder } from "./json.ts"
import { inSlices, type Slices, smallBytes } from "./slices.ts"

/** Control and format characters, line separators, lone surrogates: as escapes of JSON. */
export const escapeControls = (text: string): string =>
  /^[ -~]*$/.test(text)
    ? text
    : text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) =>
        Array.from(
          { length: character.length },
          (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`
        ).join("")
      )

/** The same of a text's lines, which may have tabs. */
export const escapeLines = (text: string): string => text.replace(/[^\n\t]+/g, escapeControls)

/** The same for JSON, in which the control characters of ASCII are escapes already, but for the last. */
export const escapeJson = (json: string): string =>
  Buffer.byteLength(json) === json.length && !json.includes("\u007f") ? json : escapeControls(json)

/** A slice of a text, for what is kept of it: by itself it would hold the whole text. */
export const copyOf = (slice: string): string => Buffer.from(slice, "utf16le").toString("utf16le")
/** The same of its beginning, in whole characters: strict readers of JSON refuse half a one. */
export const beginningOf = (text: string, most: number): string =>
  (text.length <= most ? text : copyOf(text.slice(0, most))).toWellFormed()

/** Characters and values of one piece, each less than a millisecond. */
const pieceCharacters = 64 * 1024
const pieceValues = 2_000

/** The text of a short value that is no object or array; undefined for any other. */
const plainText = (value: unknown): string | undefined => {
  const isLong = typeof value === "string" && value.length > pieceCharacters
  return isLong || (typeof value === "object" && value !== null) ? undefined : (JSON.stringify(value) ?? "null")
}

/** Writes one value: yields the writer of each value inside it, and undefined where a slice is full. */
type Writer = Generator<Writer | undefined, void, undefined>

/** The text of a value in pieces, a slice of work each; no piece ends inside a character. However deep it is, nothing recurses. */
export function* printPieces(value: unknown): Generator<string, void, undefined> {
  let text = ""
  let values = 0

  const isFull = (): boolean => ++values >= pieceValues || text.length > pieceCharacters

  function* write(value: unknown): Writer {
    if (typeof value === "string" && value.length > pieceCharacters) {
      text += '"'
      for (let at = 0; at < value.length; ) {
        let to = at + pieceCharacters
        // A pair of surrogates is one character, and one alone is printed as an escape.
        if (to < value.length && (value.charCodeAt(to - 1) & 0xfc00) === 0xd800) to--
        text += JSON.stringify(value.slice(at, to)).slice(1, -1)
        at = to
        yield
      }
      text += '"'
    } else if (typeof value !== "object" || value === null) text += plainText(value) ?? ""
    else if (isRaw(value)) text += value.rawJSON
    else if (Array.isArray(value)) {
      text += "["
      for (let at = 0; at < value.length; at++) {
        if (isFull()) yield
        if (at > 0) text += ","
        const plain = plainText(value[at])
        if (plain === undefined) yield write(value[at])
        else text += plain
      }
      text += "]"
    } else {
      let before = "{"
      for (const name of keysInOrder(value)) {
        const field: unknown = Reflect.get(value, name)
        if (field === undefined) continue
        if (isFull()) yield
        text += `${before}${JSON.stringify(name)}:`
        before = ","
        const plain = plainText(field)
        if (plain === undefined) yield write(field)
        else text += plain
      }
      text += before === "{" ? "{}" : "}"
    }
  }

  const open = [write(value)]
  for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
    const { done, value: inner } = last.next()
    if (done === true) open.pop()
    else if (inner !== undefined) open.push(inner)
    else {
      yield text
      text = ""
      values = 0
    }
  }
  yield text
}

/** The text of JSON, as `JSON.stringify` prints it but for the order of keys. */
export const jsonText = (value: unknown): string => engineText(value) ?? [...printPieces(value)].join("")

/** The pieces of a value, printed in slices, each as `made` makes it. */
function* piecesOf<Piece>(value: unknown, made: (piece: string) => Piece): Slices<ReadonlyArray<Piece>> {
  const pieces: Array<Piece> = []
  for (const piece of printPieces(value)) {
    if (pieces.length > 0) yield
    pieces.push(made(piece))
  }
  return pieces
}

/** The text of a value, printed in slices. Each piece is flattened on its own: joining them would flatten all in one step. */
export function* printText(value: unknown): Slices<string> {
  const pieces = yield* piecesOf(value, (piece) => Buffer.from(piece).toString())
  const text = pieces.join("")
  // The caller's work on it belongs to the next slice.
  if (pieces.length > 1) yield
  return text
}

/** `size`: about how many bytes the text will have, such as those of what it was made from. */
export const print = (value: unknown, size: number): Effect.Effect<string | Uint8Array<ArrayBuffer>> =>
  Effect.suspend((): Effect.Effect<string | Uint8Array<ArrayBuffer>> => {
    const text = size <= smallBytes ? engineText(value) : undefined
    if (text !== undefined) return Effect.succeed(text)
    return Effect.map(inSlices(piecesOf(value, (piece) => Buffer.from(piece))), (pieces) => Buffer.concat(pieces))
  })
