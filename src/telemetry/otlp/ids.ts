/** IDs of traces and spans: as bytes for the collector, as hex for everybody else. */
import { randomFillSync } from "node:crypto"
import type { Tracer } from "effect"

/** Bytes, and the same as hex. */
interface Block {
  readonly bytes: Uint8Array
  readonly hex: string
}

/** A piece of a block. */
export class Id {
  readonly bytes: Uint8Array
  readonly at: number
  readonly length: number
  private readonly all: string

  constructor({ bytes, hex }: Block, at: number, length: number) {
    this.bytes = bytes
    this.at = at
    this.length = length
    this.all = hex
  }

  static of(hex: string): Id {
    const bytes = Buffer.from(hex, "hex")
    return new Id({ bytes, hex }, 0, bytes.length)
  }

  get hex(): string {
    return this.all.slice(2 * this.at, 2 * (this.at + this.length))
  }
}

/** What knows its IDs as bytes. */
export interface Identified {
  readonly trace: Id
  readonly id: Id
}

const isIdentified = (span: Tracer.AnySpan): span is Tracer.AnySpan & Identified =>
  "trace" in span && span.trace instanceof Id

/** The IDs of a span, whoever opened it. */
export const idsOf = (span: Tracer.AnySpan): Identified =>
  isIdentified(span) ? span : { trace: Id.of(span.traceId), id: Id.of(span.spanId) }

export interface SpanIds {
  readonly trace: () => Id
  readonly span: () => Id
}

const randomBlock = (): Block => {
  const bytes = randomFillSync(Buffer.allocUnsafeSlow(4096))
  return { bytes, hex: bytes.toString("hex") }
}

/** Random IDs, many from one block, for which Node is asked once. */
export const makeIds = (): SpanIds => {
  let block = randomBlock()
  let at = 0
  const next = (length: number): Id => {
    if (at + length > block.bytes.length) {
      block = randomBlock()
      at = 0
    }
    const start = at
    at += length
    // Of zeros alone it would mean that there is none.
    for (let index = start; index < at; index++) if (block.bytes[index] !== 0) return new Id(block, start, length)
    return next(length)
  }
  return { trace: () => next(16), span: () => next(8) }
}
