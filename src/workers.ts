/** Several processes that share the port (`GATEWAY_WORKERS`): the first process starts, replaces and stops them. */
import cluster from "node:cluster"
import { createServer } from "node:net"
import { Deferred, Duration, Effect, Option, Record, Schema } from "effect"
import type { GatewaySettings } from "./Settings.ts"
import { isEveryAddress } from "./settings/fields.ts"
import { fail, OperatorError, Reported } from "./wire/OperatorError.ts"
import { steadyMillis } from "./wire/steady.ts"

export const isWorker = cluster.isWorker

const isReady = Schema.is(Schema.Struct({ gatewayPort: Schema.Number }))

export const reportReady = (gatewayPort: number) => Effect.sync(() => process.send?.({ gatewayPort }))

/** Before a worker is replaced: at first almost no time, twice as long each time one dies young, at most half a minute. */
const firstPause = 100
const longestPause = 30_000
/** A worker that lived longer than this (milliseconds) did not die of its start. */
const young = 60_000
/** Beyond the drain's own time, for what a worker does when its streams have ended. */
const patience = Duration.seconds(10)

/** Why the first worker does not serve. */
type StartFailure = OperatorError | Reported

/** Each worker counts for itself, so each has a metrics port of its own, counted up from `GATEWAY_METRICS_PORT`. */
export const metricsPortOf = ({ metricsPort }: Pick<GatewaySettings, "metricsPort">, slot: number) =>
  Option.map(metricsPort, (base) => (base === 0 ? 0 : base + slot))

/** Why the workers cannot have these metrics ports: a worker that cannot listen is replaced again and again. */
export const metricsPortsProblem = (settings: GatewaySettings): string | undefined => {
  const { host, metricsHost, port, workers } = settings
  const at = (slot: number) => Option.getOrElse(metricsPortOf(settings, slot), () => 0)
  const most = 65_536 - workers
  if (at(workers - 1) > 65_535) {
    return `GATEWAY_METRICS_PORT must be at most ${most}: each of ${workers} workers takes the next port`
  }
  const shared = host === metricsHost || isEveryAddress(host) || isEveryAddress(metricsHost)
  const isTaken = shared && port !== 0 && at(0) <= port && port <= at(workers - 1)
  return isTaken
    ? `GATEWAY_METRICS_PORT: ${metricsHost}:${port} for metrics is GATEWAY_PORT, too; each worker takes the next port`
    : undefined
}

/** For port 0, whose workers would get another one where they come back after all of them have ended; 0 where none is found. */
const freePort = (host: string) =>
  Effect.callback<number>((resume) => {
    const server = createServer().once("error", () => resume(Effect.succeed(0)))
    server.listen(0, host, () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      server.close(() => resume(Effect.succeed(port)))
    })
  })

/** What differs between workers and one process: the limit of requests in flight is divided. */
const environmentOf = (settings: GatewaySettings, slot: number) => ({
  GATEWAY_MAX_IN_FLIGHT: String(Math.ceil(settings.maxInFlight / settings.workers)),
  GATEWAY_CLOUD_QUOTA_SHARE: String(settings.cloudQuotaShare / settings.workers),
  ...Record.getSomes({ GATEWAY_METRICS_PORT: Option.map(metricsPortOf(settings, slot), String) })
})

interface WorkerEnd {
  readonly reason: string
  /** Whether it has printed more than that: not where a signal ended it, or where it never ran. */
  readonly reported: boolean
}

/** Runs one worker and returns how it ended. Interrupted, it lets the worker drain. */
const live = (
  environment: Readonly<Record<string, string>>,
  stopWithin: Duration.Duration,
  onReady: (port: number) => void
): Effect.Effect<WorkerEnd> =>
  Effect.callback<WorkerEnd>((resume) => {
    const worker = cluster.fork(environment)
    worker.on("message", (message: unknown) => {
      if (isReady(message)) onReady(message.gatewayPort)
    })
    const end = (reason: string, reported: boolean) => resume(Effect.succeed({ reason, reported }))
    worker.on("error", ({ message }) => end(message, false))
    worker.once("exit", (code, signal) => end(signal ?? `exit code ${code}`, signal === null && code !== 0))
    return Effect.callback<void>((stopped) => {
      if (worker.isDead()) return stopped(Effect.void)
      worker.once("exit", () => stopped(Effect.void))
      worker.process.kill("SIGTERM")
    }).pipe(
      Effect.timeoutOrElse({
        duration: stopWithin,
        orElse: () => Effect.sync(() => void worker.process.kill("SIGKILL"))
      })
    )
  })

/**
 * Runs the workers until it is interrupted; then they drain. Fails when the first of them does not start: what stops one
 * stops all. The others start when it serves, so that its error is printed once. `environment` overrides that of each worker;
 * `announce` is run once, when all workers serve on this port.
 */
export const runWorkers = Effect.fnUntraced(function* <E, R>(
  settings: GatewaySettings,
  environment: Readonly<Record<string, string>>,
  announce: (port: number) => Effect.Effect<void, E, R>
) {
  const problem = metricsPortsProblem(settings)
  if (problem !== undefined) return yield* fail(problem)
  const port = settings.port === 0 ? yield* freePort(settings.host) : settings.port
  const stopWithin = Duration.sum(Duration.sum(settings.drainDelay, settings.drainTimeout), patience)
  const first = yield* Deferred.make<number, StartFailure>()

  const keep = Effect.fnUntraced(function* (slot: number, ready: Deferred.Deferred<number, StartFailure>) {
    if (slot > 0) yield* Deferred.await(first)
    let pause = firstPause
    while (true) {
      const startedAt = yield* steadyMillis
      const { reason, reported } = yield* live(
        { ...environment, ...environmentOf(settings, slot), GATEWAY_PORT: String(port) },
        stopWithin,
        (port) => {
          Deferred.doneUnsafe(ready, Effect.succeed(port))
        }
      )
      const message = `the first worker ended before it listened: ${reason}`
      if (yield* Deferred.fail(first, reported ? new Reported({ message }) : new OperatorError({ message }))) return
      if ((yield* steadyMillis) - startedAt > young) pause = firstPause
      yield* Effect.logError(`A worker has ended (${reason}). Another one takes its place in ${pause} ms.`).pipe(
        Effect.annotateLogs({ worker: slot })
      )
      yield* Effect.sleep(pause)
      pause = Math.min(2 * pause, longestPause)
    }
  })

  const others = Array.from({ length: settings.workers - 1 }, () => Deferred.makeUnsafe<number, StartFailure>())
  const all = [first, ...others]
  const announced = Effect.forEach(all, (ready) => Deferred.await(ready)).pipe(
    Effect.flatMap(([port = settings.port]) => announce(port))
  )
  yield* Effect.all([...all.map((ready, slot) => keep(slot, ready)), announced], {
    concurrency: "unbounded",
    discard: true
  })
})
