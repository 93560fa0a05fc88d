/**
 * One call over undici's dispatcher: its head when it comes, then its body chunk by chunk, as fast as it is asked for. What is
 * not asked for stays with the upstream, but for what one read of the socket brought.
 */
import type { Dispatcher } from "@effect/platform-node/Undici"
import { Effect } from "effect"
import { GatewayError } from "../model/GatewayError.ts"
import { brokenOff, transportError } from "./transport.ts"

export interface Body {
  /** The next chunk; undefined at the end; a failure when the body breaks off or is stopped. One reader at a time. */
  readonly next: Effect.Effect<Uint8Array | undefined, GatewayError>
  /** Gives up what is left; an ended body keeps its connection. */
  readonly close: () => void
}

/** The head of a reply, and its body. */
export interface Head {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: Body
}

/** Ends a call at any moment, with the failure that whoever reads it will see. */
export class Stopper {
  private stopped: GatewayError | undefined
  private readonly calls = new Set<(error: GatewayError) => void>()
  get error(): GatewayError | undefined {
    return this.stopped
  }
  /** The first reason counts. */
  readonly stop = (error: GatewayError): void => {
    if (this.stopped !== undefined) return
    this.stopped = error
    for (const call of this.calls) call(error)
  }
  /** Calls back when it is stopped, at once if it has been; answers how to forget the call. */
  readonly watch = (call: (error: GatewayError) => void): (() => void) => {
    if (this.stopped !== undefined) call(this.stopped)
    else this.calls.add(call)
    return () => {
      this.calls.delete(call)
    }
  }
}

const abandoned = new GatewayError({ reason: "upstream", message: "the call was given up", code: "cancelled" })

type Next = Effect.Effect<Uint8Array | undefined, GatewayError>
const end: Next = Effect.succeed(undefined)

/** Most bytes that wait for a reader before the upstream has to. */
const maxWaiting = 64 * 1024

/**
 * undici's own promises and streams would cost as much again as the call. Whoever waits is woken when undici has taken in what
 * one read of the socket brought: all of it is there by then, and the connection of a reply that has ended is free.
 */
class Exchange implements Dispatcher.DispatchHandler, Body {
  private readonly answer: (head: Effect.Effect<Head, GatewayError>) => void
  private readonly forget: () => void
  private controller: Dispatcher.DispatchController | undefined
  private head: Effect.Effect<Head, GatewayError> | undefined
  private answered = false
  private chunks: Array<Uint8Array> = []
  private waiting = 0
  /** What comes after the chunks that wait: the end or a failure. */
  private settled: Next | undefined
  private reader: ((next: Next) => void) | undefined
  private waking = false

  constructor(stopper: Stopper, answer: (head: Effect.Effect<Head, GatewayError>) => void) {
    this.answer = answer
    this.forget = stopper.watch((error) => {
      this.chunks = []
      this.fail(error)
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.settled !== undefined) controller.abort(abandoned)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Head["headers"]): void {
    if (status < 200) return
    this.head = Effect.succeed({ status, headers, body: this })
    this.wake()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.settled !== undefined) return
    this.chunks.push(chunk)
    this.waiting += chunk.length
    if (this.waiting > maxWaiting) controller.pause()
    this.wake()
  }

  onResponseEnd(): void {
    this.settle(end)
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    this.fail(this.head === undefined ? transportError(error) : brokenOff)
  }

  /** Whoever waits for the head or a chunk hears of it; the connection is lost. */
  private fail(error: GatewayError): void {
    if (this.settled !== undefined) return
    const failure = Effect.fail(error)
    this.head ??= failure
    this.settle(failure)
    this.controller?.abort(error)
  }

  private settle(next: Next): void {
    if (this.settled !== undefined) return
    this.settled = next
    this.forget()
    this.wake()
  }

  private wake(): void {
    if (this.waking) return
    this.waking = true
    queueMicrotask(() => {
      this.waking = false
      if (!this.answered && this.head !== undefined) {
        this.answered = true
        this.answer(this.head)
      }
      if (this.reader === undefined) return
      const next = this.take()
      if (next === undefined) return
      const { reader } = this
      this.reader = undefined
      reader(next)
    })
  }

  private take(): Next | undefined {
    const { chunks } = this
    const [only] = chunks
    if (only === undefined) return this.settled
    this.chunks = []
    this.waiting = 0
    this.controller?.resume()
    return Effect.succeed(chunks.length === 1 ? only : Buffer.concat(chunks))
  }

  private readonly wait: Next = Effect.callback((resume) => {
    this.reader = resume
    return Effect.sync(() => {
      this.reader = undefined
    })
  })

  readonly next: Next = Effect.suspend(() => this.take() ?? this.wait)

  readonly close = (): void => {
    this.fail(abandoned)
  }
}

/** Sends a request; the stopper ends it, and so does an interruption before its head has come. */
export const dispatch = (
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  stopper: Stopper
): Effect.Effect<Head, GatewayError> =>
  Effect.callback((resume) => {
    const exchange = new Exchange(stopper, resume)
    if (stopper.error === undefined) dispatcher.dispatch(options, exchange)
    return Effect.sync(exchange.close)
  })
