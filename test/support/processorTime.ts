/** Milliseconds of processor time that synchronous work takes: on a machine that is busy with other things nearly the same. */
export const processorTime = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return (user + system) / 1000
}
