/**
 * Watches for silence. Whoever is heard writes down when, and no more: Node's timers are a list, and to move one to its end touches
 * the timers of other streams, which are in no cache of the processor.
 */
export class Silence {
  private readonly limit: number
  private readonly onSilence: () => void
  private timer: NodeJS.Timeout
  private last = performance.now()

  /** `onSilence` is called each time that nothing was heard for so many milliseconds. */
  constructor(limit: number, onSilence: () => void) {
    this.limit = limit
    this.onSilence = onSilence
    this.timer = setTimeout(this.look, limit)
  }

  heard(): void {
    this.last = performance.now()
  }

  close(): void {
    clearTimeout(this.timer)
  }

  private readonly look = (): void => {
    const now = performance.now()
    const left = this.last + this.limit - now
    const silent = left <= 0
    if (silent) this.last = now
    this.timer = setTimeout(this.look, silent ? this.limit : Math.ceil(left))
    // It may close this.
    if (silent) this.onSilence()
  }
}
