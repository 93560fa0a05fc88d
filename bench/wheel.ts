/** Paced streams: one timer turns all of them. */
import { performance } from "node:perf_hooks"

/**
 * Runs the steps of paced streams. Each stream keeps the millisecond it began in: timers of their own would fall into step, and
 * the reader would get many streams' events in one turn.
 */
export const wheel = (every: number) => {
  const slots = Array.from({ length: every }, () => new Set<() => boolean>())
  let steps = 0
  let turned = Math.floor(performance.now())
  let timer: NodeJS.Timeout | undefined
  const turn = () => {
    const now = Math.floor(performance.now())
    while (turned < now) {
      const slot = slots[++turned % every] ?? slots[0]
      for (const step of slot ?? []) {
        if (step()) continue
        slot?.delete(step)
        steps--
      }
    }
    if (steps > 0) return
    clearInterval(timer)
    timer = undefined
  }
  return (step: () => boolean) => {
    if (timer === undefined) {
      turned = Math.floor(performance.now())
      timer = setInterval(turn, 1)
    }
    slots[Math.floor(performance.now()) % every]?.add(step)
    steps++
  }
}
