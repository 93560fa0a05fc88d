/** What a caller gets of an upstream's bytes, however they are cut: by the decoder and the operators that serve it. */
import { Cause, Effect, type Pull, Stream } from "effect"
import { makeAccumulator } from "../../src/governance/accumulate.ts"
import type { GatewayError } from "../../src/model/GatewayError.ts"
import type { Tokens } from "../../src/model/Tokens.ts"
import { decoding } from "../../src/provider/decoding.ts"
import { faultError } from "../../src/provider/fault.ts"
import { encode } from "../../src/stream/encode.ts"
import { endInBand } from "../../src/stream/endInBand.ts"
import type { Progress, Protocol } from "../../src/stream/Frame.ts"
import { governanceSoFar, governed } from "../../src/stream/governed.ts"
import { speak } from "../../src/stream/protocol.ts"
import type { Decoder } from "../../src/wire/Event.ts"

export interface StreamedReply {
  readonly text: string
  /** Ended by the protocol's own last word. */
  readonly complete: boolean
  readonly flags: number
  readonly tokens: Tokens | undefined
}

const untold = { chunk: () => {}, fail: () => {}, received: () => {}, set: () => {} }
const unscrubbed = (message: string) => message

/** `cuts` are places in the bytes, in any order and beyond their end. */
export const streamed = <S extends Progress>(
  protocol: Protocol<S>,
  makeDecoder: () => Decoder,
  bytes: Buffer,
  cuts: ReadonlyArray<number>
): StreamedReply => {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b).concat(bytes.length)
  const pieces = ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end))
  const next: Pull.Pull<Uint8Array, GatewayError> = Effect.suspend(() => {
    const piece = pieces.shift()
    return piece === undefined ? Cause.done() : Effect.succeed(piece)
  })
  const state = protocol.initial()
  const calls = makeAccumulator()
  const reply = Stream.fromPull(
    Effect.succeed(decoding({ next }, makeDecoder(), untold, unscrubbed, { take: () => true }))
  ).pipe(
    speak({
      protocol,
      state,
      onEvents: () => {},
      onComplete: () => {},
      errorOf: (fault) => faultError(fault, unscrubbed)
    }),
    governed(calls),
    endInBand((error) => [protocol.inBand(state, error, governanceSoFar(calls))].flat()),
    encode(() => {})
  )
  const text = Buffer.concat(Effect.runSync(Stream.runCollect(reply))).toString("utf8")
  const { tokens } = protocol.summary(state)
  return { text, complete: state.end === "complete", flags: calls.flags().length, tokens }
}
