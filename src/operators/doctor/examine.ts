/** Everything that `doctor` checks (docs/operation.md#doctor). */
import { Effect, Option, Result } from "effect"
import { loadCatalog } from "../../catalog/CatalogStore.ts"
import { requestable } from "../../catalog/Resolver.ts"
import { cloudsOf } from "../../cloud/Providers.ts"
import { applyProxyRule } from "../../proxy.ts"
import { type config, type Environment, load } from "../../Settings.ts"
import { startSandbox } from "../../serve.ts"
import { servesSandbox, sitesOf } from "../../settings/clouds.ts"
import { applyTlsPolicy } from "../../tlsPolicy.ts"
import { inSetting, rephrase } from "../../wire/OperatorError.ts"
import { explainSetting } from "../cli/run.ts"
import { cloudChecks } from "./clouds.ts"
import { type Check, runChecks } from "./Finding.ts"
import * as files from "./files.ts"
import { guardsLiveCheck, liveCheck } from "./live.ts"
import { collectorFound, filesLimitFound, fipsFound, portsFound, redisFound } from "./machine.ts"
import { catalogFound, cloudsFound, settingsFound } from "./settings.ts"

/** What is checked: settings, the catalog, and the clouds that would be called. A sandbox stops with the scope. */
export const setupOf = Effect.fnUntraced(function* ({ gateway, clouds: configured }: Effect.Success<typeof config>) {
  applyProxyRule(gateway)
  applyTlsPolicy()
  const catalog = yield* Effect.result(loadCatalog(gateway))
  const sandbox = servesSandbox(gateway, configured)
  const simulated = Result.isSuccess(catalog) ? () => catalog.success : undefined
  const clouds = sandbox ? (yield* startSandbox(0, simulated)).clouds : configured
  return { gateway, configured, catalog, sandbox, clouds }
})

/** `live`: whether deployments and guards are called, too. */
export const checkSetup = Effect.fnUntraced(function* (
  environment: Environment,
  { catalog, clouds, configured, gateway, sandbox }: Effect.Success<ReturnType<typeof setupOf>>,
  live: boolean
) {
  const served = Result.isSuccess(catalog) ? requestable(catalog.success, sitesOf(clouds)).list : []
  const prices = served.map(({ deployment }) => deployment.prices)
  const whereSet = (file: Option.Option<string>, check: (file: string) => Check) =>
    Option.toArray(Option.map(file, check))
  return yield* runChecks([
    ["settings", Effect.succeed(settingsFound(environment, undefined))],
    ["clouds", cloudsFound(gateway, configured)],
    ["catalog", catalogFound(gateway, clouds, catalog)],
    ...(sandbox ? [] : cloudChecks(gateway, clouds)),
    ["key file", files.keysFound(gateway, sandbox, prices)],
    ["tls", files.tlsFound(gateway)],
    ...whereSet(gateway.extraCaCerts, (file) => [
      "extra CA",
      rephrase(files.bundleFound(file), inSetting("NODE_EXTRA_CA_CERTS"))
    ]),
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
})

/** What is found in this environment. Settings that cannot be read end it early. */
export const examine = Effect.fnUntraced(function* (environment: Environment, live: boolean) {
  const loaded = yield* Effect.result(load(environment))
  if (Result.isSuccess(loaded)) return yield* checkSetup(environment, yield* setupOf(loaded.success), live)
  const problem = explainSetting(loaded.failure)
  return yield* runChecks([
    ["settings", Effect.succeed(settingsFound(environment, problem))],
    ["collector", collectorFound(environment)],
    ["fips", fipsFound({ fips: "off" })]
  ])
}, Effect.scoped)
