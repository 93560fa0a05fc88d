import { slowness } from "./slowness.ts"

/**
 * The longest turn of the event loop while something runs, in milliseconds of processor time as a machine would take that does nothing
 * else.
 */
export const longestTurn = async (run: () => Promise<unknown>): Promise<number> => {
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
