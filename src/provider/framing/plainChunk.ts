/**
 * Reads chunks that are printed as Bedrock prints them, which are nearly all frames of a stream, in less time than reading
 * whatever a frame may hold. What is not exactly so is left to `eventStream`, which also says what is wrong with it.
 */
import { isUtf8 } from "node:buffer"
import { crc32 } from "node:zlib"
import type { Event } from "../../wire/Event.ts"

/** Most bytes that are read at a time; longer frames are rare, and their time is in their bytes. */
export const plainBytes = 64 * 1024

/** Total length, header length, and their checksum. */
export const preludeBytes = 12
export const checksumBytes = 4

const open = '{"bytes":"'
const padding = '","p":"'
const close = '"}'
const named = '{"type":"'
const isName = /^\w+$/

/** Decoded here and read at once. */
const scratch = Buffer.allocUnsafeSlow(plainBytes)
const replacement = "\ufffd"

/** Checksums of preludes by their length: the headers' length is that of the decoder's own. */
const maxKnown = 4096

export class PlainChunks {
  readonly headers: string
  private readonly preludes = new Map<number, number>()
  /** The name of the last event, and what JSON with this name begins with; before the first, nothing that any does. */
  private name = ""
  private head = "none"

  /** `headers`: those of a chunk, as they come. */
  constructor(headers: string) {
    this.headers = headers
  }

  /** The event of the frame of this length at `at`; undefined where it must be looked at more closely. `text` is `bytes` as Latin-1. */
  read(bytes: Buffer, text: string, at: number, length: number): Event | undefined {
    const { headers } = this
    const bodyAt = at + preludeBytes + headers.length
    const bodyEnd = at + length - checksumBytes
    const base64At = bodyAt + open.length
    if (base64At > bodyEnd || !this.isPrelude(bytes, at, length)) return undefined
    if (!text.startsWith(headers, at + preludeBytes) || !text.startsWith(open, bodyAt)) return undefined
    const base64End = text.indexOf('"', base64At)
    const end = text.startsWith(padding, base64End) ? text.indexOf('"', base64End + padding.length) : base64End
    if (end < 0 || end + close.length !== bodyEnd || !text.startsWith(close, end)) return undefined
    if (crc32(bytes.subarray(at, bodyEnd)) !== bytes.readUInt32BE(bodyEnd)) return undefined
    return this.decoded(text.slice(base64At, base64End))
  }

  private isPrelude(bytes: Buffer, at: number, length: number): boolean {
    if (bytes.readUInt32BE(at + 4) !== this.headers.length) return false
    let checksum = this.preludes.get(length)
    if (checksum === undefined) {
      checksum = crc32(bytes.subarray(at, at + 8))
      if (this.preludes.size < maxKnown) this.preludes.set(length, checksum)
    }
    return checksum === bytes.readUInt32BE(at + 8)
  }

  private decoded(base64: string): Event | undefined {
    const written = scratch.write(base64, 0, "base64")
    // Node skips what is not base64, so a shorter result is how damage shows.
    if (written !== Buffer.byteLength(base64, "base64")) return undefined
    const data = scratch.toString("utf8", 0, written)
    if (data.includes(replacement) && !isUtf8(scratch.subarray(0, written))) return undefined
    if (!data.startsWith(this.head) && !this.renamed(data)) return undefined
    return { event: this.name, data }
  }

  /** The vendor prints `type` first. */
  private renamed(data: string): boolean {
    if (!data.startsWith(named)) return false
    const end = data.indexOf('"', named.length)
    const name = data.slice(named.length, end)
    if (!isName.test(name)) return false
    this.name = name
    this.head = `${named}${name}"`
    return true
  }
}
