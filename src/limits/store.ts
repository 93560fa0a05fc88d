/** Where limits and quotas are counted (docs/decisions.md#limits-and-quotas). */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, Option, Redacted } from "effect"
import type { GatewaySettings } from "../Settings.ts"
import { Ledger, LedgerError } from "./Ledger.ts"
import type { StatusBoard } from "./StatusBoard.ts"
import { layerFile, quotaFile, readSpent } from "./sqliteStore.ts"

type StoreSettings = Pick<GatewaySettings, "redisUrl" | "stateDir">

/** Lies in the state directory while the gateway that uses it counts in Redis, for commands in a shell that does not know. */
const markerOf = (stateDir: string): string => join(stateDir, "counts-in-redis")

/** The directory may be read-only, or missing: then there is no note. */
const note = (run: () => void) => Effect.ignore(Effect.try(run))

const mark = (stateDir: string) =>
  note(() => {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 })
    writeFileSync(markerOf(stateDir), "", { mode: 0o600 })
  })
const unmark = (stateDir: string) => note(() => rmSync(markerOf(stateDir), { force: true }))

const redisLayer = (url: Redacted.Redacted<string>) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./redisStore.ts")),
      ({ layerRedis }) => layerRedis(Redacted.value(url))
    )
  )

/** Redis, which replicas share (`GATEWAY_REDIS_URL`), or a file that processes on one machine share (`GATEWAY_STATE_DIR`). */
export const storeLayer = ({ redisUrl, stateDir }: StoreSettings): Layer.Layer<Ledger | StatusBoard, LedgerError> =>
  Option.match(redisUrl, {
    onSome: (url) => Layer.tap(redisLayer(url), () => mark(stateDir)),
    onNone: () => Layer.tap(layerFile(stateDir), () => unmark(stateDir))
  })

const here = "set GATEWAY_REDIS_URL in this shell, too"

/** What was spent, for a command beside the gateway: it makes no file, and fails where there may be counts that it does not see. */
export const spentIn =
  ({ redisUrl, stateDir }: StoreSettings): Ledger["Service"]["spent"] =>
  (names) =>
    Effect.suspend(() => {
      if (Option.isSome(redisUrl)) {
        return Effect.flatMap(Ledger, ({ spent }) => spent(names)).pipe(Effect.provide(redisLayer(redisUrl.value)))
      }
      if (existsSync(markerOf(stateDir))) {
        return Effect.fail(new LedgerError({ message: `the gateway that uses ${stateDir} counts in Redis; ${here}.` }))
      }
      if (!existsSync(quotaFile(stateDir))) {
        return Effect.fail(
          new LedgerError({
            message: `there is no ${quotaFile(stateDir)}. If the gateway counts in Redis, ${here}; if it has another GATEWAY_STATE_DIR, set that.`
          })
        )
      }
      return readSpent(stateDir, names)
    })
