/** Everything that `doctor` checks (docs/operation.md#doctor). */
import { Config, Effect, Result } from "effect"
import { loadCatalog } from "../../catalog/CatalogStore.ts"
import { applyProxyRule } from "../../proxy.ts"
import { type Environment, load } from "../../Settings.ts"
import { applyTlsPolicy } from "../../tlsPolicy.ts"
import { explainSetting } from "../cli/explainSetting.ts"
import { cloudChecks } from "./clouds.ts"
import { runChecks } from "./Finding.ts"
import { keysCheck, stateCheck, tlsCheck, usageLogCheck } from "./files.ts"
import { liveCheck } from "./live.ts"
import { filesLimitCheck, fipsCheck, portsCheck } from "./machine.ts"
import { catalogCheck, cloudsCheck, settingsCheck } from "./settings.ts"
import { collectorCheck, redisCheck } from "./stores.ts"

/** What is found in this environment; settings that cannot be read end it early. `live`: whether deployments are called, too. */
export const examine = Effect.fnUntraced(function* (environment: Environment, live: boolean) {
  const loaded = yield* Effect.result(load(environment))
  if (Result.isFailure(loaded)) {
    const { failure } = loaded
    const problem = failure instanceof Config.ConfigError ? explainSetting(failure) : String(failure)
    return yield* runChecks([settingsCheck(environment, problem), collectorCheck(environment), fipsCheck(undefined)])
  }
  const { gateway, clouds } = loaded.success
  applyProxyRule(gateway)
  applyTlsPolicy()
  const catalog = live ? yield* Effect.result(loadCatalog(gateway.catalogFile)) : undefined
  return yield* runChecks([
    settingsCheck(environment, undefined),
    cloudsCheck(gateway, clouds),
    catalogCheck(gateway, clouds),
    ...cloudChecks(gateway, clouds),
    keysCheck(gateway),
    tlsCheck(gateway),
    fipsCheck(gateway.fips === "required"),
    redisCheck(gateway),
    stateCheck(gateway),
    usageLogCheck(gateway),
    collectorCheck(environment),
    portsCheck(gateway),
    filesLimitCheck(gateway),
    ...(catalog?._tag === "Success" ? [liveCheck(gateway, clouds, catalog.success)] : [])
  ])
}, Effect.scoped)
