/** How slow the machine is now, for limits of processor time: a core that is shared does less in the same time. */
const sample = JSON.stringify(Array.from({ length: 40_000 }, (_, at) => ({ name: `v${at}`, at })))
/** What reading the sample takes where nothing else runs, in milliseconds. */
const usual = 7

/** So many times as long as usual everything takes; 1 on a machine that is fast and does nothing else. */
export const slowness = (): number => {
  const before = process.threadCpuUsage()
  JSON.parse(sample)
  const { system, user } = process.threadCpuUsage(before)
  return Math.max(1, (user + system) / 1000 / usual)
}
