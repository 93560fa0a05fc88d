/**
 * A streamed reply: the first frame is awaited before the status is committed, so that a refusal keeps its status; after
 * that the stream never fails, but ends in-band (architecture: The stream path).
 */
import { ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Clock, Duration, Effect, Exit, Fiber, Option, Pull, Scope, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { GatewayError, internal } from "../model/GatewayError.ts"
import type { Event } from "../provider/framing/Event.ts"
import type { Streamed } from "../provider/Provider.ts"
import { cutError } from "../provider/refusal.ts"
import { CurrentObservation } from "./Observation.ts"

/** What one network chunk of events becomes. */
export interface Rewritten {
  /** Whole SSE events, ready to be written. */
  readonly text: string
  /** What ended the stream after `text`: an upstream's in-band error, or an event that cannot be read. */
  readonly failure?: GatewayError | undefined
  /** The terminal event is in `text`: whatever the upstream sends after it is dropped. */
  readonly done?: boolean | undefined
}

/** Rewrites one stream; made anew for each. Synchronous: it is the hot path. */
export interface Rewriter {
  readonly step: (events: ReadonlyArray<Event>) => Rewritten
  /** The upstream has ended: whatever is still owed, or a failure when its terminal event never came. */
  readonly end: () => Rewritten
  /** Called once, when the stream is over either way: flags and tokens go to the observation and the span. */
  readonly settle: (span: Streamed["span"]) => void
  /** The in-band error of the surface. */
  readonly inBand: (error: GatewayError) => string
}

export interface StreamLimits {
  /** Longest silence before a comment is sent, and longest wait for the first frame before 200 is committed. */
  readonly heartbeat: Duration.Duration
  /** Longest silence of the upstream. */
  readonly idle: Duration.Duration
  /** Longest whole reply. */
  readonly ceiling: Duration.Duration
}

const comment = ": keep-alive\n\n"
/** How long an upstream that has said its last word may take to end its body, so that its connection can be kept. */
const afterTerminal = "1 second"
/** How long a caller that does not read may hold a reply that has passed its ceiling. */
const grace = 2_000

const idleError = new GatewayError({
  reason: "timeout",
  message: "the cloud that serves this model has been silent for too long",
  code: "idle"
})
export const ceilingError = new GatewayError({
  reason: "timeout",
  message: "the reply took longer than a request may take",
  code: "ceiling"
})

const encoder = new TextEncoder()

/** Written past the stream, between its events: each of its writes is whole events. */
const keepAlive = (response: ReturnType<typeof NodeHttpServerRequest.toServerResponse>) => {
  if (
    response instanceof ServerResponse &&
    response.headersSent &&
    !response.writableEnded &&
    !response.writableNeedDrain
  ) {
    response.write(comment)
  }
}

export const streamReply = Effect.fnUntraced(function* (options: {
  readonly open: Effect.Effect<Streamed, GatewayError, Scope.Scope>
  readonly rewriter: Rewriter
  readonly limits: StreamLimits
  readonly headers: Readonly<Record<string, string>>
  /** Answers when the stream may not go on: its key has ended, or the server must. */
  readonly revoked: Effect.Effect<GatewayError>
}) {
  const { rewriter } = options
  const observation = yield* CurrentObservation
  const request = yield* HttpServerRequest.HttpServerRequest
  const response = NodeHttpServerRequest.toServerResponse(request)
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  // The call lives in a scope of its own, so that the watch can end it at any moment and the reply goes on in-band.
  const upstream = yield* Scope.fork(scope)

  const heartbeat = Duration.toMillis(options.limits.heartbeat)
  const idle = Duration.toMillis(options.limits.idle)
  const ceiling = Duration.toMillis(options.limits.ceiling)
  const startedAt = clock.currentTimeMillisUnsafe()
  let readAt = startedAt
  let writtenAt = startedAt
  let committed = false
  let over = false
  let stopped: GatewayError | undefined
  observation.stream = true

  let span: Streamed["span"] | undefined
  let settled = false
  const settle = () => {
    if (settled || span === undefined) return
    settled = true
    rewriter.settle(span)
  }

  const stop = (error: GatewayError) => {
    stopped ??= error
    // The call's span ends with its scope, and takes what is known by then.
    settle()
    return Scope.close(upstream, Exit.fail(error))
  }

  /** Heartbeats on silence, the idle limit, the ceiling. One fiber a stream; the events themselves pay nothing. */
  const watch = Effect.gen(function* () {
    while (!over) {
      const now = clock.currentTimeMillisUnsafe()
      if (now - startedAt >= ceiling) {
        yield* stop(ceilingError)
        yield* Effect.sleep(grace)
        return yield* Effect.sync(() => response.destroy())
      }
      if (now - readAt >= idle && stopped === undefined) yield* stop(idleError)
      if (committed && now - writtenAt >= heartbeat) {
        keepAlive(response)
        writtenAt = now
      }
      const next = Math.min(
        startedAt + ceiling,
        stopped === undefined ? readAt + idle : Infinity,
        (committed ? writtenAt : now) + heartbeat
      )
      yield* Effect.sleep(Math.max(1, next - now))
    }
  })
  yield* Effect.forkIn(watch, scope)
  yield* Effect.forkIn(Effect.flatMap(options.revoked, stop), scope)

  const opened = options.open.pipe(
    Scope.provide(upstream),
    Effect.flatMap((streamed) => {
      span = streamed.span
      observation.region = streamed.region
      observation.upstreamRequestId = streamed.requestId
      // Read in the request's scope: a reader that is closed with the call would wait for ever instead of failing.
      return Effect.map(Stream.toPull(streamed.events).pipe(Scope.provide(scope)), (pull) => rewriting(pull))
    }),
    Effect.flatMap(peek),
    Effect.mapError((error) => stopped ?? error)
  )

  type Texts = readonly [string, ...Array<string>]
  /** One effect a network chunk, none an event. */
  const rewriting = (
    pull: Pull.Pull<ReadonlyArray<ReadonlyArray<Event>>, GatewayError>
  ): Pull.Pull<Texts, GatewayError> => {
    let ended = false
    const emit = ({ text, failure, done }: Rewritten): Pull.Pull<Texts, GatewayError> => {
      if (failure !== undefined) {
        ended = true
        pending = failure
        span?.fail(failure)
        return text === "" ? Effect.fail(failure) : Effect.succeed([text])
      }
      if (done === true) ended = true
      return text === "" ? next : Effect.succeed([text])
    }
    let pending: GatewayError | undefined
    const next: Pull.Pull<Texts, GatewayError> = Effect.suspend(() => {
      if (pending !== undefined) return Effect.fail(pending)
      if (ended) return drained
      return Pull.matchEffect(pull, {
        onSuccess: (chunks) => {
          readAt = clock.currentTimeMillisUnsafe()
          for (const events of chunks) observation.events += events.length
          if (observation.firstEventAt === undefined) {
            observation.firstEventAt = readAt
            span?.firstToken()
          }
          return emit(rewriter.step(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : chunks.flat()))
        },
        onFailure: (cause) => Effect.failCause(cause),
        onDone: () => {
          ended = true
          const rest = rewriter.end()
          return rest.failure === undefined && rest.done !== true ? emit({ ...rest, failure: cutError }) : emit(rest)
        }
      })
    })
    /** After the terminal event nothing is passed on, but a well-behaved upstream may end its body. */
    const drained: Pull.Pull<never> = Effect.suspend(() =>
      Effect.forever(pull).pipe(Effect.timeoutOption(afterTerminal), Effect.exit, Effect.andThen(Cause.done()))
    )
    return next
  }

  const finish = () => {
    over = true
    settle()
  }
  yield* Scope.addFinalizerExit(scope, (exit) =>
    Effect.sync(() => {
      finish()
      observation.streamEnd ??= Exit.isFailure(exit)
        ? "cancelled"
        : observation.outcome === undefined
          ? "complete"
          : "error"
    })
  )

  const fail = (error: GatewayError) => {
    observation.fail(error)
    observation.streamEnd = "error"
    return error
  }

  const fiber = yield* Effect.forkIn(opened, scope, { startImmediately: true })
  const first = yield* Effect.timeoutOption(Fiber.await(fiber), options.limits.heartbeat)
  if (Option.isSome(first) && Exit.isFailure(first.value)) return yield* Effect.failCause(first.value.cause)

  committed = true
  const body = Stream.unwrap(Effect.map(Fiber.join(fiber), (pull) => Stream.fromPull(Effect.succeed(pull)))).pipe(
    Stream.catchCause((cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Stream.failCause(cause as Cause.Cause<never>)
      const error = stopped ?? Option.getOrElse(Cause.findErrorOption(cause), () => internal)
      return Stream.sync(() => rewriter.inBand(fail(error)))
    }),
    Stream.map((text) => {
      writtenAt = clock.currentTimeMillisUnsafe()
      const bytes = encoder.encode(text)
      observation.bytesOut += bytes.length
      return bytes
    }),
    Stream.onEnd(Effect.sync(finish))
  )
  return HttpServerResponse.stream(
    Option.isNone(first) ? Stream.concat(Stream.make(encoder.encode(comment)), body) : body,
    {
      contentType: "text/event-stream; charset=utf-8",
      headers: { ...options.headers, "cache-control": "no-cache", "x-accel-buffering": "no" }
    }
  )
})

/** Waits for the first chunk and gives it back with the rest. */
const peek = <A, E>(pull: Pull.Pull<A, E>): Effect.Effect<Pull.Pull<A, E>, E | GatewayError> =>
  Pull.matchEffect(pull, {
    onSuccess: (first) => {
      let taken = false
      return Effect.succeed(
        Effect.suspend((): Pull.Pull<A, E> => {
          if (taken) return pull
          taken = true
          return Effect.succeed(first)
        })
      )
    },
    onFailure: (cause) => Effect.failCause(cause),
    onDone: () => Effect.fail(cutError)
  })
