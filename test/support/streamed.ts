/** What a caller gets of a cloud's events or bytes, by all the stages that serve it: nothing of it is recorded, and no time is over. */
import { Cause, Duration, Effect, Option, Stream } from "effect"
import { type GatewayError, internal } from "../../src/catalog/GatewayError.ts"
import type { Tokens } from "../../src/catalog/Tokens.ts"
import { faultError, framingError } from "../../src/cloud/fault.ts"
import { makeAccumulator } from "../../src/governance/accumulate.ts"
import type { Protocol } from "../../src/stream/Frame.ts"
import type { Decoder } from "../../src/stream/framing.ts"
import { decode, type ReplyOptions, reply } from "../../src/stream/reply.ts"
import { type Event, printEvents } from "../../src/wire/sse.ts"

export interface StreamedReply {
  readonly text: string
  /** Ended by the protocol's own last word. */
  readonly complete: boolean
  readonly flags: number
  readonly tokens: Tokens | undefined
}

const nothing = () => {}
const unscrubbed = (message: string) => message

/** What is a refusal with a status of its own is looked at in the surface's words here. */
export const replied = (
  protocol: Protocol,
  events: Stream.Stream<Event, GatewayError>,
  more: Partial<Pick<ReplyOptions, "calls" | "hold">> = {}
): Effect.Effect<StreamedReply> =>
  Effect.gen(function* () {
    const calls = more.calls ?? makeAccumulator()
    const lastFrames = (cause: Cause.Cause<GatewayError>) =>
      protocol.inBand(
        Option.getOrElse(Cause.findErrorOption(cause), () => internal),
        calls.governance()
      )
    const bytes = reply(events, {
      protocol,
      calls,
      lastFrames,
      onEvents: nothing,
      onWaiting: nothing,
      hold: more.hold ?? (() => undefined),
      errorOf: (fault) => faultError(fault, unscrubbed),
      heartbeat: Duration.minutes(1),
      idle: Duration.minutes(1),
      lastBytesAt: () => 0,
      deadline: performance.now() + 60_000,
      terminated: Effect.never,
      onEnd: nothing,
      destroy: nothing
    })
    const pieces = yield* Stream.runCollect(
      Stream.catchCause(bytes, (cause) => Stream.succeed(Buffer.from(printEvents(lastFrames(cause)))))
    )
    const { tokens } = protocol.summary()
    const text = Buffer.concat(pieces).toString("utf8")
    return { text, complete: protocol.progress.end === "complete", flags: calls.flags().length, tokens }
  })

/** `cuts` are places in the bytes, in any order and beyond their end. */
export const streamed = (
  protocol: Protocol,
  makeDecoder: () => Decoder,
  bytes: Buffer,
  cuts: ReadonlyArray<number>
): StreamedReply => {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b).concat(bytes.length)
  const pieces = ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end))
  const decoded = decode<GatewayError>({
    decoder: makeDecoder(),
    onRead: nothing,
    hold: () => undefined,
    framingError: (failure) => framingError(failure, unscrubbed)
  })
  return Effect.runSync(replied(protocol, decoded(Stream.rechunk(Stream.fromIterable(pieces), 1))))
}
