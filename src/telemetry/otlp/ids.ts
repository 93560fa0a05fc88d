/** Random IDs of traces and spans, as hex: many are pieces of one text, for which Node is asked once. */
import { randomFillSync } from "node:crypto"

const bytes = Buffer.allocUnsafeSlow(4096)
let hex = ""
let at = 0

/** An ID of zeros means that there is none. */
const next = (length: number, none: string): string => {
  if (at + length > hex.length) {
    hex = randomFillSync(bytes).toString("hex")
    at = 0
  }
  const id = hex.slice(at, at + length)
  at += length
  return id === none ? next(length, none) : id
}

const noTrace = "0".repeat(32)
const noSpan = "0".repeat(16)

export const ids = {
  generateTraceId: (): string => next(32, noTrace),
  generateSpanId: (): string => next(16, noSpan)
}
