/** How much longer something takes when it has four times as much to do. */

/** The least processor time of several runs, in milliseconds: other processes on the machine lengthen some of them. */
export const leastTime = (run: () => unknown, runs = 3): number => {
  let least = Number.POSITIVE_INFINITY
  for (let left = runs; left > 0; left--) {
    const before = process.threadCpuUsage()
    run()
    const { system, user } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}

/** A size below which a step is noise, in milliseconds. */
const measurable = 2

/**
 * The ratio of the times for four times as much and for as much. Measured again while it looks superlinear, because only
 * what is so on each occasion is so.
 */
export const growth = (size: number, prepare: (size: number) => () => unknown, rounds = 4): number => {
  const [small, large] = [prepare(size), prepare(4 * size)]
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds && least > 6; round++) {
    least = Math.min(least, leastTime(large) / Math.max(measurable, leastTime(small)))
  }
  return least
}
