/**
 * Reads chunks that are printed as Bedrock prints them, which are nearly all frames of a stream, in less time than reading
 * whatever a frame may hold: what has come is checked and decoded at once, and not frame by frame. What is not exactly so is left to
 * `eventStream`, which also says what is wrong with it. What a text begins with is told by slices: `startsWith` takes a fifth more of
 * the whole.
 */
import { isUtf8 } from "node:buffer"
import { crc32 } from "node:zlib"
import type { Event } from "../../wire/Event.ts"
import { followedBy, type Shift, shiftOf } from "./checksum.ts"

/** Most bytes that are read at a time; longer frames are rare, and their time is in their bytes. */
const plainBytes = 64 * 1024

/** Total length, header length, and their checksum. */
export const preludeBytes = 12
export const checksumBytes = 4

const open = '{"bytes":"'
const filler = '","p":"'
const named = '{"type":"'
const isName = /^\w+$/

/** Decoded here and read at once. */
const scratch = Buffer.allocUnsafeSlow(plainBytes)
const replacement = "\ufffd"

/** What frames of one length have in common: the headers' length is that of the decoder's own. */
interface Size {
  /** The checksum of the prelude. */
  readonly prelude: number
  readonly shift: Shift
}

/** Most lengths that are remembered. */
const maxKnown = 4096

const paddingOf = (base64: string): number => (base64.endsWith("=") ? (base64.endsWith("==") ? 2 : 1) : 0)

export class PlainChunks {
  readonly headers: string
  /** What comes between the prelude and the base64. */
  private readonly opening: string
  private readonly sizes = new Map<number, Size>()
  /** The name of the last event, and what JSON with this name begins with; before the first, nothing that any does. */
  private name = ""
  private head = "none"

  /** `headers`: those of a chunk, as they come. */
  constructor(headers: string) {
    this.headers = headers
    this.opening = headers + open
  }

  /** Adds the events of the frames that `bytes` begin with; answers where the first is that must be looked at more closely. */
  read(bytes: Buffer, events: Array<Event>): number {
    // Of a frame that is not complete, nothing is read.
    if (bytes.length < preludeBytes || bytes.length > plainBytes || bytes.readUInt32BE(0) > bytes.length) return 0
    const text = bytes.toString("latin1")
    const ends: Array<number> = []
    let base64 = ""
    let checksum = 0
    let at = 0
    while (bytes.length - at >= preludeBytes) {
      const length = bytes.readUInt32BE(at)
      const end = at + length
      const size = end > bytes.length ? undefined : this.sizeOf(bytes, at, length)
      const piece = size === undefined ? undefined : this.base64Of(text, at, end - checksumBytes)
      if (size === undefined || piece === undefined) break
      checksum = followedBy(checksum, size.shift, bytes.readUInt32BE(end - checksumBytes))
      const padding = paddingOf(piece)
      base64 += padding === 0 ? piece : piece.slice(0, -padding) + "AA".slice(0, padding)
      ends.push((base64.length / 4) * 3 - padding)
      at = end
    }
    if (at === 0 || crc32(bytes.subarray(0, at)) !== checksum) return 0
    // Node skips what is not base64, so a shorter result is how damage shows.
    const whole = scratch.write(base64, "base64") === (base64.length / 4) * 3
    return whole && this.decoded(ends, events) ? at : 0
  }

  private sizeOf(bytes: Buffer, at: number, length: number): Size | undefined {
    if (bytes.readUInt32BE(at + 4) !== this.headers.length) return undefined
    let size = this.sizes.get(length)
    if (size === undefined) {
      size = { prelude: crc32(bytes.subarray(at, at + 8)), shift: shiftOf(length) }
      if (this.sizes.size < maxKnown) this.sizes.set(length, size)
    }
    return size.prelude === bytes.readUInt32BE(at + 8) ? size : undefined
  }

  /** What is in `bytes` of the frame at `at`, whose checksum is at `end`; undefined where it is not printed as usual. */
  private base64Of(text: string, at: number, end: number): string | undefined {
    const from = at + preludeBytes + this.opening.length
    if (text.slice(at + preludeBytes, from) !== this.opening) return undefined
    const to = text.indexOf('"', from)
    const last = text.slice(to, to + filler.length) === filler ? text.indexOf('"', to + filler.length) : to
    if (last < 0 || last + '"}'.length !== end || text[last + 1] !== "}") return undefined
    return (to - from) % 4 === 0 ? text.slice(from, to) : undefined
  }

  /** Adds what has been decoded, event by event; `ends`: where each ends. Answers false, and adds nothing, where one is not as usual. */
  private decoded(ends: ReadonlyArray<number>, events: Array<Event>): boolean {
    const length = ends.at(-1) ?? 0
    const text = scratch.toString("utf8", 0, length)
    const ascii = text.length === length && !text.includes(replacement)
    const before = events.length
    let from = 0
    for (const end of ends) {
      const data = ascii ? text.slice(from, end) : scratch.toString("utf8", from, end)
      const valid = ascii || !data.includes(replacement) || isUtf8(scratch.subarray(from, end))
      if (!valid || (data.slice(0, this.head.length) !== this.head && !this.renamed(data))) {
        events.length = before
        return false
      }
      events.push({ event: this.name, data })
      from = Math.ceil(end / 3) * 3
    }
    return true
  }

  /** The vendor prints `type` first. */
  private renamed(data: string): boolean {
    if (!data.startsWith(named)) return false
    const end = data.indexOf('"', named.length)
    const name = data.slice(named.length, end)
    if (!isName.test(name)) return false
    // A copy: what is a part of a text keeps it, and is compared more slowly.
    this.name = Buffer.from(name).toString()
    this.head = `${named}${name}"`
    return true
  }
}
