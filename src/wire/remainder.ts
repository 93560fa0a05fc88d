/** The bytes of an unfinished line or frame, kept from one network chunk to the next. */
export interface Remainder {
  readonly length: () => number
  readonly append: (bytes: Uint8Array) => void
  /** The kept bytes, valid until the next `append`. */
  readonly view: () => Buffer
  /** The kept bytes, which are then the taker's. */
  readonly take: () => Buffer
}

const empty = Buffer.alloc(0)

/** An empty remainder. It doubles as it grows, so that n bytes cost O(n) however small the chunks they come in. */
export const makeRemainder = (): Remainder => {
  let buffer = empty
  let length = 0
  return {
    length: () => length,
    append: (bytes) => {
      if (bytes.length === 0) return
      if (length + bytes.length > buffer.length) {
        const grown = Buffer.allocUnsafe(Math.max(length + bytes.length, 2 * buffer.length, 256))
        grown.set(buffer.subarray(0, length))
        buffer = grown
      }
      buffer.set(bytes, length)
      length += bytes.length
    },
    view: () => buffer.subarray(0, length),
    take: () => {
      const taken = buffer.subarray(0, length)
      buffer = empty
      length = 0
      return taken
    }
  }
}

/** The same memory as a `Buffer`, whose searching and decoding are native. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
