/** Records on their way to a collector: written some at a time, sent in batches, one at a time. */
import { type Cause, type Duration, Effect, Fiber, Queue, type Scope } from "effect"
import { type Message, ProtobufWriter } from "./protobuf.ts"

export interface Batch {
  /** Protobuf: the records as fields 2 of the message around them. The room that was asked for is free before them. */
  readonly bytes: Uint8Array
  readonly records: number
}

/** In records and milliseconds; `OTEL_BSP_*`, `OTEL_BLRP_*`. */
export interface BatchLimits {
  readonly batch: number
  /** What may wait; more is dropped. */
  readonly queue: number
  /** Longest time that a record waits for others. */
  readonly delay: number
  /** Longest time for one export. */
  readonly timeout: number
}

export interface BatchesOptions {
  readonly limits: BatchLimits
  /** In bytes: what `send` writes before the records. */
  readonly room: number
  /** When it has succeeded, the records' memory is written to again; after a timeout it may still be sent from. */
  readonly send: (batch: Batch) => Effect.Effect<void, { readonly message: string }>
  /** Time for what is left when the scope closes. */
  readonly shutdownTimeout: Duration.Input
}

/** So many are written together: what writes them is in the processor's cache then, and a request has that much less to do. */
const together = 32

/** Takes a record. */
export type Add = (record: Message) => void

export const makeBatches = Effect.fnUntraced(function* ({
  limits,
  room,
  send,
  shutdownTimeout
}: BatchesOptions): Effect.fn.Return<Add, never, Scope.Scope> {
  const full = yield* Queue.dropping<Batch, Cause.Done>(Math.max(1, Math.floor(limits.queue / limits.batch) - 1))
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const writer = new ProtobufWriter(room)
  let unwritten: Array<Message> = []
  let records = 0
  let dropped = 0
  let timer: NodeJS.Timeout | undefined

  const write = () => {
    for (const record of unwritten) writer.record(2, record)
    unwritten = []
  }
  const seal = () => {
    clearTimeout(timer)
    timer = undefined
    write()
    if (records === 0) return
    const bytes = writer.detach()
    if (Queue.offerUnsafe(full, { bytes, records })) {
      if (dropped > 0)
        run(Effect.logWarning(`telemetry: ${dropped} records were dropped, as the collector is too slow`))
      dropped = 0
    } else {
      dropped += records
      writer.reuse(bytes)
    }
    records = 0
  }

  const sender = yield* Queue.take(full).pipe(
    Effect.flatMap((batch) =>
      send(batch).pipe(
        Effect.tap(Effect.sync(() => writer.reuse(batch.bytes))),
        Effect.timeout(limits.timeout),
        Effect.catch(({ message }) => Effect.logWarning(`telemetry: ${message}`))
      )
    ),
    Effect.forever,
    // The end of the queue, once it is empty.
    Effect.ignore,
    Effect.forkScoped
  )
  yield* Effect.addFinalizer(() =>
    Effect.sync(seal).pipe(
      Effect.andThen(Queue.end(full)),
      Effect.andThen(Effect.timeoutOption(Fiber.await(sender), shutdownTimeout))
    )
  )
  return (record) => {
    unwritten.push(record)
    records++
    if (unwritten.length >= together) write()
    if (records >= limits.batch) seal()
    else timer ??= setTimeout(seal, limits.delay).unref()
  }
})
