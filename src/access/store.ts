/** Where limits and quotas are counted (docs/decisions.md#limits-and-quotas). */
import { Effect, Layer, Option, Redacted } from "effect"
import type { GatewaySettings } from "../Settings.ts"
import { layerFile } from "./sqliteStore.ts"

/** Redis, which replicas share (`GATEWAY_REDIS_URL`), or a file that processes on one machine share (`GATEWAY_STATE_DIR`). */
export const storeLayer = ({ redisUrl, stateDir }: Pick<GatewaySettings, "redisUrl" | "stateDir">) =>
  Option.match(redisUrl, {
    onSome: (url) =>
      Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("./redisStore.ts")),
          ({ layerRedis }) => layerRedis(Redacted.value(url))
        )
      ),
    onNone: () => layerFile(stateDir)
  })
