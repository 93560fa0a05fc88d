const empty = Buffer.alloc(0)

/**
 * The bytes of an unfinished line or frame, kept from one network chunk to the next. A chunk that comes while nothing is kept is viewed
 * and not copied; else the buffer doubles as it grows, so that n bytes cost O(n) however small the chunks they come in.
 */
export class Remainder {
  private buffer: Buffer = empty
  private owned = false
  length = 0

  append(bytes: Uint8Array): void {
    const { buffer, length } = this
    if (length === 0) {
      this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      this.owned = false
    } else {
      if (!this.owned || length + bytes.length > buffer.length) {
        this.buffer = Buffer.allocUnsafe(Math.max(length + bytes.length, 2 * length, 256))
        this.buffer.set(buffer.subarray(0, length))
        this.owned = true
      }
      this.buffer.set(bytes, length)
    }
    this.length += bytes.length
  }

  /** The kept bytes, valid until the next `append`. */
  view(): Buffer {
    return this.buffer.subarray(0, this.length)
  }

  /** Drops so many of the first bytes. The others are kept apart from the chunk that they came in. */
  drop(bytes: number): void {
    this.length -= bytes
    if (this.length === 0) this.buffer = empty
    else if (bytes > 0 || !this.owned) this.buffer = Buffer.from(this.buffer.subarray(bytes, bytes + this.length))
    this.owned = true
  }
}
