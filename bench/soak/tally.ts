/** What was counted. */
export type Problems = ReadonlyArray<readonly [what: string, times: number]>

export const counter = () => {
  const counts = new Map<string, number>()
  return { counts, add: (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1) }
}

/** Milliseconds. */
export interface Summary {
  readonly count: number
  readonly p99: number
}

/** Millions of times in little memory: counts of tenths of a millisecond, up to a minute. */
export const makeTimes = () => {
  const counts = new Uint32Array(600_001)
  let count = 0
  return {
    add: (ms: number): void => {
      const at = Math.min(600_000, Math.max(0, Math.round(ms * 10)))
      counts[at] = (counts[at] ?? 0) + 1
      count++
    },
    summary: (): Summary => {
      let left = Math.ceil(count * 0.99)
      const at = counts.findIndex((times) => {
        left -= times
        return left <= 0
      })
      return { count, p99: count === 0 ? Number.NaN : at / 10 }
    }
  }
}
