/** The server: the gateway's layers, its start, and its way down. A request's path through the layers is in docs/architecture.md. */
import { existsSync } from "node:fs"
import { flushCompileCache } from "node:module"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Cause, Duration, Effect, Exit, type FileSystem, Layer, Option } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "./audit/Audit.ts"
import { CatalogStore } from "./catalog/CatalogStore.ts"
import { Providers } from "./cloud/Providers.ts"
import { Api, purposePaths } from "./contract/Api.ts"
import { version } from "./contract/version.ts"
import { apiKeyLayer } from "./http/authenticate.ts"
import { Drain } from "./http/Drain.ts"
import { docsLayer, documentPaths } from "./http/docs.ts"
import { healthLayer, modelsLayer, surfacesLayer } from "./http/groups.ts"
import { Inference } from "./http/Inference.ts"
import { limitGauges } from "./http/limitGauges.ts"
import { requestMiddleware } from "./http/requestMiddleware.ts"
import { CloudQuota } from "./limits/CloudQuota.ts"
import { Keys } from "./limits/Keys.ts"
import { leaseOf } from "./limits/limits.ts"
import { Quota } from "./limits/Quota.ts"
import { RateLimit } from "./limits/RateLimit.ts"
import { layerMemory } from "./limits/sqliteStore.ts"
import { storeLayer } from "./limits/store.ts"
import { auditLayer, UsageLog } from "./limits/UsageLog.ts"
import { listenerLayer } from "./listener.ts"
import { report } from "./operators/cli/run.ts"
import { Activity } from "./operators/status/Activity.ts"
import { Clouds, docsOf, type GatewaySettings, recordOptions, Settings, settingsDigest } from "./Settings.ts"
import { type CloudSettings, sitesOf } from "./settings/clouds.ts"
import { readNotice } from "./settings/notice.ts"
import { crash } from "./statements.ts"
import { telemetryLayer } from "./telemetry/telemetryLayer.ts"
import type { OperatorError } from "./wire/OperatorError.ts"

/** The endpoints, their documents where they are public, and the middleware around all of them. */
const routes = ({ sandbox, settings }: GatewayOptions) => {
  const options = { docs: docsOf(settings, sandbox) === "public", sandbox, tls: Option.isSome(settings.tlsCert) }
  return Layer.mergeAll(
    HttpApiBuilder.layer(Api).pipe(
      Layer.provide([surfacesLayer, modelsLayer, healthLayer]),
      Layer.provide(apiKeyLayer)
    ),
    Layer.unwrap(Effect.map(readNotice(settings.noticeFile), (notice) => docsLayer({ ...options, notice }))),
    requestMiddleware(documentPaths(options))
  )
}

interface GatewayOptions {
  readonly settings: GatewaySettings
  readonly clouds: CloudSettings
  /** Whether the clouds are the sandbox's, and its key works beside those of the key file. */
  readonly sandbox: boolean
}

/** A sandbox of one process without a key file counts in memory, so that a trial leaves no files. */
const store = ({ settings, sandbox }: GatewayOptions) => {
  const trial = sandbox && settings.workers === 1 && Option.isNone(settings.redisUrl)
  return trial && !existsSync(settings.keysFile) ? layerMemory : storeLayer(settings)
}

/** At a terminal, the sandbox writes no records between the lines that a person reads. */
const usageLog = ({ settings, sandbox }: GatewayOptions) =>
  sandbox && settings.usageLog === "stdout" && process.stdout.isTTY
    ? UsageLog.none
    : UsageLog.layer(settings.usageLog, recordOptions(settings))

/** Keys, and the limits of keys, teams and clouds, with the store that counts them. */
const limitLayers = (options: GatewayOptions) => {
  const { settings, sandbox } = options
  const lease = leaseOf(settings)
  return Layer.mergeAll(
    CloudQuota.layer({ wait: settings.queueWait, share: settings.cloudQuotaShare }),
    Layer.mergeAll(
      Keys.layer({ file: settings.keysFile, grace: settings.keysGrace, sandbox }),
      RateLimit.layer(lease),
      Quota.layer(lease)
    ).pipe(Layer.provideMerge(store(options)))
  )
}

/** Whether an error is the end, and not a signal. */
const hasFailed = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)

/** Audit events where the operator wants them, among the usage records or in their own log; the first is the start, the last the stop. */
const audit = ({ clouds, settings }: GatewayOptions) => {
  if (Option.isNone(settings.auditLog)) return Layer.empty
  const log: Layer.Layer<never, OperatorError, FileSystem.FileSystem | UsageLog> =
    settings.auditLog.value === settings.usageLog
      ? Layer.effect(
          Audit,
          Effect.map(UsageLog, (records) => records.audit)
        )
      : auditLayer(settings.auditLog.value, recordOptions(settings))
  return Layer.effectDiscard(
    Effect.gen(function* () {
      const record = yield* Audit
      const detail = { version, pid: process.pid, settings: settingsDigest({ settings, clouds }) }
      record({ audit: "gateway.started", outcome: "success", detail })
      yield* Effect.addFinalizer((exit) =>
        Effect.sync(() => {
          const outcome = hasFailed(exit) ? "failure" : "success"
          record({ audit: "gateway.stopped", outcome, detail: { pid: process.pid } })
        })
      )
    })
  ).pipe(Layer.provideMerge(log))
}

