/**
 * Prints JSON in slices: what `JSON.stringify` prints, as pieces of bytes, so that neither the time nor a second copy of the whole
 * text is needed at once. For large values: on small ones `JSON.stringify` is several times faster.
 */
import { isRaw } from "./exactNumber.ts"

/** JSON whose text goes into a JSON string as base64: how Bedrock wants a body inside a body. */
class Base64Json {
  readonly value: object
  constructor(value: object) {
    this.value = value
  }
  toJSON(): string {
    return Buffer.from(JSON.stringify(this.value)).toString("base64")
  }
}

/** Stands where its text does; both printers know it. */
export const base64Json = (value: object): string => new Base64Json(value) as unknown as string

/** Characters and values of one step, each less than a millisecond. */
const sliceCharacters = 64 * 1024
const sliceValues = 4_000

/** A value that is being printed, with how far it is. */
type Open =
  | { readonly of: "array"; readonly items: ReadonlyArray<unknown>; at: number }
  | {
      readonly of: "object"
      readonly value: Readonly<Record<string, unknown>>
      readonly names: ReadonlyArray<string>
      at: number
      first: boolean
    }
  | { readonly of: "string"; readonly text: string; at: number }
  | { readonly of: "base64"; readonly print: SlicedPrinter; rest: Buffer }

export class SlicedPrinter {
  /** What is printed so far; whoever takes pieces away has them for himself. */
  readonly pieces: Array<Buffer> = []
  /** Bytes of all pieces. */
  size = 0
  private text = ""
  private readonly open: Array<Open> = []

  constructor(value: unknown) {
    this.begin(value)
  }

  /** Prints on; true when all is printed. */
  readonly step = (): boolean => {
    for (let values = 0; values < sliceValues; values++) {
      const last = this.open.at(-1)
      if (last === undefined) {
        this.flush()
        return true
      }
      const heavy = this.go(last)
      if (this.text.length > sliceCharacters) this.flush()
      if (heavy || this.size - this.flushed > sliceCharacters) break
    }
    this.flushed = this.size
    return false
  }
  private flushed = 0

  private flush(): void {
    if (this.text === "") return
    this.put(Buffer.from(this.text))
    this.text = ""
  }

  private put(bytes: Buffer): void {
    this.pieces.push(bytes)
    this.size += bytes.length
  }

  /** The next part of a value; whether that was work enough for a step. */
  private go(open: Open): boolean {
    switch (open.of) {
      case "array":
        if (open.at === open.items.length) return this.end("]")
        if (open.at > 0) this.text += ","
        this.begin(open.items[open.at++] ?? null)
        return false
      case "object": {
        const name = open.names[open.at++]
        if (name === undefined) return this.end("}")
        const value = open.value[name]
        if (value === undefined) return false
        this.text += `${open.first ? "" : ","}${JSON.stringify(name)}:`
        open.first = false
        this.begin(value)
        return false
      }
      case "string": {
        let to = open.at + sliceCharacters
        // A pair of surrogates is one character, and one alone is printed as an escape.
        if (to < open.text.length && (open.text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to--
        const printed = JSON.stringify(open.text.slice(open.at, to))
        open.at = to
        this.text += printed.slice(1, -1)
        if (to >= open.text.length) this.end('"')
        return true
      }
      case "base64": {
        const done = open.print.step()
        // Three bytes are four characters.
        const bytes = Buffer.concat([open.rest, ...open.print.pieces.splice(0)])
        const whole = done ? bytes.length : bytes.length - (bytes.length % 3)
        this.flush()
        this.put(Buffer.from(bytes.toString("base64", 0, whole), "latin1"))
        open.rest = bytes.subarray(whole)
        if (done) this.end('"')
        return true
      }
    }
  }

  private end(sign: string): false {
    this.text += sign
    this.open.pop()
    return false
  }

  private begin(value: unknown): void {
    if (typeof value === "string" && value.length > sliceCharacters) {
      this.text += '"'
      this.open.push({ of: "string", text: value, at: 0 })
    } else if (typeof value !== "object" || value === null) this.text += JSON.stringify(value) ?? "null"
    else if (Array.isArray(value)) {
      this.text += "["
      this.open.push({ of: "array", items: value, at: 0 })
    } else if (isRaw(value)) this.text += value.rawJSON
    else if (value instanceof Base64Json) {
      this.text += '"'
      this.open.push({ of: "base64", print: new SlicedPrinter(value.value), rest: Buffer.alloc(0) })
    } else {
      this.text += "{"
      this.open.push({
        of: "object",
        value: value as Readonly<Record<string, unknown>>,
        names: Object.keys(value),
        at: 0,
        first: true
      })
    }
  }
}
