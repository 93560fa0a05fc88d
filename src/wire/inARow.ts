/**
 * Pieces of bytes in a row, for whoever reads them at once. With memory of its own for each row, which is cold and has to be collected,
 * Bedrock's streams in bursts make a tenth fewer events a second.
 */

/** What one read of a socket brings. */
const desk = Buffer.allocUnsafeSlow(64 * 1024)

/** The pieces in a row. Valid until the next call, whoever makes it: what is kept must be copied. */
export const inARow = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first] = pieces
  if (pieces.length === 1 && first !== undefined) return first
  let size = 0
  for (const piece of pieces) size += piece.length
  if (size > desk.length) return Buffer.concat(pieces, size)
  let at = 0
  for (const piece of pieces) {
    desk.set(piece, at)
    at += piece.length
  }
  return desk.subarray(0, size)
}
