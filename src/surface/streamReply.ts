/**
 * A streamed reply: what opens it, what passes its events on (`src/stream`), and what is recorded of it. The first frame is awaited
 * before the status is committed, so that a refusal keeps its status; after that the stream never fails, but ends in-band.
 */
import type { ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Duration, Effect, Exit, Scope } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { makeAccumulator } from "../governance/accumulate.ts"
import { GatewayError, noRoom } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import type { UpstreamFault } from "../model/UpstreamFault.ts"
import type { Provider, Streamed } from "../provider/Provider.ts"
import { Stopper } from "../provider/Stopper.ts"
import type { GatewaySettings } from "../Settings.ts"
import { Deadlines } from "../stream/deadlines.ts"
import { ReplyWriter } from "../stream/encode.ts"
import type { Progress, Protocol } from "../stream/Frame.ts"
import { governanceSoFar } from "../stream/governed.ts"
import { Relay } from "../stream/relay.ts"
import { inSlices } from "../wire/turns.ts"
import { isLarge } from "./body.ts"
import type { makeEnds } from "./ends.ts"
import type { Observation } from "./Observation.ts"
import type { Prepared } from "./Surface.ts"

export interface StreamReplyOptions<S extends Progress> {
  readonly protocol: Protocol<S>
  readonly prepared: Prepared
  readonly route: Route
  readonly provider: Provider["Service"]
  readonly observation: Observation
  readonly request: HttpServerRequest.HttpServerRequest
}

/** Characters that are kept of a stream, tool calls above all: as many as a whole reply may have bytes. */
const mostKept = 32 * 1024 * 1024

const tooLarge = new GatewayError({
  reason: "upstream",
  message: "the cloud that serves this model sent tool calls or thinking that are too large",
  code: "too-large"
})

type Limits = Pick<GatewaySettings, "heartbeat" | "scanMode" | "streamIdleTimeout" | "streamCeiling">

export const makeStreamReply = (limits: Limits, watchEnd: Effect.Success<typeof makeEnds>) => {
  const every = Duration.toMillis(limits.heartbeat)
  return Effect.fnUntraced(function* <S extends Progress>(options: StreamReplyOptions<S>) {
    const { protocol, prepared, route, provider, observation } = options
    const scope = yield* Effect.scope
    const stopper = new Stopper()
    observation.call = stopper
    // Of its own: what is opened late belongs to a reply that has begun. First: what follows is made while the cloud answers.
    const opening = yield* Effect.forkIn(
      provider.stream({
        route,
        operation: prepared.operation,
        body: prepared.bodies[0] ?? {},
        large: isLarge(observation.bytesIn),
        stopper,
        parent: observation.span,
        asked: observation
      }),
      scope,
      { startImmediately: true }
    )
    // The listener speaks HTTP/1.1 only.
    const response = NodeHttpServerRequest.toServerResponse(options.request) as ServerResponse
    const state = protocol.initial()
    const calls = makeAccumulator(limits.scanMode)
    let opened: Streamed | undefined
    observation.stream = true

    /** The reply is over, either way: flags and tokens go to the record and the span. */
    const settle = (exit: Exit.Exit<unknown, unknown>) => {
      forget()
      // The request was sent again, and its record is of the last time.
      if (observation.call !== stopper) return
      observation.events += relay.events
      observation.bytesOut += writer.sent
      observation.flags = calls.flags().length
      observation.counted = state.end === "complete" && state.early !== true
      observation.received = (state.bytes ?? 0) + (state.kept ?? 0)
      if (opened !== undefined) {
        const { failure, finishReason, tokens } = protocol.summary(state)
        const { span } = opened
        observation.finishReason = finishReason
        observation.tokens = tokens
        if (tokens !== undefined) span.used(tokens, finishReason, observation.flags)
        if (failure !== undefined) {
          observation.fail(failure)
          span.fail(failure)
        }
        if (Exit.isFailure(exit)) span.cancelled()
        span.end()
      }
      observation.streamEnd ??= Exit.isFailure(exit)
        ? "cancelled"
        : observation.outcome === undefined
          ? "complete"
          : "error"
    }
    const errorOf = (fault: UpstreamFault): GatewayError => {
      const error = provider.faultError(route, fault)
      opened?.span.fail(error)
      return error
    }
    const onFirst = () => {
      observation.firstEventAt ??= observation.now()
      // The request is let go of.
      observation.release()
      opened?.span.firstToken()
    }
    let kept = 0
    const onKept = (characters: number): GatewayError | undefined => {
      kept += characters
      const error = kept > mostKept ? tooLarge : observation.take(characters) ? undefined : noRoom
      if (error !== undefined) opened?.span.fail(error)
      return error
    }
    const lastWords = (error: GatewayError) => {
      observation.fail(error)
      observation.streamEnd = "error"
      return [protocol.inBand(state, error, governanceSoFar(calls))].flat()
    }

    const writer = new ReplyWriter(response, (bytes) => void observation.take(bytes))
    const relay = new Relay({
      protocol,
      state,
      calls,
      every,
      writer,
      onFirst,
      onKept,
      onEnd: (complete) => (complete && state.early !== true ? opened?.release() : opened?.close()),
      errorOf,
      lastWords
    })
    const deadlines = new Deadlines({
      asking: relay,
      idle: limits.streamIdleTimeout,
      ceiling: limits.streamCeiling,
      stop: stopper.stop,
      cutOff: () => response.destroy()
    })
    const unwatch = watchEnd(observation.keyId ?? "", deadlines.stop)
    const forget = () => {
      deadlines.clear()
      relay.close()
      unwatch()
    }
    yield* Scope.addFinalizerExit(scope, (exit) => {
      const settled = Effect.sync(() => settle(exit))
      return calls.heavy() ? Effect.andThen(inSlices(calls.scan()), settled) : settled
    })
    opening.addObserver((exit) => {
      if (Exit.isFailure(exit)) {
        // Interrupted: the reply is over.
        if (!Cause.hasInterruptsOnly(exit.cause)) relay.failed(exit.cause)
        return
      }
      opened = exit.value
      observation.region = opened.region
      observation.upstreamRequestId = opened.requestId
      relay.opened(opened.events)
    })
    const items = yield* Effect.onError(relay.begin, () => Effect.sync(forget))
    observation.answered()
    return HttpServerResponse.stream(writer.encode(items), {
      contentType: "text/event-stream; charset=utf-8",
      headers: { "x-accel-buffering": "no" }
    })
  })
}
