/**
 * A streamed reply without sockets, one event at a time: by `src/stream/relay.ts`, and by operators of Effect in its place. What
 * decodes, steps, governs and prints is the same.
 */
import { Effect, Queue, Stream } from "effect"
import { makeAccumulator } from "../src/governance/accumulate.ts"
import { faultError } from "../src/provider/fault.ts"
import { ReplyWriter } from "../src/stream/encode.ts"
import type { Item } from "../src/stream/Frame.ts"
import { collect, governed } from "../src/stream/governed.ts"
import { Relay } from "../src/stream/relay.ts"
import { messagesProtocol } from "../src/surface/messagesStream.ts"
import type { Reader } from "../src/wire/Source.ts"
import { keepAlive } from "../src/wire/sse.ts"
import { sse } from "../src/wire/sseDecoder.ts"
import { nothing, responseTo } from "./caller.ts"
import { replies } from "./wire.ts"

const { events } = replies(200).claudeStream
const protocol = messagesProtocol("claude-sonnet-4-5")
const every = 15_000

const writer = new ReplyWriter(responseTo(true), nothing)

/** As a server does with the bytes of a reply. */
const write = (items: Stream.Stream<Item, unknown>) =>
  Effect.runPromise(Stream.runForEachArray(writer.encode(items), () => Effect.void))

/** Each event comes in a turn of its own. */
const send = async (push: (event: Buffer) => void): Promise<void> => {
  for (const event of events) {
    push(event)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

export const eventsOfReply = events.length

export const byRelay = async (): Promise<void> => {
  const decoder = sse()
  const waiting: Array<Buffer> = []
  let reader: Reader | undefined
  const relay = new Relay({
    protocol,
    state: protocol.initial(),
    calls: makeAccumulator(),
    every,
    writer,
    onFirst: nothing,
    onKept: () => undefined,
    onEnd: nothing,
    errorOf: (fault) => faultError(fault, (message) => message),
    lastWords: () => []
  })
  relay.opened({
    take: () => {
      const chunk = waiting.shift()
      return chunk && { events: decoder.feed(chunk).events, end: undefined }
    },
    notify: (next) => {
      reader = next
    }
  })
  const written = write(Stream.unwrap(relay.begin))
  await send((event) => {
    waiting.push(event)
    reader?.wake()
  })
  await written
}

export const byOperators = async (): Promise<void> => {
  const decoder = sse()
  const calls = makeAccumulator()
  const queue = Effect.runSync(Queue.unbounded<Buffer>())
  const frames: Stream.Stream<Item> = Stream.fromQueue(queue).pipe(
    Stream.mapArray((chunks) => [decoder.feed(chunks[0]).events]),
    Stream.mapAccumArray(protocol.initial, (state, [arrived]) => protocol.step(state, arrived)),
    Stream.mapAccumArray(nothing, (_, array) => {
      collect(calls, array)
      return [_, governed(calls, array)] as const
    }),
    Stream.takeUntil(({ event }) => event === "message_stop")
  )
  const beats = Stream.tick(every).pipe(
    Stream.drop(1),
    Stream.map((): Item => keepAlive)
  )
  const written = write(Stream.merge(frames, beats, { haltStrategy: "left" }))
  await send((event) => Queue.offerUnsafe(queue, event))
  await written
}
