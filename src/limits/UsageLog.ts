/**
 * Where usage records and audit events go: a file, or standard output (docs/operation.md#usage-records).
 *
 * A request never waits for it: records go through a bounded queue and are written in batches. A sink that fails is tried again
 * every second. When the queue is full, and for what is left at the end, a record goes to standard error instead: an error line
 * says so once, and `gateway_usage_records_total{to="stderr"}` counts it. A record is lost only where the reader of standard error
 * is stalled, too (`to="lost"`), and what was queued if the process is killed.
 *
 * Records are chained where they are written, not in the request (usageChain); those on standard error are part of the chain.
 * Its head is logged every minute in which it grew, and at the end; where there is a key, it is signed then, and at the start.
 */
import { setTimeout as sleep } from "node:timers/promises"
import {
  type Cause,
  Console,
  Context,
  type Duration,
  Effect,
  Fiber,
  FileSystem,
  Layer,
  Metric,
  Queue,
  Schedule
} from "effect"
import { type Act, Audit, type AuditEvent, eventOf } from "../audit/Audit.ts"
import type { recordOptions } from "../Settings.ts"
import { makeStderrRoom } from "../stderr.ts"
import { fail, rephrase } from "../wire/OperatorError.ts"
import { countDiskFailure, fileError, giveToFolder, writeProblem } from "./files.ts"
import { endOf, fileSink, type Sink, stdoutSink } from "./recordSinks.ts"
import type { UsageRecord } from "./UsageRecord.ts"
import { anchorOf, type ChainOptions, type Head, lastHead, makeChain, readSigner } from "./usageChain.ts"

const records = Metric.counter("gateway_usage_records_total", {
  description:
    "Usage records, by where they went: to the log, to stderr because the log could not take them, or lost because neither could",
  incremental: true
})
const waiting = Metric.gauge("gateway_records_waiting", {
  description: "Usage records and audit events that wait for their log, by log: usage, audit"
})
const count = (to: "log" | "stderr" | "lost", n: number) => Metric.update(Metric.withAttributes(records, { to }), n)

interface UsageLogOptions {
  /** What metrics call it; `usage` unless set. */
  readonly log?: "usage" | "audit" | undefined
  /** Records that may wait for the sink; default 10,000. */
  readonly capacity?: number | undefined
  /** Time for what is queued when the layer is closed; default 5 seconds. */
  readonly flush?: Duration.Input | undefined
}

type RecordOptions = Partial<ReturnType<typeof recordOptions>>

/** Audit events apart from the usage records, chained like them: in a file, or on standard output. */
export const auditLayer = (log: string, options: RecordOptions) =>
  Layer.effect(
    Audit,
    Effect.map(makeLog(log, { ...options, log: "audit" }), ({ audit }) => audit)
  )

/** Appends the events of a command, as a chain of its own. */
export const appendAudit = Effect.fnUntraced(function* (
  file: string,
  acts: ReadonlyArray<Act>,
  { format, signingKey }: RecordOptions
) {
  if (acts.length === 0) return
  const fileSystem = yield* FileSystem.FileSystem
  const signer = signingKey === undefined ? undefined : yield* readSigner(signingKey)
  const chain = makeChain(yield* headIn(file), { format, signer })
  const isThere = yield* Effect.mapError(fileSystem.exists(file), fileError("write", file))
  const lines = [...acts.map((act) => chain.link(eventOf(act))), chain.seal(true)]
  const appending = Effect.timeoutOrElse((yield* fileSink(file))(lines), {
    duration: "5 seconds",
    orElse: () => fail("it takes no more: its reader is stalled")
  })
  yield* Effect.mapError(appending, fileError("write", file))
  if (!isThere) yield* giveToFolder(file)
})

const makeLog = Effect.fnUntraced(function* (log: string, { signingKey, ...options }: UsageLogOptions & RecordOptions) {
  const signer = signingKey === undefined ? undefined : yield* readSigner(signingKey)
  if (log === "stdout") return yield* makeUsageLog(stdoutSink, { ...options, signer })
  const setting = options.log === "audit" ? "GATEWAY_AUDIT_LOG" : "GATEWAY_USAGE_LOG"
  const sink = yield* rephrase(fileSink(log), (why) => `${setting}: ${why}`)
  return yield* makeUsageLog(sink, { ...options, signer }, yield* headIn(log))
})

/** The last record of a file; undefined when there is none. So many bytes hold the longest record many times over. */
const headIn = (file: string) => Effect.map(endOf(file, 65_536), lastHead)

/** Between two writes, 60 ms: each opens, writes and closes the file in threads of the pool, however little it writes. */
const pause = Effect.promise(() => sleep(60))

/** What stands in the queue where the chain is to be signed. */
type Seal = "seal" | "last seal"

