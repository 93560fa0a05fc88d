/**
 * Between what reads the upstream and what writes to the caller: the first array is awaited before the status is committed, and
 * silence is filled with comments, so that nobody between takes the connection for dead.
 */
import { Cause, Effect, Exit, Pull, type Scope, Stream } from "effect"
import type { Frame } from "./Frame.ts"

/** A comment, which clients pass over. */
export const keepAlive = "keep-alive"
export type KeepAlive = typeof keepAlive

type Items = readonly [Frame | KeepAlive, ...Array<Frame | KeepAlive>]
const silence: Items = [keepAlive]

/** Holds at most one array that has not been taken; whoever brings the next one waits. */
class Relay<E> {
  private slot: Items | undefined
  private end: Exit.Exit<void, E> | undefined
  private reader: ((items: Pull.Pull<Items, E>) => void) | undefined
  private waiting: { readonly items: Items; readonly resume: (effect: Effect.Effect<void>) => void } | undefined
  private readonly timer: NodeJS.Timeout

  constructor(every: number) {
    this.timer = setTimeout(() => {
      this.timer.refresh()
      this.answer(Effect.succeed(silence))
    }, every)
  }

  readonly offer = (items: Items): Effect.Effect<void> => {
    this.timer.refresh()
    if (this.answer(Effect.succeed(items))) return Effect.void
    if (this.slot === undefined) {
      this.slot = items
      return Effect.void
    }
    return Effect.callback((resume) => {
      this.waiting = { items, resume }
      return Effect.sync(() => {
        this.waiting = undefined
      })
    })
  }

  /** Nothing more comes, well or with a failure; what is held is taken first. */
  readonly close = (exit: Exit.Exit<void, E>): void => {
    this.end = exit
    clearTimeout(this.timer)
    if (this.reader !== undefined) this.answer(this.over(exit))
  }

  readonly take: Pull.Pull<Items, E> = Effect.suspend(() => {
    if (this.slot === undefined) return this.end === undefined ? this.wait : this.over(this.end)
    const taken = Effect.succeed(this.slot)
    const next = this.waiting
    this.waiting = undefined
    this.slot = next?.items
    next?.resume(Effect.void)
    return taken
  })

  private readonly wait: Pull.Pull<Items, E> = Effect.callback((resume) => {
    this.reader = resume
    return Effect.sync(() => {
      this.reader = undefined
    })
  })

  private over(exit: Exit.Exit<void, E>): Pull.Pull<Items, E> {
    return Exit.isSuccess(exit) ? Cause.done() : Effect.failCause(exit.cause)
  }

  private answer(items: Pull.Pull<Items, E>): boolean {
    const { reader } = this
    if (reader === undefined) return false
    this.reader = undefined
    reader(items)
    return true
  }
}

/**
 * The frames, from the first array on. Fails with what they fail with before it. When nothing has come after `every`
 * milliseconds, the reply begins with a comment, and a later failure is part of the stream. The scope ends the reading.
 */
export const paced = Effect.fnUntraced(function* <E>(
  frames: Stream.Stream<Frame, E>,
  every: number
): Effect.fn.Return<Stream.Stream<Frame | KeepAlive, E>, E, Scope.Scope> {
  const relay = new Relay<E>(every)
  const scope = yield* Effect.scope
  yield* Stream.runForEachArray(frames, relay.offer).pipe(
    Effect.onExit((exit) => Effect.sync(() => relay.close(exit))),
    Effect.forkIn(scope, { startImmediately: true })
  )
  let first: Items | undefined = yield* Pull.catchDone(relay.take, () => Effect.succeed(undefined))
  const rest = Effect.suspend((): Pull.Pull<Items, E> => {
    if (first === undefined) return relay.take
    const items = first
    first = undefined
    return Effect.succeed(items)
  })
  return first === undefined ? Stream.empty : Stream.fromPull(Effect.succeed(rest))
})
