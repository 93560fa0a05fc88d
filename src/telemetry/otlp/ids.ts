/** Random IDs of traces and spans, as hex: many are pieces of one text, for which Node is asked once. */
import { randomFillSync } from "node:crypto"

export interface SpanIds {
  readonly generateTraceId: () => string
  readonly generateSpanId: () => string
}

/** An ID of zeros means that there is none. */
const isNone = (id: string): boolean => /^0+$/.test(id)

export const makeIds = (): SpanIds => {
  const bytes = Buffer.allocUnsafeSlow(4096)
  let hex = ""
  let at = 0
  const next = (length: number): string => {
    if (at + length > hex.length) {
      hex = randomFillSync(bytes).toString("hex")
      at = 0
    }
    const id = hex.slice(at, at + length)
    at += length
    return isNone(id) ? next(length) : id
  }
  return { generateTraceId: () => next(32), generateSpanId: () => next(16) }
}
