/** Bytes that come in pieces, as lines, in bounded memory. */

/** A longer line is no record. Our longest is a few kilobytes. */
export const longestLine = 1_048_576

/** Gets each line without its line feed, counted from 1; undefined for one that is too long. */
export type TakeLine = (line: string | undefined, number: number) => void

const lineFeed = 10

export const makeLines = (take: TakeLine) => {
  const decoder = new TextDecoder()
  // The beginning of a line whose end has not come; of one that is too long, its length only.
  let pieces: Array<Uint8Array> = []
  let length = 0
  let count = 0

  const keep = (bytes: Uint8Array) => {
    length += bytes.length
    if (length > longestLine) pieces = []
    else if (bytes.length > 0) pieces.push(bytes)
  }
  const flush = () => {
    take(length > longestLine ? undefined : decoder.decode(Buffer.concat(pieces)), ++count)
    pieces = []
    length = 0
  }

  return {
    push: (bytes: Uint8Array): void => {
      const last = bytes.lastIndexOf(lineFeed)
      if (last >= 0) {
        const first = length > 0 ? bytes.indexOf(lineFeed) : -1
        if (length > 0) {
          keep(bytes.subarray(0, first))
          flush()
        }
        // One text for all whole lines: a call a line would cost more than the rest.
        const text = decoder.decode(bytes.subarray(first + 1, last + 1))
        for (let at = 0; at < text.length; ) {
          const end = text.indexOf("\n", at)
          take(end - at > longestLine ? undefined : text.slice(at, end), ++count)
          at = end + 1
        }
      }
      keep(bytes.subarray(last + 1))
    },
    /** What stands after the last line feed is a line too. */
    end: (): void => {
      if (length > 0) flush()
    },
    /** Lines so far. */
    count: () => count
  }
}
