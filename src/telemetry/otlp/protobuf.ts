/**
 * Protocol Buffers, written in one pass, as far as OTLP needs them. The libraries' own serializers take four times as long,
 * which is felt in the requests a second.
 */

import type { Id } from "./ids.ts"

/** Types of the wire format. */
const varint = 0
const fixed64 = 1
const delimited = 2
const fixed32 = 5

/** What a record holds. */
export interface Message {
  /** May be called again, with more room. */
  readonly write: (writer: ProtobufWriter) => void
}

/** Nanoseconds since the epoch; or milliseconds, which cost less, and are good to a quarter of a microsecond. */
export type Instant = bigint | number

export const nanosOf = (time: Instant): bigint =>
  typeof time === "bigint" ? time : BigInt(Math.floor(time)) * 1_000_000n + BigInt(Math.round((time % 1) * 1e6))

/** Longest text that is written here: with a longer one, Node's own way is faster. */
const short = 20

/** Writes fields one after the other. Field numbers are below 2048. */
export class ProtobufWriter {
  private readonly room: number
  private buffer: Buffer = Buffer.allocUnsafeSlow(64 * 1024)
  private spare: Buffer | undefined
  private at: number
  private readonly words = new Int32Array(2)
  private readonly double_ = new Float64Array(this.words.buffer)
  private readonly bigint_ = new BigUint64Array(this.words.buffer)

  /** So many bytes stay free before what is written, for what goes before it. */
  constructor(room = 0) {
    this.room = room
    this.at = room
  }

  /**
   * Writes a record as a field. Bytes beyond the buffer's end are only counted: a record that did not fit is written again,
   * with room.
   */
  record(field: number, message: Message): void {
    const start = this.at
    while (true) {
      const opened = this.open(field, 2)
      message.write(this)
      this.close(opened, 2)
      if (this.at <= this.buffer.length) return
      const larger = Buffer.allocUnsafeSlow(2 * this.at)
      this.buffer.copy(larger, 0, 0, start)
      this.buffer = larger
      this.at = start
    }
  }

  /** A copy of what has been written since the last time. */
  take(): Uint8Array {
    const taken = new Uint8Array(this.buffer.subarray(this.room, this.at))
    this.at = this.room
    return taken
  }

  /** What has been written since the last time, without a copy: what comes goes to other memory. */
  detach(): Uint8Array {
    const written = this.buffer.subarray(this.room, this.at)
    this.buffer = this.spare ?? Buffer.allocUnsafeSlow(this.buffer.length)
    this.spare = undefined
    this.at = this.room
    return written
  }

  /** Nobody needs any more what was detached: its memory is written to again. */
  reuse({ buffer }: Uint8Array): void {
    this.spare = Buffer.from(buffer)
  }

  /**
   * Begins a message; `close` it with what this returns, and the same room: bytes for its length, most often one, of a record two.
   * With another room than it needs, it is moved.
   */
  open(field: number, room = 1): number {
    this.tag(field, delimited)
    const opened = this.at
    this.at = opened + room
    return opened
  }

  close(opened: number, room = 1): void {
    const from = opened + room
    const length = this.at - from
    const needed = length < 1 << 7 ? 1 : length < 1 << 14 ? 2 : length < 1 << 21 ? 3 : 4
    if (needed !== room) this.buffer.copyWithin(opened + needed, from, this.at)
    this.at = opened
    this.raw(length)
    this.at += length
  }

  /** The head of a delimited field whose content is elsewhere. */
  length(field: number, length: number): void {
    this.tag(field, delimited)
    this.raw(length)
  }

  string(field: number, text: string): void {
    const opened = this.open(field)
    if (!this.ascii(text)) {
      const most = 3 * text.length
      this.at += this.at + most <= this.buffer.length ? this.buffer.write(text, this.at) : most
    }
    this.close(opened)
  }

  /** Writes text that is short and ASCII; a call into Node would take longer. */
  private ascii(text: string): boolean {
    const { at, buffer } = this
    const { length } = text
    if (length > short || at + length > buffer.length) return false
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index)
      if (code > 127) return false
      buffer[at + index] = code
    }
    this.at = at + length
    return true
  }

  /** Fields that were written before. */
  fields(bytes: Uint8Array): void {
    if (this.at + bytes.length <= this.buffer.length) this.buffer.set(bytes, this.at)
    this.at += bytes.length
  }

  /** An ID is shorter than 128 bytes. */
  id(field: number, { at, bytes, length }: Id): void {
    this.tag(field, delimited)
    const { buffer } = this
    const start = this.at
    buffer[start] = length
    for (let index = 0; index < length; index++) buffer[start + 1 + index] = bytes[at + index] ?? 0
    this.at = start + 1 + length
  }

  /** A whole number from 0 to 2^53. */
  integer(field: number, value: number): void {
    this.tag(field, varint)
    this.raw(value)
  }

  /** Any whole number of 64 bits. */
  int64(field: number, value: bigint): void {
    this.tag(field, varint)
    let rest = BigInt.asUintN(64, value)
    while (rest > 127n) {
      this.buffer[this.at++] = Number(rest & 127n) | 128
      rest >>= 7n
    }
    this.buffer[this.at++] = Number(rest)
  }

  double(field: number, value: number): void {
    this.double_[0] = value
    this.eight(field)
  }

  /** Nanoseconds since the epoch, in 64 bits. */
  time(field: number, time: Instant): void {
    if (typeof time === "bigint") {
      this.bigint_[0] = time
      this.eight(field)
      return
    }
    // In parts, because a number holds 53 bits exactly: 2^24 milliseconds at a time, and the rest. By `%` it would take longer.
    const whole = Math.floor(time)
    const times = Math.floor(time / 2 ** 24)
    const many = times * 1e6
    const upper = Math.floor(many / 2 ** 8)
    const few = (whole - times * 2 ** 24) * 1e6 + Math.round((time - whole) * 1e6)
    const rest = few + (many - upper * 2 ** 8) * 2 ** 24
    this.tag(field, fixed64)
    this.four(rest)
    this.four(upper + Math.floor(rest / 2 ** 32))
  }

  fixed32(field: number, value: number): void {
    this.tag(field, fixed32)
    this.four(value)
  }

  /** The low 32 bits of a whole number. */
  private four(value: number): void {
    const { at, buffer } = this
    const bits = value | 0
    buffer[at] = bits
    buffer[at + 1] = bits >> 8
    buffer[at + 2] = bits >> 16
    buffer[at + 3] = bits >> 24
    this.at = at + 4
  }

  private eight(field: number): void {
    this.tag(field, fixed64)
    this.four(this.words[0] ?? 0)
    this.four(this.words[1] ?? 0)
  }

  private tag(field: number, type: number): void {
    const tag = (field << 3) | type
    if (tag < 128) this.buffer[this.at++] = tag
    else this.raw(tag)
  }

  private raw(value: number): void {
    let rest = value
    while (rest > 127) {
      this.buffer[this.at++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    this.buffer[this.at++] = rest
  }
}
