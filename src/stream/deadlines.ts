/** Time limits of a streamed reply, and comments in its silence. */
import { type Array as Arr, Cause, Channel, Duration, Effect, Exit, Fiber, Option, Scope, Stream } from "effect"
import { GatewayError } from "../catalog/GatewayError.ts"
import { keepAlive } from "../wire/sse.ts"
import { EndedEarly } from "./Frame.ts"

/** A reply took longer than a request may take. */
export const ceilingError = new GatewayError({
  reason: "timeout",
  message: "the reply took longer than a request may take",
  code: "ceiling"
})

const idleError = new GatewayError({
  reason: "timeout",
  message: "the cloud that serves this model has been silent for too long",
  code: "idle"
})

/** How long a caller may take to read the end of a reply that has been ended. */
const grace = Duration.seconds(2)

export interface DeadlineOptions {
  /** Silence after which a comment is sent. */
  readonly heartbeat: Duration.Duration
  /** Longest silence of the cloud while the gateway waits for it, so not while a slow caller reads. */
  readonly idle: Duration.Duration
  /** When bytes of the cloud came last, in milliseconds of `performance.now()`. */
  readonly lastBytesAt: () => number
  /** Longest whole reply, from the call on. */
  readonly ceiling: Duration.Duration
  /** Calls `end` when the reply must end for another reason: a revoked key, a server that stops. Returns how to unsubscribe. */
  readonly onTermination: (end: (error: GatewayError) => void) => () => void
  /** Called with why the reply is ended, before the call is given up. */
  readonly onEnd: (error: GatewayError) => void
  /** Ends the connection of a caller that has not read the end of a reply that was ended so. */
  readonly destroy: (error: GatewayError) => void
}

/**
 * A fiber reads from the cloud, at most one array ahead of the caller. When a time limit is reached, the fiber is interrupted, which ends
 * the call, also while the caller does not read. The clock is one timer a stream, because another fiber a stream would cost more.
 */
export const withDeadlines =
  (options: DeadlineOptions) =>
  <A>(self: Stream.Stream<A, GatewayError | EndedEarly>): Stream.Stream<A | typeof keepAlive, GatewayError> =>
    Stream.fromChannel(
      Channel.fromTransform((_, scope) =>
        Effect.gen(function* () {
          const { destroy, lastBytesAt, onEnd, onTermination } = options
          const ceiling = Duration.toMillis(options.ceiling)
          const heartbeat = Duration.toMillis(options.heartbeat)
          const idle = Duration.toMillis(options.idle)
          const now = () => performance.now()
          const context = yield* Effect.context<never>()
          const callScope = yield* Scope.fork(scope)
          const { end, give, offer, take } = makeHandoff<
            Arr.NonEmptyReadonlyArray<A | typeof keepAlive>,
            GatewayError | Cause.Done
          >()
          const startedAt = now()
          let emittedAt = startedAt
          let waitingSince: number | undefined = startedAt
          const silentSince = () =>
            waitingSince === undefined ? Number.POSITIVE_INFINITY : Math.max(waitingSince, lastBytesAt())

          const read = Effect.flatMap(Channel.toPullScoped(Stream.toChannel(self), callScope), (pull) => {
            const begin = Effect.suspend(() => {
              waitingSince = now()
              return pull
            })
            const next = Effect.flatMap(begin, (items) => {
              waitingSince = undefined
              emittedAt = now()
              return give(items)
            })
            return Effect.forever(next, { disableYield: true })
          })
          const reader = yield* read.pipe(
            Effect.onExit((exit) => {
              waitingSince = undefined
              const cause = Exit.isFailure(exit) ? exit.cause : Cause.fail(Cause.Done())
              const error = Option.getOrUndefined(Cause.findErrorOption(cause))
              const done = error !== undefined && Cause.isDone(error)
              return Effect.map(Scope.close(callScope, done ? Exit.void : Exit.failCause(cause)), () => {
                if (Cause.hasInterruptsOnly(cause)) return
                end(
                  error instanceof EndedEarly
                    ? Exit.fail(Cause.Done())
                    : Exit.failCause(cause as Cause.Cause<GatewayError>)
                )
              })
            }),
            Effect.forkIn(scope, { startImmediately: true })
          )

          const endWith = (error: GatewayError) =>
            Effect.runForkWith(context)(
              Effect.sync(() => onEnd(error)).pipe(
                Effect.andThen(Fiber.interrupt(reader)),
                Effect.map(() => end(Exit.fail(error))),
                Effect.andThen(Effect.sleep(grace)),
                Effect.map(() => destroy(error)),
                Effect.forkIn(scope)
              )
            )
          let timer: NodeJS.Timeout | undefined
          /** Sends a comment in silence, and ends the reply when a time limit is reached. */
          const tick = () => {
            const at = now()
            const [ceilingAt, idleAt] = [startedAt + ceiling, silentSince() + idle]
            if (at >= Math.min(ceilingAt, idleAt)) return endWith(idleAt < ceilingAt ? idleError : ceilingError)
            if (at - emittedAt >= heartbeat) {
              emittedAt = at
              offer([keepAlive])
            }
            timer = setTimeout(tick, Math.max(1, Math.min(ceilingAt, idleAt, emittedAt + heartbeat) - at))
          }
          yield* Effect.acquireRelease(
            Effect.sync(() => {
              tick()
              return onTermination(endWith)
            }),
            (unsubscribe) =>
              Effect.sync(() => {
                clearTimeout(timer)
                unsubscribe()
              })
          )
          return take
        }).pipe(Scope.provide(scope))
      )
    )

/** Passes values from one fiber to another, each when the one before it has been taken. */
const makeHandoff = <A, E>() => {
  let waiting: { readonly value: A } | undefined
  let ended: Exit.Exit<never, E> | undefined
  let taker: ((taken: Effect.Effect<A, E>) => void) | undefined
  let giver: (() => void) | undefined

  const answer = (taken: Effect.Effect<A, E>) => {
    const resume = taker
    taker = undefined
    resume?.(taken)
    return resume !== undefined
  }
  const taken = Effect.callback<void>((resume) => {
    giver = () => resume(Effect.void)
    return Effect.sync(() => {
      giver = undefined
    })
  })
  const given = Effect.callback<A, E>((resume) => {
    taker = resume
    return Effect.sync(() => {
      taker = undefined
    })
  })

  return {
    /** Waits until the value has been taken. */
    give: (value: A): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (answer(Effect.succeed(value))) return Effect.void
        waiting = { value }
        return taken
      }),
    /** Gives the value if it is waited for. */
    offer: (value: A): void => {
      answer(Effect.succeed(value))
    },
    /** What is taken after the values; the first end counts. */
    end: (exit: Exit.Exit<never, E>): void => {
      ended ??= exit
      answer(ended)
    },
    take: Effect.suspend((): Effect.Effect<A, E> => {
      if (waiting === undefined) return ended ?? given
      const { value } = waiting
      waiting = undefined
      const resume = giver
      giver = undefined
      resume?.()
      return Effect.succeed(value)
    })
  }
}
