/**
 * CRC-32 of messages that each end in their own CRC-32, most significant byte first: what all of them together must have can be told
 * from the checksums that they end in. So one native call checks them all, which takes three times as long as its work on one frame.
 */

/** The generator of CRC-32; here as elsewhere the highest bit is the lowest power. */
const generator = 0xedb88320

/** The product of two polynomials modulo the generator. */
const multiply = (a: number, b: number): number => {
  let product = 0
  let shifted = b
  for (let bit = 31; bit >= 0; bit--) {
    product ^= shifted & -((a >>> bit) & 1)
    shifted = (shifted >>> 1) ^ (generator & -(shifted & 1))
  }
  return product
}

/** What a checksum is multiplied with when so many bytes follow (`crc32_combine` of zlib). */
export const shiftOf = (bytes: number): number => {
  let shift = 0x8000_0000
  let square = 0x0080_0000
  for (let left = bytes; left > 0; left >>>= 1) {
    if ((left & 1) === 1) shift = multiply(square, shift)
    square = multiply(square, square)
  }
  return shift
}

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let entry = byte
  for (let bit = 0; bit < 8; bit++) entry = (entry >>> 1) ^ (generator & -(entry & 1))
  return entry
})

/** The checksum of a message together with the checksum that it ends in. */
const sealed = (checksum: number): number => {
  let state = ~checksum
  for (let bits = 24; bits >= 0; bits -= 8) {
    state = (table[(state ^ (checksum >>> bits)) & 0xff] ?? 0) ^ (state >>> 8)
  }
  return ~state
}

/** The checksum of what has the checksum `before` and a message that ends in `checksum`; `shift`: of all of that message's bytes. */
export const followedBy = (before: number, shift: number, checksum: number): number =>
  (multiply(shift, before) ^ sealed(checksum)) >>> 0
