/** What a caller gets of an upstream's bytes, however they are cut: by the decoder and the operators that serve it. */
import { Effect, Stream } from "effect"
import type { Tokens } from "../../src/model/Tokens.ts"
import { Decoding } from "../../src/provider/decoding.ts"
import { ReplyWriter } from "../../src/stream/encode.ts"
import type { Progress, Protocol } from "../../src/stream/Frame.ts"
import type { Decoder } from "../../src/wire/Event.ts"
import { relayOf } from "./relayed.ts"

export interface StreamedReply {
  readonly text: string
  /** Ended by the protocol's own last word. */
  readonly complete: boolean
  readonly flags: number
  readonly tokens: Tokens | undefined
}

const nothing = () => {}
const unwritten = { chunkedEncoding: false, socket: null }
const untold = { chunk: nothing, fail: nothing, named: nothing, received: nothing }
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
  const { calls, lastWords, relay, state } = relayOf(protocol)
  const source = { take: () => pieces.shift() ?? "done", notify: nothing } as const
  relay.opened(new Decoding(source, makeDecoder(), untold, unscrubbed, { take: () => true }))
  // What is a refusal with a status of its own is looked at in the surface's words here.
  const reply = Stream.unwrap(relay.begin).pipe(
    Stream.catch((error) => Stream.fromIterable(lastWords(error))),
    (items) => new ReplyWriter(unwritten, nothing).encode(items)
  )
  const text = Buffer.concat(Effect.runSync(Stream.runCollect(reply))).toString("utf8")
  const { tokens } = protocol.summary(state)
  return { text, complete: state.end === "complete", flags: calls.flags().length, tokens }
}
