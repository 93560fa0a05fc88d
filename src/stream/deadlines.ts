/** Time limits of a streamed reply, and comments in its silence. */
import { type Array as Arr, Cause, Channel, Duration, Effect, Exit, Fiber, Latch, Queue, Stream } from "effect"
import { GatewayError } from "../catalog/GatewayError.ts"
import { keepAlive } from "../wire/sse.ts"
import type { EndedEarly } from "./Frame.ts"

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
  /** When the whole reply must have ended, in milliseconds of `performance.now()`. */
  readonly deadline: number
  /** Fails when the reply must end for another reason: a revoked key, a server that stops. */
  readonly terminated: Effect.Effect<never, GatewayError>
  /** Called with why the reply is ended, before the call is given up. */
  readonly onEnd: (error: GatewayError) => void
  /** Ends the connection of a caller that has not read the end of a reply that was ended so. */
  readonly destroy: (error: GatewayError) => void
}

/**
 * A fiber reads from the cloud, at most one array ahead of the caller. When a time limit is reached, the fiber is interrupted, which ends
 * the call, also while the caller does not read.
 */
export const withDeadlines =
  (options: DeadlineOptions) =>
  <A>(self: Stream.Stream<A, GatewayError | EndedEarly>): Stream.Stream<A | typeof keepAlive, GatewayError> =>
    Stream.fromChannel(
      Channel.fromTransform((_, scope) =>
        Effect.gen(function* () {
          const queue = yield* Queue.unbounded<Items<A>, GatewayError | Cause.Done>()
          const taken = yield* Latch.make()
          const now = performance.now()
          const activity: Activity = { emittedAt: now, waitingSince: now, isAwaited: false }
          const fork = Effect.forkIn(scope, { startImmediately: true })
          const reader = yield* fork(readAhead(self, queue, taken, activity))
          yield* fork(watch(options, queue, activity, reader))
          const take = Effect.map(Queue.take(queue), (items) => {
            activity.isAwaited = false
            if (Queue.sizeUnsafe(queue) === 0) taken.openUnsafe()
            return items
          })
          return Effect.suspend(() => {
            activity.isAwaited = true
            return take
          })
        })
      )
    )

type Items<A> = Arr.NonEmptyReadonlyArray<A | typeof keepAlive>
/** What has been read and the caller has not taken, and then the end; the first end counts. */
type Arrays<A> = Queue.Queue<Items<A>, GatewayError | Cause.Done>

/** When something happened last, in milliseconds of `performance.now()`. */
interface Activity {
  emittedAt: number
  /** Since when the cloud has been waited for; undefined while the caller is. */
  waitingSince: number | undefined
  /** Whether the caller waits for an array. */
  isAwaited: boolean
}

/** Gives what it reads to the caller, each array when the one before it has been taken, and then the end. The call is over before that. */
const readAhead = <A>(
  self: Stream.Stream<A, GatewayError | EndedEarly>,
  queue: Arrays<A>,
  taken: Latch.Latch,
  activity: Activity
) =>
  Stream.runForEachArray(self, (items) => {
    activity.waitingSince = undefined
    activity.emittedAt = performance.now()
    taken.closeUnsafe()
    Queue.offerUnsafe(queue, items)
    return Effect.map(taken.await, () => {
      activity.waitingSince = performance.now()
    })
  }).pipe(
    Effect.catchTag("EndedEarly", () => Effect.void),
    Effect.onExit((exit) =>
      Effect.sync(() => {
        activity.waitingSince = undefined
        if (Exit.isSuccess(exit)) Queue.endUnsafe(queue)
        else if (!Cause.hasInterruptsOnly(exit.cause)) Queue.failCauseUnsafe(queue, exit.cause)
      })
    )
  )

/** Sends comments in silence, and ends the reply when a time limit is reached or it must end for another reason. */
const watch = Effect.fnUntraced(function* <A>(
  options: DeadlineOptions,
  queue: Arrays<A>,
  activity: Activity,
  reader: Fiber.Fiber<unknown, unknown>
) {
  const { deadline, destroy, lastBytesAt, onEnd, terminated } = options
  const heartbeat = Duration.toMillis(options.heartbeat)
  const idle = Duration.toMillis(options.idle)
  const late = Effect.gen(function* () {
    while (true) {
      const { emittedAt, waitingSince } = activity
      const at = performance.now()
      const idleAt =
        waitingSince === undefined ? Number.POSITIVE_INFINITY : Math.max(waitingSince, lastBytesAt()) + idle
      if (at >= Math.min(deadline, idleAt)) return idleAt < deadline ? idleError : ceilingError
      if (at - emittedAt >= heartbeat) {
        activity.emittedAt = at
        if (activity.isAwaited) Queue.offerUnsafe(queue, [keepAlive])
      }
      yield* Effect.sleep(Math.max(1, Math.min(deadline, idleAt, activity.emittedAt + heartbeat) - at))
    }
  })
  const error = yield* Effect.raceFirst(late, Effect.flip(terminated))
  onEnd(error)
  yield* Fiber.interrupt(reader)
  yield* Queue.fail(queue, error)
  yield* Effect.sleep(grace)
  destroy(error)
})
