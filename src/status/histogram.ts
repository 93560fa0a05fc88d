/** Times in buckets that grow by a fifth: small, quick to count in, and joined by adding. */

/** Buckets for each doubling; a percentile is right within 9 %. */
const perDoubling = 4
/** From 1 ms to half an hour; what takes longer is in the last. */
export const buckets = 84

export const bucketOf = (milliseconds: number): number =>
  milliseconds <= 1 ? 0 : Math.min(buckets - 1, Math.round(Math.log2(milliseconds) * perDoubling))

/** The time in milliseconds below which this share of the counts is; undefined where nothing was counted. */
export const percentile = (counts: ArrayLike<number>, share: number): number | undefined => {
  let total = 0
  for (let bucket = 0; bucket < counts.length; bucket++) total += counts[bucket] ?? 0
  if (total === 0) return undefined
  let rest = Math.ceil(total * share)
  for (let bucket = 0; bucket < counts.length; bucket++) {
    rest -= counts[bucket] ?? 0
    if (rest <= 0) return Math.round(2 ** (bucket / perDoubling))
  }
  return undefined
}
