/**
 * A streamed reply, and what is recorded of it. The first frame is awaited before the status is committed, so that a refusal keeps its
 * status; after that the stream never fails, but ends in-band.
 */
import { Cause, Channel, Effect, Exit, Option, Pull, Scope, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { GatewayError, internal, noRoom } from "../catalog/GatewayError.ts"
import { singleUse } from "../cloud/client.ts"
import { errorOf, faultError } from "../cloud/fault.ts"
import { makeAccumulator } from "../governance/accumulate.ts"
import type { GatewaySettings } from "../Settings.ts"
import type { Protocol } from "../stream/Frame.ts"
import { reply } from "../stream/reply.ts"
import type { Prepared } from "../surfaces/Surface.ts"
import { inSlices } from "../wire/slices.ts"
import type { Terminations } from "./Drain.ts"
import type { ReplyOptions } from "./wholeReply.ts"

interface StreamReplyOptions extends ReplyOptions<Prepared> {
  readonly protocol: Protocol
}

/** Most characters that are held of a stream, above all of tool calls: as many as a whole reply may have bytes. */
const maxHeld = 32 * 1024 * 1024

const tooLarge = new GatewayError({
  reason: "upstream",
  message: "the cloud that serves this model sent tool calls or thinking that are too large",
  code: "too-large"
})

const response = {
  contentType: "text/event-stream; charset=utf-8",
  headers: { "x-accel-buffering": "no" }
}

type Limits = Pick<GatewaySettings, "heartbeat" | "scanMode" | "streamIdleTimeout">

export const makeStreamReply = (limits: Limits, terminated: Terminations) =>
  Effect.fnUntraced(function* (options: StreamReplyOptions) {
    const { protocol, prepared, route, provider, record, replyGuards } = options
    const fiber = yield* Effect.fiber
    const { progress } = protocol
    const toolCalls = makeAccumulator(limits.scanMode)
    const requestMemory = record.memoryHeld
    const callSpan = () => record.attempts.at(-1)?.span
    const fail = (error: GatewayError) => {
      record.fail(error)
      callSpan()?.fail(error)
    }
    const endWith = (error: GatewayError) => {
      fail(error)
      record.streamEnd = "error"
    }
    record.stream = true
    record.events = 0
    let withheld: string | undefined
    const hold = (more: number, all: number) =>
      all > maxHeld ? tooLarge : record.takeMemory(more) ? undefined : noRoom

    /** Records how the reply ended, in the record and in the span of the call. `left`: the caller left before the end. */
    const recordEnd = (left: boolean) => {
      const { failure, filtered, finishReason: finished, tokens } = protocol.summary()
      const finishReason = withheld ?? finished
      record.flags = toolCalls.flags().length
      record.counted = progress.end === "complete"
      record.received = progress.bytes + (progress.unsent ?? 0)
      record.filtered = filtered === true || withheld !== undefined
      record.tokens = tokens
      if (failure !== undefined) fail(failure)
      record.streamEnd ??= left ? "cancelled" : record.outcome === undefined ? "complete" : "error"
      const span = callSpan()
      // The span and its metric have the tokens that are charged.
      const { charged } = record
      if (charged !== undefined) span?.used(charged, finishReason, record.flags)
      if (left) span?.cancelled()
      span?.end()
    }

    const call = { route, operation: prepared.operation, body: singleUse(prepared.bodies[0]), record }
    const bytes = reply(provider.stream(call), {
      protocol,
      calls: toolCalls,
      onEvents: (count) => {
        record.events += count
        if (record.firstEventAt !== undefined) return
        record.firstEventAt = record.now()
        callSpan()?.firstToken()
      },
      hold,
      guard: replyGuards?.stream({
        hold,
        usage: () => protocol.usage?.(),
        onWithheld: (finishReason) => {
          withheld = finishReason
        }
      }),
      errorOf: (fault) => {
        const error = faultError(fault, provider.scrub(route))
        record.attempts.at(-1)?.noteLimit(error.upstreamStatus, error.retryAfter)
        return error
      },
      heartbeat: limits.heartbeat,
      idle: limits.streamIdleTimeout,
      lastBytesAt: () => record.attempts.at(-1)?.lastBytesAt ?? 0,
      deadline: options.deadline,
      terminated: record.caller === undefined ? Effect.never : terminated(record.caller),
      // A call that has ended well did not fail because its caller reads slowly.
      onEnd: (error) => {
        if (progress.end === undefined) callSpan()?.fail(error)
      },
      destroy: (error) => {
        endWith(error)
        fiber.interruptUnsafe()
      },
      lastFrames: (cause) => {
        const error = Option.getOrElse(Cause.findErrorOption(cause), () => {
          Effect.runForkWith(fiber.context)(Effect.logError("a streamed reply failed", cause))
          return internal
        })
        endWith(error)
        const last = protocol.inBand(error, replyGuards?.hold === true ? undefined : toolCalls.governance())
        return replyGuards?.failed(last) ?? last
      },
      onWaiting: (more) => {
        if (more > 0) record.bytesOut += more
        record.takeMemory(more)
      }
    })
    // Its own, because the request may be sent again: its time limits end with it.
    const scope = yield* Scope.fork(yield* Effect.scope)
    const arrays = yield* Channel.toPullScoped(Stream.toChannel(bytes), scope)
    // A caller that has the last event may begin its next stream at once, with another replica too.
    const { endStream } = record
    const ended = Effect.suspend(() => (progress.end === undefined ? undefined : endStream) ?? Effect.void)
    const pull = endStream === undefined ? arrays : Effect.tap(arrays, ended)
    const first = yield* Pull.catchDone(pull, () => Effect.succeed([])).pipe(
      Effect.onError((cause) => {
        const error = errorOf(cause)
        if (error === undefined) recordEnd(true)
        else {
          // No event has reached the caller. The request's record gets the error that becomes its reply (`failWith`).
          record.firstEventAt = undefined
          callSpan()?.fail(error)
          callSpan()?.end()
        }
        return Scope.close(scope, Exit.failCause(cause))
      })
    )
    yield* Effect.addFinalizer((exit) => Effect.map(inSlices(toolCalls.scan()), () => recordEnd(Exit.isFailure(exit))))
    // The request's body has been sent, and is no longer held.
    record.takeMemory(-requestMemory)
    const begun = Stream.fromIterableEffect(Effect.sync(singleUse(first)))
    return HttpServerResponse.stream(Stream.concat(begun, Stream.fromPull(Effect.succeed(pull))), response)
  })
