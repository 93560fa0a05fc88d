/** Everything that `doctor` checks (docs/operation.md#doctor). */
import { Context, Effect, Layer, Option, Result } from "effect"
import type { Catalog } from "../../catalog/Catalog.ts"
import { loadCatalog } from "../../catalog/CatalogStore.ts"
import { requestable } from "../../catalog/Resolver.ts"
import { cloudsOf } from "../../cloud/Providers.ts"
import { applyProxyRule } from "../../proxy.ts"
import { type Environment, type GatewaySettings, load } from "../../Settings.ts"
import { type CloudSettings, servesSandbox, sitesOf } from "../../settings/clouds.ts"
import { applyTlsPolicy } from "../../tlsPolicy.ts"
import { explainSetting } from "../cli/run.ts"
import { cloudChecks } from "./clouds.ts"
import { type Check, runChecks } from "./Finding.ts"
import * as files from "./files.ts"
import { guardsLiveCheck, liveCheck } from "./live.ts"
import { collectorFound, filesLimitFound, fipsFound, portsFound, redisFound } from "./machine.ts"
import { catalogFound, cloudsFound, settingsFound } from "./settings.ts"

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
    const problem = explainSetting(loaded.failure)
    return yield* runChecks([
      ["settings", Effect.succeed(settingsFound(environment, problem))],
      ["collector", collectorFound(environment)],
      ["fips", fipsFound({ fips: "off" })]
    ])
  }
  const { gateway, clouds: configured } = loaded.success
  applyProxyRule(gateway)
  applyTlsPolicy()
  const { catalog, clouds, sandbox } = yield* setupOf(gateway, configured)
  const served = Result.isSuccess(catalog) ? requestable(catalog.success, sitesOf(clouds)).list : []
  const prices = served.map(({ deployment }) => deployment.prices)
  const whereSet = (file: Option.Option<string>, check: (file: string) => Check) =>
    Option.toArray(Option.map(file, check))
  return yield* runChecks([
    ["settings", Effect.succeed(settingsFound(environment, undefined))],
    ["clouds", cloudsFound(gateway, configured)],
    ["catalog", catalogFound(gateway, clouds)],
    ...(sandbox ? [] : cloudChecks(gateway, clouds)),
    ["key file", files.keysFound(gateway, sandbox, prices)],
    ["tls", files.tlsFound(gateway)],
    ...whereSet(gateway.extraCaCerts, (file) => ["extra CA", files.bundleFound(file)]),
    ...cloudsOf(configured).flatMap(({ certificate = Option.none(), name }) =>
      whereSet(certificate, (file) => [`certificate ${name}`, files.chainFound(file, file)])
    ),
    ["fips", fipsFound(gateway)],
    ["redis", redisFound(gateway)],
    ["state", files.stateFound(gateway)],
    ["usage log", files.logFound(gateway.usageLog, "GATEWAY_USAGE_LOG")],
    ...whereSet(gateway.auditLog, (log) => ["audit log", files.logFound(log, "GATEWAY_AUDIT_LOG")]),
    ...whereSet(gateway.guardsFile, (file) => ["guards file", files.guardsFound(file)]),
    ...whereSet(gateway.identityFile, (file) => ["identity file", files.identityFound(file)]),
    ...whereSet(gateway.recordSigningKey, (file) => ["signing key", files.signingFound(file)]),
    ...whereSet(gateway.noticeFile, (file) => ["notice", files.noticeFound(file)]),
    ["collector", collectorFound(environment)],
    ["ports", portsFound(gateway)],
    ["open files", Effect.sync(() => filesLimitFound(gateway))],
    ...(live ? whereSet(gateway.guardsFile, (file) => guardsLiveCheck(gateway, file)) : []),
    ...(live && Result.isSuccess(catalog) ? [liveCheck(gateway, clouds, catalog.success)] : [])
  ])
}, Effect.scoped)
