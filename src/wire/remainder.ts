const empty = Buffer.alloc(0)

/**
 * The bytes of an unfinished line or frame, kept from one network chunk to the next. They double as they grow, so that n bytes cost
 * O(n) however small the chunks they come in.
 */
export class Remainder {
  private buffer = empty
  length = 0

  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    const { buffer, length } = this
    if (length + bytes.length > buffer.length) {
      this.buffer = Buffer.allocUnsafe(Math.max(length + bytes.length, 2 * buffer.length, 256))
      this.buffer.set(buffer.subarray(0, length))
    }
    this.buffer.set(bytes, length)
    this.length += bytes.length
  }

  /** The kept bytes, valid until the next `append`. */
  view(): Buffer {
    return this.buffer.subarray(0, this.length)
  }

  /** The kept bytes, which are then the taker's. */
  take(): Buffer {
    const taken = this.view()
    this.buffer = empty
    this.length = 0
    return taken
  }
}

/** The same memory as a `Buffer`, whose searching and decoding are native. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
