/** Percentiles of times in fixed memory: counts in bins that grow by the same factor, so that the relative error is bounded. */

interface HistogramOptions {
  /** In milliseconds. What is below or above falls into the first or last bin. */
  readonly smallest: number
  readonly largest: number
  /** Between one bin and the next; a percentile is right within its square root. */
  readonly factor: number
}

export const makeHistogram = ({ smallest, largest, factor }: HistogramOptions) => {
  const binOf = (milliseconds: number) => Math.round(Math.log(milliseconds / smallest) / Math.log(factor))
  const last = binOf(largest)
  const add = (counts: Uint32Array, bin: number, more: number) => {
    counts[bin] = (counts[bin] ?? 0) + more
  }
  return {
    empty: () => new Uint32Array(last + 1),
    add: (counts: Uint32Array, milliseconds: number): void => {
      add(counts, milliseconds <= smallest ? 0 : Math.min(last, binOf(milliseconds)), 1)
    },
    /** The bins that are not empty, each with its count: to be sent, and added elsewhere. */
    pairs: (counts: Uint32Array): ReadonlyArray<number> =>
      [...counts].flatMap((count, bin) => (count === 0 ? [] : [bin, count])),
    addPairs: (counts: Uint32Array, pairs: ReadonlyArray<number>): void => {
      for (let at = 0; at < pairs.length; at += 2) add(counts, pairs[at] ?? 0, pairs[at + 1] ?? 0)
    },
    /** The value that a share of the values (0 to 1) does not exceed, nearest rank; undefined when there are none. */
    percentile: (counts: Uint32Array, share: number): number | undefined => {
      const total = counts.reduce((sum, count) => sum + count, 0)
      const rank = Math.max(1, Math.ceil(share * total))
      let seen = 0
      for (const [bin, count] of counts.entries()) {
        seen += count
        if (seen >= rank) return bin === 0 ? 0 : smallest * factor ** bin
      }
      return undefined
    }
  }
}