/** A layer that is loaded only where it is used. */
const lazy = <A, E, R>(load: () => Promise<Layer.Layer<A, E, R>>) => Layer.unwrap(Effect.promise(load))

/** Tokens and client certificates, where the operator trusts some. */
const identity = ({ identityFile }: GatewaySettings) =>
  Option.match(identityFile, {
    onNone: () => Layer.empty,
    onSome: (file) => lazy(() => import("./identity/identityLayer.ts").then((loaded) => loaded.identityLayer({ file })))
  })

/** The agency's detectors, where there are some. */
const guards = ({ guardsFile: file, markings }: GatewaySettings) =>
  Option.isNone(file) && markings === "off"
    ? Layer.empty
    : lazy(() => import("./http/guardingLayer.ts").then((loaded) => loaded.guardingLayer({ file, markings })))

const status = ({ metricsPort }: GatewaySettings) =>
  Option.isNone(metricsPort)
    ? Layer.empty
    : lazy(() => import("./operators/status/layer.ts").then((loaded) => loaded.statusLayer))

/** Serves until its scope closes. */
export const gatewayLayer = (options: GatewayOptions) => {
  const { settings, clouds } = options
  // The routes are made before the port is taken, so that every connection is answered.
  return Layer.unwrap(
    Effect.map(HttpRouter.toHttpEffect(routes(options)), (app) =>
      HttpServer.serve(app).pipe(Layer.provideMerge(listenerLayer(settings)))
    )
  ).pipe(
    Layer.merge(status(settings)),
    Layer.provide([Inference.layer, NodeHttpServer.layerHttpServices]),
    Layer.provide(Providers.layer),
    Layer.provide(identity(settings)),
    Layer.provide(guards(settings)),
    Layer.provide(limitGauges(settings.metricsBy).pipe(Layer.provideMerge(limitLayers(options)))),
    Layer.provideMerge(CatalogStore.layer({ ...settings, sites: sitesOf(clouds), paths: purposePaths })),
    Layer.provideMerge(Drain.layer),
    Layer.provide(audit(options)),
    Layer.provide(usageLog(options)),
    Layer.provide(Layer.succeed(Settings, settings)),
    Layer.provide(Layer.succeed(Clouds, clouds))
  )
}

/**
 * On the way down `/health` answers `draining`; after the delay the listener closes; requests may finish until the timeout. Streams
 * are then ended in-band, others with 503. After an error that no handler took there is no time for either.
 */
const drainOnShutdown = ({ drainDelay, drainTimeout }: GatewaySettings) =>
  Layer.effectDiscard(
    Effect.flatMap(Drain, ({ begin, expire }) =>
      Effect.addFinalizer((exit) => {
        const crashed = hasFailed(exit)
        return begin.pipe(
          Effect.andThen(Effect.logInfo("stopping")),
          Effect.andThen(Effect.sleep(crashed ? 0 : drainDelay)),
          Effect.andThen(Effect.forkDetach(Effect.delay(expire, crashed ? 0 : drainTimeout)))
        )
      })
    )
  )

/** For what is done after a crash: requests are cut off, their records written, telemetry sent. */
const afterCrash = Duration.seconds(20)

/** Why a layer fails is said before what it has begun ends: a collector that cannot be reached takes seconds. */
const start = <A, E, R>(layer: Layer.Layer<A, E, R>) => Effect.catchCause(Layer.build(layer), report)

/**
 * Serves in this process, from its start to the end of its last stream. `whenListening` is run once, when connections are taken on
 * this port.
 */
export const serveHere = <E, R>(
  options: GatewayOptions,
  whenListening: (port: number) => Effect.Effect<void, E, R>
) => {
  const { settings } = options
  const listening = Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    yield* whenListening(address._tag === "UnixPathAddress" ? settings.port : address.port)
    // A process that is killed writes none at its end.
    flushCompileCache()
  })
  const serving = Layer.mergeAll(Layer.effectDiscard(listening), drainOnShutdown(settings)).pipe(
    Layer.provide(gatewayLayer(options)),
    Layer.provide(Option.isSome(settings.metricsPort) ? Activity.layer : Layer.empty)
  )
  return Effect.gen(function* () {
    const telemetry = yield* start(telemetryLayer(settings))
    const served = Effect.scoped(Effect.andThen(start(serving), crash(afterCrash)))
    return yield* Effect.provideContext(served, telemetry)
  }).pipe(Effect.scoped)
}
