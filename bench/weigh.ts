/** What processes and the machine spend, from Linux's `/proc`; zeros where there is none. */
import { existsSync, readFileSync } from "node:fs"

export interface Weight {
  /** Resident memory now, and at most so far, MiB. */
  readonly rss: number
  readonly peak: number
  /** Processor time so far, milliseconds: of all threads, and of the main thread alone. */
  readonly cpu: number
  readonly main: number
}

/** Linux counts processor time in hundredths of a second. */
const TICK = 10

/** User and system time of a `stat` line: its 14th and 15th fields. */
const processorTime = (file: string): number => {
  const fields = readFileSync(file, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")
  return (Number(fields[11]) + Number(fields[12])) * TICK
}

export const weigh = (pid: number | undefined): Weight => {
  const root = `/proc/${pid}`
  if (!existsSync(root)) return { rss: 0, peak: 0, cpu: 0, main: 0 }
  const status = readFileSync(`${root}/status`, "utf8")
  const mib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024
  return {
    rss: mib("VmRSS"),
    peak: mib("VmHWM"),
    cpu: processorTime(`${root}/stat`),
    main: processorTime(`${root}/task/${pid}/stat`)
  }
}

/** Milliseconds in which the machine's cores were at work so far, or were taken from it by its host. */
export const machineBusy = (): number => {
  if (!existsSync("/proc/stat")) return 0
  const line = /^cpu +(.*)/.exec(readFileSync("/proc/stat", "utf8"))?.[1] ?? ""
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(" ").map(Number)
  return (user + nice + system + irq + softirq + steal) * TICK
}

/** A process and all that descend from it. */
export const familyOf = (pid: number): ReadonlyArray<number> => {
  const file = `/proc/${pid}/task/${pid}/children`
  const own = existsSync(file) ? readFileSync(file, "utf8").trim() : ""
  return [pid, ...(own === "" ? [] : own.split(" ").flatMap((child) => familyOf(Number(child))))]
}
