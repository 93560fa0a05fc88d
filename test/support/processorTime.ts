/** Milliseconds of processor time that synchronous work takes: on a machine that is busy with other things nearly the same. */
export const processorTime = (work: () => void): number => {
  const before = process.threadCpuUsage()
  work()
  const { system, user } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
