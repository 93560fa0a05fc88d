/** Millions of times in little memory: counts by tenths of a millisecond, a minute at most. */
export class Times {
  readonly #counts = new Uint32Array(600_001)
  count = 0
  max = 0

  add(ms: number): void {
    this.count++
    if (ms > this.max) this.max = ms
    const at = Math.min(600_000, Math.max(0, Math.round(ms * 10)))
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  /** The time, in milliseconds, that this part of all times does not exceed; not a number when there are none. */
  quantile(part: number): number {
    let left = Math.ceil(this.count * part)
    for (let at = 0; at < this.#counts.length && left > 0; at++) {
      left -= this.#counts[at] ?? 0
      if (left <= 0) return at / 10
    }
    return Number.NaN
  }

  summary(): Summary {
    return { count: this.count, p50: this.quantile(0.5), p99: this.quantile(0.99), max: this.max }
  }
}

/** Milliseconds. */
export interface Summary {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}
