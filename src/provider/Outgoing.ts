/**
 * A body on its way out: a small one printed at once, a large one in slices. It is let go when the cloud has answered, so that a
 * running stream does not hold what was asked.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Print } from "../wire/print.ts"
import { inTurns } from "../wire/turns.ts"
import type { Body } from "./Provider.ts"

/** Bodies of streams above this many bytes are handed to undici piece by piece, because it holds a whole one until the end. */
const heldBytes = 4 * 1024

const encoder = new TextEncoder()

/** What is signed: the text, or a stand-in for its digest (`digestOf`). */
export type Signable = string | Uint8Array

/** Digests of bodies that were hashed while they were printed, by the buffer that stands for them. */
const digests = new WeakMap<ArrayBufferLike, Uint8Array>()
export const digestOf = (stand: Uint8Array): Uint8Array | undefined => digests.get(stand.buffer)

export class Outgoing {
  /** Prints a large body; undefined where nothing is left to do. To be run before anything else is asked. */
  printing: Effect.Effect<void> | undefined
  private text = ""
  private pieces: ReadonlyArray<Buffer> | undefined
  private size = 0
  private stand: Uint8Array | undefined

  /** `hashed`: whether the body will be signed. */
  constructor(body: Body, { hashed = false, large }: { readonly large: boolean; readonly hashed?: boolean }) {
    if (large) this.printing = Effect.suspend(() => this.printLarge(body, hashed))
    else {
      this.printing = undefined
      this.text = JSON.stringify(body)
    }
  }

  /** What undici is given, and what it must say of it. */
  readonly forWire = (
    stream: boolean
  ): { readonly body: string | Uint8Array | Iterable<Uint8Array>; readonly length?: string } => {
    const { pieces, text } = this
    if (pieces !== undefined) return { body: this.each(), length: String(this.size) }
    if (!stream) return { body: text }
    // Memory of its own: a part of Node's pool would keep 64 KiB until the stream ends.
    if (text.length < heldBytes) return { body: encoder.encode(text) }
    const bytes = Buffer.from(text)
    this.pieces = [bytes]
    this.size = bytes.length
    return { body: this.each(), length: String(bytes.length) }
  }

  readonly signable = (): Signable => this.stand ?? this.text

  /** The body is needed no more. */
  readonly release = (): void => {
    this.text = ""
    this.pieces = undefined
    this.printing = undefined
  }

  /** Reads the pieces when they are asked for, so that none is held by whoever iterates. */
  private each(): Iterable<Uint8Array> {
    const next = (at: number): Uint8Array | undefined => this.pieces?.[at]
    return (function* () {
      for (let at = 0; ; at++) {
        const piece = next(at)
        if (piece === undefined) return
        yield piece
      }
    })()
  }

  private printLarge(body: Body, hashed: boolean): Effect.Effect<void> {
    const print = new Print(body)
    const hash = hashed ? createHash("sha256") : undefined
    let read = 0
    const step = (): boolean => {
      const done = print.step()
      for (; read < print.pieces.length; read++) hash?.update(print.pieces[read] as Buffer)
      return done
    }
    return Effect.map(inTurns(step), () => {
      this.pieces = print.pieces
      this.size = print.size
      if (hash === undefined) return
      const digest = hash.digest()
      this.stand = new Uint8Array(1)
      digests.set(this.stand.buffer, digest)
    })
  }
}
