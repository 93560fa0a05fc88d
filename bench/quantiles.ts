/** What is not a number is left out, as of a round without an answer. */
export const quantile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const [low = Number.NaN, high = low] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
  return low + (high - low) * (place - Math.floor(place))
}

export const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)
export const mean = (values: ReadonlyArray<number>): number =>
  values.reduce((total, value) => total + value, 0) / values.length
