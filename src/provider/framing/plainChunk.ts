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
/** Before the padding. Told by its first four bytes and its last four, which overlap: as numbers, without a slice. */
const filler = Buffer.from('","p":"')
const fillerHead = filler.readUInt32BE(0)
const fillerTail = filler.readUInt32BE(filler.length - 4)
const closing = Buffer.from('"}').readUInt16BE(0)
/** The vendor prints `type` first. */
const typed = /^\{"type":"(\w+)"/
/** Characters of base64 in which a name is looked for. */
const headChars = 128

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

const equals = "=".charCodeAt(0)

const paddingOf = (text: string, to: number): number =>
  text.charCodeAt(to - 1) === equals ? (text.charCodeAt(to - 2) === equals ? 2 : 1) : 0

/** What is a part of a text keeps it, and is compared more slowly. */
const copyOf = (text: string): string => Buffer.from(text, "latin1").toString("latin1")

export class PlainChunks {
  readonly headers: string
  /** What comes between the prelude and the base64. */
  private readonly opening: string
  private readonly sizes = new Map<number, Size>()
  /** The name of the last event, and what frames of this name begin with after the prelude; at first, what none does. */
  private name = ""
  private named = "none"

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
    const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const names: Array<string> = []
    const ends: Array<number> = []
    let base64 = ""
    let checksum = 0
    let at = 0
    while (bytes.length - at >= preludeBytes) {
      const end = at + words.getUint32(at)
      const size = end > bytes.length ? undefined : this.sizeOf(words, at)
      const to = size === undefined ? -1 : this.base64End(text, words, at + preludeBytes, end - checksumBytes)
      if (size === undefined || to < 0) break
      checksum = followedBy(checksum, size.shift, words.getUint32(end - checksumBytes))
      const from = at + preludeBytes + this.opening.length
      const padding = paddingOf(text, to)
      base64 += padding === 0 ? text.slice(from, to) : text.slice(from, to - padding) + "AA".slice(0, padding)
      names.push(this.name)
      ends.push((base64.length / 4) * 3 - padding)
      at = end
    }
    if (at === 0 || crc32(bytes.subarray(0, at)) !== checksum) return 0
    // Node skips what is not base64, so a shorter result is how damage shows.
    const whole = scratch.write(base64, "base64") === (base64.length / 4) * 3
    return whole && decoded(names, ends, events) ? at : 0
  }

  private sizeOf(words: DataView, at: number): Size | undefined {
    if (words.getUint32(at + 4) !== this.headers.length) return undefined
    const length = words.getUint32(at)
    let size = this.sizes.get(length)
    if (size === undefined) {
      size = { prelude: crc32(new Uint8Array(words.buffer, words.byteOffset + at, 8)), shift: shiftOf(length) }
      if (this.sizes.size < maxKnown) this.sizes.set(length, size)
    }
    return size.prelude === words.getUint32(at + 8) ? size : undefined
  }

  /** Where the base64 ends of a frame whose headers are at `at`, and its checksum at `end`; negative where it is not printed as usual. */
  private base64End(text: string, words: DataView, at: number, end: number): number {
    const from = at + this.opening.length
    const to = text.indexOf('"', from)
    if (to < 0 || (text.slice(at, at + this.named.length) !== this.named && !this.renamed(text, at, to))) return -1
    const after = to + filler.length
    const padded = after <= end && words.getUint32(to) === fillerHead && words.getUint32(after - 4) === fillerTail
    const last = padded ? text.indexOf('"', after) : to
    return last === end - 2 && words.getUint16(last) === closing && (to - from) % 4 === 0 ? to : -1
  }

  /**
   * Whether a frame, whose headers are at `at` and whose base64 ends at `to`, is a chunk with a name. It is remembered in base64, so that
   * one comparison tells both.
   */
  private renamed(text: string, at: number, to: number): boolean {
    const from = at + this.opening.length
    if (text.slice(at, from) !== this.opening) return false
    const head = Buffer.from(text.slice(from, Math.min(to, from + headChars)), "base64").toString("latin1")
    const [begun, name] = typed.exec(head) ?? []
    if (begun === undefined || name === undefined) return false
    this.name = copyOf(name)
    this.named = copyOf(text.slice(at, from + Math.ceil(begun.length / 3) * 4))
    return true
  }
}

/** Adds the events that have been decoded; `ends`: where each ends. Answers false, and adds nothing, where one is not UTF-8. */
const decoded = (names: ReadonlyArray<string>, ends: ReadonlyArray<number>, events: Array<Event>): boolean => {
  const length = ends.at(-1) ?? 0
  const text = scratch.toString("utf8", 0, length)
  const ascii = text.length === length && !text.includes(replacement)
  const before = events.length
  let from = 0
  for (let i = 0; i < ends.length; i++) {
    const end = ends[i] ?? 0
    const data = ascii ? text.slice(from, end) : scratch.toString("utf8", from, end)
    if (!ascii && data.includes(replacement) && !isUtf8(scratch.subarray(from, end))) {
      events.length = before
      return false
    }
    events.push({ event: names[i], data })
    from = Math.ceil(end / 3) * 3
  }
  return true
}
