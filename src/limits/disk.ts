/** Disks that fail are called so: full, over their quota, read-only or broken. */
import { Context, Metric } from "effect"

const failures = Metric.counter("gateway_disk_failures_total", {
  description: "Writes that a disk refused, by what was written (`use`) and by why: full, quota, read-only, io",
  incremental: true
})

interface Fault {
  readonly reason: "full" | "quota" | "read-only" | "io"
  readonly words: string
}

const full: Fault = { reason: "full", words: "the disk is full" }
const broken: Fault = { reason: "io", words: "the disk has failed" }
/** By the system's code, and by SQLite's primary one. */
const faults: Readonly<Record<string, Fault>> = {
  ENOSPC: full,
  EDQUOT: { reason: "quota", words: "the disk quota is used up" },
  EROFS: { reason: "read-only", words: "the file system is read-only" },
  EIO: broken,
  8: { reason: "read-only", words: "the file or its file system is read-only" },
  10: broken,
  13: full
}

const codeOf = (cause: unknown): unknown => {
  if (typeof cause !== "object" || cause === null) return undefined
  if ("errcode" in cause) return Number(cause.errcode) & 0xff
  return "code" in cause ? cause.code : "cause" in cause ? codeOf(cause.cause) : undefined
}

const faultOf = (cause: unknown): Fault | undefined => faults[String(codeOf(cause))]

/** What an error says, and in plain words, where a disk is behind it. */
export const writeProblem = (cause: unknown): string => {
  const message = typeof cause === "object" && cause !== null && "message" in cause ? cause.message : cause
  const fault = faultOf(cause)
  return fault === undefined ? String(message) : `${fault.words}: ${message}`
}

/** Counts a write that failed, where a disk is behind it. `use` is what was written. */
export const countDiskFailure = (use: "state" | "usage-log", cause: unknown): void => {
  const fault = faultOf(cause)
  if (fault === undefined) return
  Metric.withAttributes(failures, { use, reason: fault.reason }).updateUnsafe(1, Context.empty())
}
