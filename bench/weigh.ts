/** What processes and the machine use, from Linux's `/proc`. */
import { readFileSync } from "node:fs"

/** Linux counts processor time in hundredths of a second. */
const tickMs = 10

/** Milliseconds of all threads of a process so far. */
export const cpuOf = (pid: number | undefined): number => {
  // The name in the second field may hold spaces; user and system time are the 14th and 15th.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

/** Resident memory in MiB, now and at most so far. */
export const memoryOf = (pid: number | undefined) => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  const mib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
  return { rss: mib("VmRSS"), peak: mib("VmHWM") }
}

/** Milliseconds in which all cores were at work so far, or taken by the machine's host. */
export const machineCpu = (): number => {
  const line = /^cpu +(.*)/.exec(readFileSync("/proc/stat", "utf8"))?.[1] ?? ""
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(" ").map(Number)
  return (user + nice + system + irq + softirq + steal) * tickMs
}

/** Files that a process may open here. */
export const openFiles = (): number =>
  Number(/Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1])

/** A stream takes two sockets of the gateway, which needs some files beside them. */
export const streamsWithin = (wanted: number): number => Math.min(wanted, Math.floor((openFiles() - 500) / 2))
