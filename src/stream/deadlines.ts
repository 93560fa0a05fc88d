/** How long a streamed reply may take, and what fills its silence. */
import { Cause, Duration, Effect, Exit, Fiber, Option, Queue, Scope, Stream } from "effect"
import { GatewayError } from "../catalog/GatewayError.ts"
import { keepAlive } from "../wire/sse.ts"
import { Enough } from "./translate.ts"

/** The whole of a request took too long. */
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

/** How long a caller that does not read may hold a reply that has been ended. */
const grace = Duration.seconds(2)

export interface DeadlineOptions {
  /** Silence that a comment ends. */
  readonly heartbeat: Duration.Duration
  /** Longest silence of the cloud while it is waited for: a slow caller is no silence of the cloud. */
  readonly idle: Duration.Duration
  /** When bytes of the cloud came last, in milliseconds of the process's clock. */
  readonly heardAt: () => number
  /** Longest whole reply, from the call on. */
  readonly ceiling: Duration.Duration
  /** Answers when the reply must end for another reason: a revoked key, a server that stops. */
  readonly ended: Effect.Effect<GatewayError>
  /** Ends the connection of a caller that does not even read the last words. */
  readonly cutOff: Effect.Effect<void>
}

type Items<A> = readonly [A, ...Array<A>]

/**
 * Two fibers a stream: one reads the cloud, at most one array ahead of the caller, and one is its clock. When the time is over the
 * first is interrupted, which ends the call, also while the caller does not read.
 */
export const withDeadlines =
  ({ ceiling, cutOff, ended, heardAt, heartbeat, idle }: DeadlineOptions) =>
  <A>(self: Stream.Stream<A, GatewayError | Enough>): Stream.Stream<A | typeof keepAlive, GatewayError> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const now = () => performance.now()
        const scope = yield* Effect.scope
        const call = yield* Scope.fork(scope)
        const queue = yield* Queue.bounded<Items<A | typeof keepAlive>, GatewayError | Cause.Done>(1)
        const startedAt = now()
        let emittedAt = startedAt
        let waitingSince: number | undefined = startedAt
        const silentSince = () =>
          waitingSince === undefined ? Number.POSITIVE_INFINITY : Math.max(waitingSince, heardAt())

        const read = Effect.flatMap(Scope.provide(Stream.toPull(self), call), (pull) =>
          Effect.forever(
            Effect.flatMap(
              Effect.suspend(() => {
                waitingSince = now()
                return pull
              }),
              (items) => {
                waitingSince = undefined
                emittedAt = now()
                return Queue.offer(queue, items)
              }
            ),
            { disableYield: true }
          )
        )
        const reader = yield* read.pipe(
          Effect.onExit((exit) => {
            waitingSince = undefined
            const cause = Exit.isFailure(exit) ? exit.cause : Cause.fail(Cause.Done())
            const error = Option.getOrUndefined(Cause.findErrorOption(cause))
            const done = error !== undefined && Cause.isDone(error)
            return Scope.close(call, done ? Exit.void : Exit.failCause(cause)).pipe(
              Effect.andThen(
                Cause.hasInterruptsOnly(cause)
                  ? Effect.void
                  : done || error instanceof Enough
                    ? Queue.end(queue)
                    : Queue.failCause(queue, cause as Cause.Cause<GatewayError>)
              )
            )
          }),
          Effect.forkIn(scope, { startImmediately: true })
        )

        /** Waits until the reply must be ended, and answers why; fills silence meanwhile. */
        const watch: Effect.Effect<GatewayError> = Effect.gen(function* () {
          for (;;) {
            const idleAt = silentSince() + Duration.toMillis(idle)
            const next = Math.min(
              startedAt + Duration.toMillis(ceiling),
              emittedAt + Duration.toMillis(heartbeat),
              idleAt
            )
            const error = yield* Effect.timeoutOption(ended, Math.max(1, next - now()))
            if (Option.isSome(error)) return error.value
            const at = now()
            if (at - startedAt >= Duration.toMillis(ceiling)) return ceilingError
            if (at - silentSince() >= Duration.toMillis(idle)) return idleError
            if (at - emittedAt < Duration.toMillis(heartbeat)) continue
            emittedAt = at
            if (Queue.sizeUnsafe(queue) === 0) Queue.offerUnsafe(queue, [keepAlive])
          }
        })
        yield* watch.pipe(
          Effect.tap((error) => Fiber.interrupt(reader).pipe(Effect.andThen(Queue.fail(queue, error)))),
          Effect.andThen(Effect.sleep(grace)),
          Effect.andThen(cutOff),
          Effect.forkIn(scope)
        )
        return Stream.fromPull(Effect.succeed(Queue.take(queue)))
      })
    )
