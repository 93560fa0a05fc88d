import { assert } from "@effect/vitest"
import { slowness } from "./slowness.ts"

/**
 * The longest turn of the event loop while something runs, in milliseconds of processor time as a machine would take that does nothing
 * else.
 */
const longestTurn = async (run: () => Promise<unknown>): Promise<number> => {
  let longest = 0
  const slow = slowness()
  let over = false
  let before = process.threadCpuUsage()
  const look = () => {
    const now = process.threadCpuUsage()
    longest = Math.max(longest, (now.user - before.user + now.system - before.system) / 1000)
    before = now
    if (!over) setImmediate(look)
  }
  setImmediate(look)
  await run()
  over = true
  look()
  return longest / Math.min(slow, slowness())
}

/**
 * That something holds up nobody for longer than this many milliseconds. Work in one piece is long in each of three runs; what the
 * garbage collector and other processes add is not.
 */
export const assertShortTurns = async (limit: number, run: () => Promise<unknown>): Promise<void> => {
  let longest = Number.POSITIVE_INFINITY
  for (let runs = 0; runs < 3 && longest >= limit; runs++) longest = Math.min(longest, await longestTurn(run))
  assert.isBelow(longest, limit, "the longest turn")
}