/** A usage log on any sink; for tests, and for what `layer` does not know. */
export const makeUsageLog = Effect.fnUntraced(function* (
  sink: Sink,
  { capacity = 10_000, flush = "5 seconds", log = "usage", ...options }: UsageLogOptions & ChainOptions,
  before?: Head
) {
  // Bounded where records come in: signatures are few, and each has its place.
  const queue = yield* Queue.unbounded<UsageRecord | AuditEvent | Seal, Cause.Done>()
  const chain = makeChain(before, options)
  const seal = (when: Seal) => {
    if (options.signer !== undefined) Queue.offerUnsafe(queue, when)
  }
  const line = (item: UsageRecord | AuditEvent | Seal): string =>
    typeof item === "string" ? chain.seal(item === "last seal") : chain.link(item)
  // What stood in the file before.
  seal("seal")
  let trouble = false
  let anchored = 0
  let spilled = 0
  let lost = 0
  const hasRoom = makeStderrRoom()

  const complain = Effect.fnUntraced(function* (message: string) {
    if (trouble) return
    trouble = true
    yield* Effect.logError(
      `The ${log} log ${message}. Records that do not fit the queue go to standard error; they are part of the chain.`
    )
  })

  /** The log line that a changed or removed record contradicts. */
  const anchorHead = Effect.suspend(() => {
    const head = chain.head()
    if (head.seq === anchored) return Effect.void
    anchored = head.seq
    return Effect.logInfo("The usage records up to here").pipe(Effect.annotateLogs({ ...anchorOf(head) }))
  })

  const sayLost = Effect.suspend(() => {
    if (lost === 0 || !hasRoom()) return Effect.void
    const line = `${lost} ${log} records before this line are lost: the ${log} log and the reader of standard error took no more`
    lost = 0
    return Effect.logError(line)
  })

  /** Of chained lines. */
  const spill = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
    if (lines.length === 0) return
    if (!hasRoom()) {
      lost += lines.length
      return yield* count("lost", lines.length)
    }
    yield* sayLost
    spilled += lines.length
    yield* Console.error(lines.join("").trimEnd())
    yield* count("stderr", lines.length)
  })

  const write = Effect.fnUntraced(function* (lines: Array<string>) {
    const size = lines.length
    yield* Effect.suspend(() => sink(lines)).pipe(
      Effect.tapError((error) => {
        countDiskFailure("usage-log", error)
        return complain(`cannot be written (${writeProblem(error)})`)
      }),
      Effect.retry(Schedule.spaced("1 second")),
      Effect.onInterrupt(() => spill(lines)),
      Effect.ensuring(Effect.suspend(() => count("log", size - lines.length)))
    )
    if (!trouble) return yield* pause
    trouble = false
    yield* sayLost
    yield* Effect.logInfo(`The ${log} log is written again.`)
  })

  const writer = yield* Queue.takeBetween(queue, 1, 1000).pipe(
    Effect.flatMap((records) => write(records.map(line))),
    Effect.forever,
    // The end of the queue, once it is empty.
    Effect.ignore,
    Effect.forkScoped
  )
  const measure = Effect.suspend(() => Metric.update(Metric.withAttributes(waiting, { log }), Queue.sizeUnsafe(queue)))
  yield* measure.pipe(Effect.repeat(Schedule.spaced("1 second")), Effect.forkScoped)
  const sealAndAnchor = Effect.suspend(() => {
    if (!chain.isUnsigned()) return Effect.void
    seal("seal")
    return anchorHead
  })
  yield* sealAndAnchor.pipe(Effect.delay("1 minute"), Effect.forever, Effect.forkScoped)
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      seal("last seal")
      yield* Queue.end(queue)
      yield* Effect.timeoutOption(Fiber.await(writer), flush)
      yield* Fiber.interrupt(writer)
      yield* spill((yield* Effect.orElseSucceed(Queue.clear(queue), () => [])).map(line))
      yield* sayLost
      if (spilled > 0) {
        yield* Effect.logError(
          `${spilled} usage records went to standard error, with their places in the chain: keep it for usage verify`
        ).pipe(Effect.annotateLogs({ usage_instance: chain.instance }))
      }
      yield* anchorHead
    })
  )
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const take = (record: UsageRecord | AuditEvent): void => {
    if (Queue.sizeUnsafe(queue) < capacity && Queue.offerUnsafe(queue, record)) return
    run(Effect.andThen(complain("cannot keep up"), spill([chain.link(record)])))
  }
  return {
    /** Records a request; never throws. Successful token counts are not recorded (docs/operation.md#usage-records). */
    record: (record: UsageRecord): void => {
      if (record.surface !== "count_tokens" || record.outcome !== "ok") take(record)
    },
    audit: (act: Act): void => take(eventOf(act))
  }
})

export class UsageLog extends Context.Service<UsageLog, Effect.Success<ReturnType<typeof makeUsageLog>>>()(
  "gateway/limits/UsageLog"
) {
  static readonly none = Layer.succeed(UsageLog, { record: () => {}, audit: () => {} })

  /** `log`: a file's path, or `stdout`. Closing the layer writes what is queued. */
  static readonly layer = (log: string, options: UsageLogOptions & RecordOptions = {}) =>
    Layer.effect(UsageLog, makeLog(log, options))
}
