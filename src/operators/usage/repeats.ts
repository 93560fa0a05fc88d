/** Records that a file has twice. */
import type { UsedRecord } from "./usedRecord.ts"

/** A failed batch is written again as a whole, so a repeated record is at most a batch behind. */
const repeatWindow = 1024
const maxInstances = 256

/** Whether a chained record was read among the last of its chain. */
export const makeRepeats = () => {
  const seen = new Map<string, Float64Array>()
  return ({ instance, seq }: UsedRecord): boolean => {
    if (typeof instance !== "string" || typeof seq !== "number") return false
    const known = seen.get(instance)
    if (known === undefined && seen.size >= maxInstances) seen.delete(seen.keys().next().value ?? "")
    const ring = known ?? new Float64Array(repeatWindow)
    seen.set(instance, ring)
    const slot = seq % repeatWindow
    if (ring[slot] === seq) return true
    ring[slot] = seq
    return false
  }
}
