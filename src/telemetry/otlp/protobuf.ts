/**
 * Protocol Buffers, written in one pass, as far as OTLP needs them. The libraries' own serializers take four times as long,
 * which is felt in the requests a second.
 */

/** Types of the wire format. */
const varint = 0
const fixed64 = 1
const delimited = 2
const fixed32 = 5

/** Writes fields one after the other. Field numbers are below 2048. */
export class ProtobufWriter {
  private buffer = Buffer.allocUnsafeSlow(64 * 1024)
  private at = 0
  private readonly scratch = new Uint8Array(8)
  private readonly double_ = new Float64Array(this.scratch.buffer)
  private readonly bigint_ = new BigUint64Array(this.scratch.buffer)

  /**
   * Writes a record as a field. Bytes beyond the buffer's end are only counted: a record that did not fit is written again,
   * with room.
   */
  record(field: number, write: (writer: ProtobufWriter) => void): void {
    const start = this.at
    while (true) {
      const message = this.open(field)
      write(this)
      this.close(message)
      if (this.at <= this.buffer.length) return
      const larger = Buffer.allocUnsafeSlow(2 * this.at)
      this.buffer.copy(larger, 0, 0, start)
      this.buffer = larger
      this.at = start
    }
  }

  /** What has been written since the last time. */
  take(): Uint8Array {
    const taken = new Uint8Array(this.buffer.subarray(0, this.at))
    this.at = 0
    return taken
  }

  /** Begins a message; `close` it with what this returns. */
  open(field: number): number {
    this.tag(field, delimited)
    // Most messages are short: their length takes one byte.
    return this.at++
  }

  close(opened: number): void {
    const length = this.at - opened - 1
    if (length < 128) {
      this.buffer[opened] = length
      return
    }
    const more = length < 1 << 14 ? 1 : length < 1 << 21 ? 2 : 3
    this.buffer.copyWithin(opened + 1 + more, opened + 1, this.at)
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
    const most = 3 * text.length
    this.at += this.at + most <= this.buffer.length ? this.buffer.write(text, this.at) : most
    this.close(opened)
  }

  /** Fields that were written before. */
  fields(bytes: Uint8Array): void {
    if (this.at + bytes.length <= this.buffer.length) this.buffer.set(bytes, this.at)
    this.at += bytes.length
  }

  /** Bytes from their hex. */
  hex(field: number, text: string): void {
    const length = text.length / 2
    const opened = this.open(field)
    this.at += this.at + length <= this.buffer.length ? this.buffer.write(text, this.at, "hex") : length
    this.close(opened)
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

  fixed64(field: number, value: bigint): void {
    this.bigint_[0] = value
    this.eight(field)
  }

  fixed32(field: number, value: number): void {
    this.tag(field, fixed32)
    for (let shift = 0; shift < 32; shift += 8) this.buffer[this.at++] = (value >>> shift) & 255
  }

  private eight(field: number): void {
    this.tag(field, fixed64)
    for (let index = 0; index < 8; index++) this.buffer[this.at++] = this.scratch[index] ?? 0
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
