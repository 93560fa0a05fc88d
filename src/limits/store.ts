/** Where limits and quotas are counted (docs/decisions.md#limits-and-quotas). */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, Option, Redacted } from "effect"
import type { GatewaySettings } from "../Settings.ts"
import { makeFolder } from "./files.ts"
import { type Charge, Ledger, LedgerError } from "./Ledger.ts"
import type { RedisLedgerOptions } from "./redisLedger.ts"
import { RefusedKeys, type StatusBoard } from "./replicas.ts"
import { layerFile, quotaFile, readSpent } from "./sqliteStore.ts"

type StoreSettings = Pick<GatewaySettings, "redisUrl" | "stateDir">

/**
 * Lies in the state directory while the gateway that uses it counts in Redis, for commands in a shell that does not know. It
 * holds the epoch of the counts, so that a Redis that was emptied while no gateway ran is noticed, too.
 */
const markerOf = (stateDir: string): string => join(stateDir, "counts-in-redis")

/** The directory may be read-only, or missing: then there is no note. */
const note = (run: () => void) => Effect.ignore(Effect.try(run))

const mark = (stateDir: string) => (epoch: string) =>
  note(() => {
    makeFolder(stateDir)
    writeFileSync(markerOf(stateDir), epoch, { mode: 0o600 })
  })
const unmark = (stateDir: string) => note(() => rmSync(markerOf(stateDir), { force: true }))
const markedEpoch = (stateDir: string) =>
  Effect.orElseSucceed(
    Effect.try(() => readFileSync(markerOf(stateDir), "utf8") || undefined),
    () => undefined
  )

const redisLayer = (url: Redacted.Redacted<string>, options?: RedisLedgerOptions) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./redisStore.ts")),
      ({ layerRedis }) => layerRedis(Redacted.value(url), options)
    )
  )

/** Redis, which replicas share (`GATEWAY_REDIS_URL`), or a file that processes on one machine share (`GATEWAY_STATE_DIR`). */
export const storeLayer = ({ redisUrl, stateDir }: StoreSettings): Layer.Layer<Ledger | StatusBoard, LedgerError> =>
  Option.match(redisUrl, {
    onSome: (url) =>
      Layer.unwrap(Effect.map(markedEpoch(stateDir), (before) => redisLayer(url, { before, inForce: mark(stateDir) }))),
    onNone: () => Layer.tap(layerFile(stateDir), () => unmark(stateDir))
  })

const here = "set GATEWAY_REDIS_URL in this shell, too"

/** Whether the gateway that uses this directory counts in Redis. */
const isElsewhere = (stateDir: string): boolean => existsSync(markerOf(stateDir))

/** Fails where a command cannot know where the gateway counts. */
const certain = Effect.fnUntraced(function* ({ redisUrl, stateDir }: StoreSettings) {
  if (Option.isSome(redisUrl)) return
  const unsure = (message: string) => new LedgerError({ message })
  if (isElsewhere(stateDir)) return yield* unsure(`the gateway that uses ${stateDir} counts in Redis; ${here}.`)
  if (existsSync(quotaFile(stateDir))) return
  return yield* unsure(
    `there is no ${quotaFile(stateDir)}. If the gateway counts in Redis, ${here}; if it has another GATEWAY_STATE_DIR, set that. A sandbox that started without a key file counts in memory.`
  )
})

/** What was spent, for a command beside the gateway: it makes no file, and fails where there may be counts that it does not see. */
export const spentIn = (settings: StoreSettings): Ledger["Service"]["spent"] =>
  Effect.fnUntraced(function* (names) {
    yield* certain(settings)
    const { redisUrl, stateDir } = settings
    if (Option.isNone(redisUrl)) return yield* readSpent(stateDir, names)
    const reading = Effect.flatMap(Ledger, ({ spent }) => spent(names))
    return yield* Effect.provide(reading, redisLayer(redisUrl.value))
  })

/** Raises counts where the gateway has them. */
export const raiseIn = Effect.fnUntraced(function* (settings: StoreSettings, amounts: ReadonlyArray<Charge>) {
  yield* certain(settings)
  const { redisUrl, stateDir } = settings
  const store = Option.isSome(redisUrl) ? redisLayer(redisUrl.value) : layerFile(stateDir)
  const raising = Effect.flatMap(Ledger, ({ raise }) => raise(amounts))
  yield* Effect.provide(raising, store)
})

/**
 * Tells the replicas of a gateway whether keys are refused. Returns `notified`; `unknown` where they share a Redis that this shell does
 * not know, and `none` where they share none.
 */
export const tellReplicas = ({ redisUrl, stateDir }: StoreSettings, ids: ReadonlyArray<string>, refused: boolean) =>
  Option.match(redisUrl, {
    onNone: () => Effect.sync(() => (isElsewhere(stateDir) ? "unknown" : "none")),
    onSome: (url) =>
      Effect.flatMap(RefusedKeys, ({ add, remove }) => (refused ? add(ids) : remove(ids))).pipe(
        Effect.as("notified" as const),
        Effect.provide(redisLayer(url))
      )
  })
