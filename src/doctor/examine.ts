/** Everything that `doctor` looks at (docs/operation.md#doctor). */
import { Config, Effect, Result } from "effect"
import { loadCatalog } from "../model/CatalogStore.ts"
import { applyProxyRule } from "../proxy.ts"
import { type Environment, type GatewaySettings, load } from "../Settings.ts"
import { sitesOf } from "../settings/clouds.ts"
import { applyTlsPolicy } from "../tlsPolicy.ts"
import { cloudChecks } from "./clouds.ts"
import { runChecks } from "./Finding.ts"
import { keysCheck, stateCheck, tlsCheck, usageLogCheck } from "./files.ts"
import { liveCheck } from "./live.ts"
import { filesLimitCheck, fipsCheck, portsCheck } from "./machine.ts"
import { catalogCheck, cloudsCheck, settingsCheck } from "./settings.ts"
import { collectorCheck, redisCheck } from "./stores.ts"

export interface ExamineOptions {
  readonly environment: Environment
  /** Whether deployments are asked for one token each. */
  readonly live: boolean
  /** Called with settings that are right, before anything is looked at. */
  readonly apply?: ((settings: GatewaySettings) => void) | undefined
  /** Says a wrong setting in words. */
  readonly explain: (error: Config.ConfigError) => string
}

/** What is found in this environment; settings that cannot be read end it early. */
export const examine = Effect.fnUntraced(function* ({ apply, environment: env, explain, live }: ExamineOptions) {
  const loaded = yield* Effect.result(load(env))
  if (Result.isFailure(loaded)) {
    const problem = loaded.failure instanceof Config.ConfigError ? explain(loaded.failure) : String(loaded.failure)
    return yield* runChecks([settingsCheck(env, problem), collectorCheck(env), fipsCheck(undefined)])
  }
  const { gateway, clouds } = loaded.success
  apply?.(gateway)
  applyTlsPolicy()
  applyProxyRule(gateway)
  const catalog = live ? yield* Effect.option(loadCatalog(gateway.catalogFile)) : undefined
  const liveChecks =
    catalog?._tag === "Some"
      ? [liveCheck({ settings: gateway, clouds, catalog: catalog.value, sites: sitesOf(clouds) })]
      : []
  return yield* runChecks([
    settingsCheck(env, undefined),
    cloudsCheck(gateway, clouds),
    catalogCheck(gateway, clouds),
    ...cloudChecks(gateway, clouds),
    keysCheck(gateway),
    tlsCheck(gateway),
    fipsCheck(gateway.fips === "required"),
    redisCheck(gateway),
    stateCheck(gateway),
    usageLogCheck(gateway),
    collectorCheck(env),
    portsCheck(gateway),
    filesLimitCheck(gateway),
    ...liveChecks
  ])
}, Effect.scoped)
