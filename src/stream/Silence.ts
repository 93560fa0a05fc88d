/**
 * Watches for silence. Whoever hears something writes down when, and no more: Node's timers are a list, and to move one to its end
 * touches the timers of other streams, which are in no cache of the processor. What is written down is the watched one's own, in
 * whole milliseconds, for the same reason: V8 keeps a small integer in the object, and other numbers beside it.
 */
export class Silence {
  private readonly limit: number
  private readonly lastHeard: () => number
  private readonly onSilence: () => void
  private timer: NodeJS.Timeout
  /** When it began to watch, or noticed silence last. */
  private from = performance.now()

  /** `onSilence` is called each time that nothing was heard for so many milliseconds; `lastHeard` answers a time of `clock`. */
  constructor(limit: number, lastHeard: () => number, onSilence: () => void) {
    this.limit = limit
    this.lastHeard = lastHeard
    this.onSilence = onSilence
    this.timer = setTimeout(this.look, limit)
  }

  close(): void {
    clearTimeout(this.timer)
  }

  private readonly look = (): void => {
    const now = performance.now()
    const left = Math.max(this.from, this.lastHeard()) + this.limit - now
    const silent = left <= 0
    if (silent) this.from = now
    this.timer = setTimeout(this.look, silent ? this.limit : Math.ceil(left))
    // It may close this.
    if (silent) this.onSilence()
  }
}

/** Whole milliseconds of the process's clock. */
export const clock = (): number => Math.floor(performance.now())
