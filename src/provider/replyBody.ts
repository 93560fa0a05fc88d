/** Reads a reply's body chunk by chunk, as fast as it is asked for: what is not asked for stays with the upstream. */
import type { Readable } from "node:stream"
import { Effect } from "effect"
import type { GatewayError } from "../model/GatewayError.ts"
import { brokenOff } from "./transport.ts"

export interface Body {
  /** The next chunk; undefined at the end; a failure when the body breaks off or is stopped. One reader at a time. */
  readonly next: Effect.Effect<Uint8Array | undefined, GatewayError>
  /** Gives up what is left; an ended body keeps its connection. */
  readonly close: () => void
}

type Next = Effect.Effect<Uint8Array | undefined, GatewayError>
const end: Next = Effect.succeed(undefined)

/** `stopped` says why a body was ended from our side, if it was. */
export const openBody = (readable: Readable, stopped: () => GatewayError | undefined): Body => {
  let settled: Next | undefined
  let waiting: ((next: Next) => void) | undefined

  const answer = (next: Next) => {
    const resume = waiting
    waiting = undefined
    resume?.(next)
  }
  const settle = (next: Next) => {
    settled ??= next
    answer(settled)
  }
  const take = (): Next | undefined => {
    const chunk: Uint8Array | null = readable.read()
    return chunk === null ? settled : Effect.succeed(chunk)
  }
  readable.on("readable", () => {
    if (waiting === undefined) return
    const next = take()
    if (next !== undefined) answer(next)
  })
  readable.on("end", () => settle(end))
  readable.on("error", () => settle(Effect.fail(stopped() ?? brokenOff)))
  readable.on("close", () => settle(Effect.fail(stopped() ?? brokenOff)))

  const wait: Next = Effect.callback((resume) => {
    const next = take()
    if (next !== undefined) return resume(next)
    waiting = resume
    return Effect.sync(() => {
      waiting = undefined
    })
  })
  return {
    next: Effect.suspend(() => take() ?? wait),
    close: () => {
      if (settled === undefined) readable.destroy()
    }
  }
}
