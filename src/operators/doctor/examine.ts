/** Everything that `doctor` checks (docs/operation.md#doctor). */
import { Config, Context, Effect, Layer, Option, Result } from "effect"
import type { Catalog } from "../../catalog/Catalog.ts"
import { loadCatalog } from "../../catalog/CatalogStore.ts"
import { applyProxyRule } from "../../proxy.ts"
import { type Environment, type GatewaySettings, load } from "../../Settings.ts"
import { type CloudSettings, servesSandbox } from "../../settings/clouds.ts"
import { applyTlsPolicy } from "../../tlsPolicy.ts"
import { explainSetting } from "../cli/run.ts"
import { cloudChecks } from "./clouds.ts"
import { runChecks } from "./Finding.ts"
import { keysCheck, optionalFileChecks, stateCheck, tlsCheck, usageLogCheck } from "./files.ts"
import { guardsLiveCheck, liveCheck } from "./live.ts"
import { collectorCheck, filesLimitCheck, fipsCheck, portsCheck, redisCheck } from "./machine.ts"
import { catalogCheck, cloudsCheck, settingsCheck } from "./settings.ts"

/** The sandbox's clouds, as `serve` would start them; they stop with the scope. */
const simulated = Effect.fnUntraced(function* (catalog: Catalog | undefined) {
  const { Sandbox } = yield* Effect.promise(() => import("../../sandbox/Sandbox.ts"))
  const options = { pace: 0, ...(catalog === undefined ? {} : { catalog: () => catalog }) }
  const { environment } = Context.get(yield* Layer.build(Sandbox.layer(options)), Sandbox)
  const { clouds } = yield* Effect.orDie(load(environment))
  return { ...clouds, simulated: true }
})

/** The catalog, and the clouds that would be called. */
export const setupOf = Effect.fnUntraced(function* (gateway: GatewaySettings, configured: CloudSettings) {
  const catalog = yield* Effect.result(loadCatalog(gateway))
  const sandbox = servesSandbox(gateway, configured)
  return { catalog, sandbox, clouds: sandbox ? yield* simulated(Result.getOrUndefined(catalog)) : configured }
})

/** What is found in this environment; settings that cannot be read end it early. `live`: whether deployments and guards are called, too. */
export const examine = Effect.fnUntraced(function* (environment: Environment, live: boolean) {
  const loaded = yield* Effect.result(load(environment))
  if (Result.isFailure(loaded)) {
    const { failure } = loaded
    const problem = failure instanceof Config.ConfigError ? explainSetting(failure) : String(failure)
    return yield* runChecks([settingsCheck(environment, problem), collectorCheck(environment), fipsCheck(undefined)])
  }
  const { gateway, clouds: configured } = loaded.success
  applyProxyRule(gateway)
  applyTlsPolicy()
  const { catalog, clouds, sandbox } = yield* setupOf(gateway, configured)
  return yield* runChecks([
    settingsCheck(environment, undefined),
    cloudsCheck(gateway, configured),
    catalogCheck(gateway, clouds),
    ...(sandbox ? [] : cloudChecks(gateway, clouds)),
    keysCheck(gateway, sandbox),
    tlsCheck(gateway),
    fipsCheck(gateway.fips === "required"),
    redisCheck(gateway),
    stateCheck(gateway),
    usageLogCheck(gateway),
    ...optionalFileChecks(gateway),
    collectorCheck(environment),
    portsCheck(gateway),
    filesLimitCheck(gateway),
    ...(live && Option.isSome(gateway.guardsFile) ? [guardsLiveCheck(gateway, gateway.guardsFile.value)] : []),
    ...(live && Result.isSuccess(catalog) ? [liveCheck(gateway, clouds, catalog.success)] : [])
  ])
}, Effect.scoped)
