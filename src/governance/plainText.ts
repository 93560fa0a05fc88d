/** The JSON text of a value, but for the escapes: what the scan reads of input that is already parsed. */
import { type Slices, sliceCharacters, sliceValues } from "../wire/slices.ts"
import { innerQuote } from "./characters.ts"

const inner = String.fromCharCode(innerQuote)

/** `replaceAll` would make a string of parts, which the next reader puts together in one go. */
const marked = (text: string): string => text.split('"').join(inner)

/** A text whose quotes are told from those around it. */
function* quoted(text: string): Slices<string> {
  if (text.length <= sliceCharacters) return marked(text)
  const pieces: Array<string> = []
  for (let at = 0; at < text.length; at += sliceCharacters) {
    pieces.push(marked(text.slice(at, at + sliceCharacters)))
    yield
  }
  return pieces.join("")
}

/** An array or an object that is being written, with how far it is. */
interface Open {
  readonly items: ReadonlyArray<unknown>
  /** Of an object, whose items are its values. */
  readonly names: ReadonlyArray<string> | undefined
  at: number
}

/** Without recursion, so that deep values do not overflow the stack. */
export function* plainText(value: unknown): Slices<string> {
  const pieces: Array<string> = []
  const open: Array<Open> = []
  let parts: Array<string> = []
  let characters = 0
  let next = value
  for (let values = 1; ; values++) {
    if (typeof next === "string") {
      parts.push('"', yield* quoted(next), '"')
      characters += next.length
    } else if (Array.isArray(next)) {
      parts.push("[")
      open.push({ items: next, names: undefined, at: 0 })
    } else if (typeof next === "object" && next !== null) {
      parts.push("{")
      open.push({ items: Object.values(next), names: Object.keys(next), at: 0 })
    } else parts.push(String(next ?? null))

    let last = open.at(-1)
    while (last !== undefined && last.at === last.items.length) {
      parts.push(last.names === undefined ? "]" : "}")
      open.pop()
      last = open.at(-1)
    }
    if (last === undefined) break
    if (last.at > 0) parts.push(",")
    const name = last.names?.[last.at]
    if (name !== undefined) {
      parts.push('"', yield* quoted(name), '":')
      characters += name.length
    }
    next = last.items[last.at++]
    if (values % sliceValues === 0 || characters > sliceCharacters) {
      pieces.push(parts.join(""))
      parts = []
      characters = 0
      yield
    }
  }
  const rest = parts.join("")
  return pieces.length === 0 ? rest : [...pieces, rest].join("")
}
