/** Bytes that come in pieces, as lines, in bounded memory. */

/** A longer line is no record. Our longest is a few kilobytes. */
export const longestLine = 1_048_576

/** Gets each line without its line feed, counted from 1; undefined for one that is too long. */
export type TakeLine = (line: string | undefined, number: number) => void

export interface Lines {
  readonly push: (bytes: Uint8Array) => void
  /** What stands after the last line feed is a line too. */
  readonly end: () => void
  /** Lines so far. */
  readonly count: () => number
}

const lineFeed = 10

export const makeLines = (take: TakeLine): Lines => {
  const decoder = new TextDecoder()
  // The beginning of a line whose end has not come.
  let pieces: Array<Uint8Array> = []
  let kept = 0
  let tooLong = false
  let count = 0

  const keep = (bytes: Uint8Array) => {
    if (bytes.length === 0 || tooLong) return
    kept += bytes.length
    tooLong = kept > longestLine
    if (tooLong) pieces = []
    else pieces.push(bytes)
  }
  /** The line that began in the pieces. */
  const flush = () => {
    const line = tooLong ? undefined : decoder.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))
    pieces = []
    kept = 0
    tooLong = false
    take(line, ++count)
  }

  return {
    push: (bytes) => {
      const last = bytes.lastIndexOf(lineFeed)
      if (last < 0) return keep(bytes)
      let start = 0
      if (kept > 0) {
        const first = bytes.indexOf(lineFeed)
        keep(bytes.subarray(0, first))
        flush()
        start = first + 1
      }
      if (start <= last) {
        // One text for all whole lines: a call a line would cost more than the rest.
        const text = decoder.decode(bytes.subarray(start, last + 1))
        for (let at = 0; at < text.length; ) {
          const end = text.indexOf("\n", at)
          const line = text.slice(at, end)
          take(line.length > longestLine ? undefined : line, ++count)
          at = end + 1
        }
      }
      keep(bytes.subarray(last + 1))
    },
    end: () => {
      if (kept > 0) flush()
    },
    count: () => count
  }
}
