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
const factorOf = (bytes: number): number => {
  let factor = 0x8000_0000
  let square = 0x0080_0000
  for (let left = bytes; left > 0; left >>>= 1) {
    if ((left & 1) === 1) factor = multiply(square, factor)
    square = multiply(square, square)
  }
  return factor
}

/** What becomes of a checksum when so many bytes follow: sixteen products for each of its eight hexadecimal digits. */
export type Shift = Int32Array

export const shiftOf = (bytes: number): Shift => {
  const factor = factorOf(bytes)
  const products = new Int32Array(8 * 16)
  for (let at = 0; at < products.length; at++) {
    const digit = at & 15
    const lowest = digit & -digit
    // The product of a sum is the sum of the products.
    products[at] = (products[at - lowest] ?? 0) ^ multiply(factor, lowest << ((at >>> 4) * 4))
  }
  return products
}

const shifted = (by: Shift, checksum: number): number => {
  let sum = 0
  for (let at = 0; at < 8; at++) sum ^= by[(at << 4) | ((checksum >>> (at << 2)) & 15)] ?? 0
  return sum
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
export const followedBy = (before: number, shift: Shift, checksum: number): number =>
  (shifted(shift, before) ^ sealed(checksum)) >>> 0
