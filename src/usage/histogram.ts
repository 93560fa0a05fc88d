/** Percentiles of times in fixed memory: counts in bins that grow by the same factor, so that the relative error is bounded. */

/** A percentile is at most this far from the true one, as a share of it. */
export const relativeError = 0.01
const factor = (1 + relativeError) / (1 - relativeError)
const perLog = 1 / Math.log(factor)
/** In milliseconds. What is below or above falls into the first or last bin. */
const smallest = 0.05
const largest = 86_400_000
const binOf = (value: number): number => Math.ceil(Math.log(value / smallest) * perLog)
const bins = binOf(largest) + 1

export interface Histogram {
  readonly counts: Uint32Array
  total: number
}

export const emptyHistogram = (): Histogram => ({ counts: new Uint32Array(bins), total: 0 })

export const addTo = (histogram: Histogram, milliseconds: number): void => {
  const bin = milliseconds <= smallest ? 0 : milliseconds >= largest ? bins - 1 : binOf(milliseconds)
  histogram.counts[bin] = (histogram.counts[bin] ?? 0) + 1
  histogram.total++
}

/** The value that a share of the values (0 to 1) does not exceed, nearest rank; undefined when there are none. */
export const percentile = ({ counts, total }: Histogram, share: number): number | undefined => {
  if (total === 0) return undefined
  const rank = Math.max(1, Math.ceil(share * total))
  let seen = 0
  for (const [bin, count] of counts.entries()) {
    seen += count
    // The point of the bin that is equally far, relatively, from both its ends.
    if (seen >= rank) return bin === 0 ? 0 : (smallest * factor ** bin * 2) / (1 + factor)
  }
  return undefined
}
