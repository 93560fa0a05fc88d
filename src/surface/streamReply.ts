/**
 * A streamed reply: the first frame is awaited before the status is committed, so that a refusal keeps its status; after
 * that the stream never fails, but ends in-band (architecture: The stream path).
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Duration, Effect, Exit, Fiber, Option, Pull, Scope, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type GatewayError, internal } from "../model/GatewayError.ts"
import type { Event } from "../provider/framing/Event.ts"
import type { Streamed } from "../provider/Provider.ts"
import { cutError } from "../provider/refusal.ts"
import { Stopper } from "../provider/Upstream.ts"
import { CurrentObservation } from "./Observation.ts"
import { comment, type StreamLimits, watchStream } from "./streamWatch.ts"

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

/** How long an upstream that has said its last word may take to end its body, so that its connection can be kept. */
const afterTerminal = "1 second"
const encoder = new TextEncoder()

export const streamReply = Effect.fnUntraced(function* (options: {
  readonly open: (stopper: Stopper) => Effect.Effect<Streamed, GatewayError, Scope.Scope>
  readonly rewriter: Rewriter
  readonly limits: StreamLimits
  readonly headers: Readonly<Record<string, string>>
  /** Calls back when the stream may not go on: its key has ended, or the server must. Answers how to stop watching. */
  readonly watchEnd: (ended: (error: GatewayError) => void) => () => void
}) {
  const { rewriter } = options
  const observation = yield* CurrentObservation
  const response = NodeHttpServerRequest.toServerResponse(yield* HttpServerRequest.HttpServerRequest)
  const scope = yield* Scope.Scope
  observation.stream = true

  const stopper = new Stopper()
  const guard = watchStream(options.limits, stopper, response)
  const unwatch = options.watchEnd(guard.stop)
  let span: Streamed["span"] | undefined
  let settled = false
  const settle = () => {
    if (settled) return
    settled = true
    guard.over()
    unwatch()
    if (span !== undefined) rewriter.settle(span)
  }
  yield* Scope.addFinalizerExit(scope, (exit) =>
    Effect.sync(() => {
      settle()
      observation.streamEnd ??= Exit.isFailure(exit)
        ? "cancelled"
        : observation.outcome === undefined
          ? "complete"
          : "error"
    })
  )

  /** One effect a network chunk, none an event. */
  const rewriting = (
    pull: Pull.Pull<ReadonlyArray<ReadonlyArray<Event>>, GatewayError>
  ): Pull.Pull<Texts, GatewayError> => {
    let ended = false
    let failure: GatewayError | undefined

    const emit = (rewritten: Rewritten): Pull.Pull<Texts, GatewayError> => {
      const { text } = rewritten
      if (rewritten.failure !== undefined) {
        failure = rewritten.failure
        span?.fail(failure)
      } else if (rewritten.done === true) ended = true
      return text === "" ? next : Effect.succeed([text])
    }
    const onSuccess = (chunks: ReadonlyArray<ReadonlyArray<Event>>) => {
      guard.read()
      const [one = []] = chunks
      const events = chunks.length === 1 ? one : chunks.flat()
      if (events.length === 0) return next
      observation.events += events.length
      if (observation.firstEventAt === undefined) {
        observation.firstEventAt = Date.now()
        span?.firstToken()
      }
      return emit(rewriter.step(events))
    }
    const onDone = () => {
      const rest = rewriter.end()
      return emit(rest.failure === undefined && rest.done !== true ? { ...rest, failure: cutError } : rest)
    }
    const step = Pull.matchEffect(pull, { onSuccess, onFailure: Effect.failCause, onDone })
    /** After the terminal event nothing is passed on, but a well-behaved upstream may end its body. */
    const drained: Pull.Pull<never> = Effect.forever(pull).pipe(
      Effect.timeoutOption(afterTerminal),
      Effect.exit,
      Effect.andThen(Cause.done())
    )
    const next: Pull.Pull<Texts, GatewayError> = Effect.suspend(() => {
      if (failure !== undefined) return Effect.fail(failure)
      if (ended) return drained
      guard.ask()
      return step
    })
    return next
  }

  const opened = options.open(stopper).pipe(
    Effect.flatMap((streamed) => {
      span = streamed.span
      observation.region = streamed.region
      observation.upstreamRequestId = streamed.requestId
      return Stream.toPull(streamed.events)
    }),
    Effect.flatMap((pull) => peek(rewriting(pull)))
  )

  /** What the caller gets after the head: texts, and at a failure the surface's own last words. */
  const inBand = (pull: Pull.Pull<Texts, GatewayError>): Pull.Pull<Texts> => {
    let over = false
    const last = (cause: Cause.Cause<GatewayError>): Pull.Pull<Texts> => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
      const error = stopper.error ?? Option.getOrElse(Cause.findErrorOption(cause), () => internal)
      over = true
      observation.fail(error)
      observation.streamEnd = "error"
      return Effect.succeed([rewriter.inBand(error)])
    }
    const next = Pull.matchEffect(pull, {
      onSuccess: (texts): Pull.Pull<Texts> => Effect.succeed(texts),
      onFailure: last,
      onDone: () => Cause.done()
    })
    return Effect.suspend(() => (over ? Cause.done() : next))
  }

  const fiber = yield* Effect.forkIn(opened, scope, { startImmediately: true })
  const first = yield* settledWithin(fiber, Duration.toMillis(options.limits.heartbeat))
  if (first !== undefined && Exit.isFailure(first)) {
    settle()
    return yield* Effect.failCause(first.cause)
  }
  guard.commit()
  const texts =
    first === undefined
      ? Stream.unwrap(Effect.map(Effect.exit(Fiber.join(fiber)), lateTexts))
      : Stream.fromPull(Effect.succeed(inBand(first.value)))
  function lateTexts(exit: Exit.Exit<Pull.Pull<Texts, GatewayError>, GatewayError>) {
    return Stream.fromPull(Effect.succeed(inBand(Exit.isSuccess(exit) ? exit.value : Effect.failCause(exit.cause))))
  }
  const bytes = Stream.map(first === undefined ? Stream.concat(Stream.make(comment), texts) : texts, (text) => {
    guard.wrote()
    const encoded = encoder.encode(text)
    observation.bytesOut += encoded.length
    return encoded
  })
  return HttpServerResponse.stream(Stream.onEnd(bytes, Effect.sync(settle)), {
    contentType: "text/event-stream; charset=utf-8",
    headers: { ...options.headers, "cache-control": "no-cache", "x-accel-buffering": "no" }
  })
})

type Texts = readonly [string, ...Array<string>]

/** A fiber's exit if it comes within the time, in milliseconds; the fiber goes on either way. */
const settledWithin = <A, E>(fiber: Fiber.Fiber<A, E>, milliseconds: number) =>
  Effect.callback<Exit.Exit<A, E> | undefined>((resume) => {
    const timer = setTimeout(() => resume(Effect.succeed(undefined)), milliseconds)
    const unobserve = fiber.addObserver((exit) => {
      clearTimeout(timer)
      resume(Effect.succeed(exit))
    })
    return Effect.sync(() => {
      clearTimeout(timer)
      unobserve()
    })
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
