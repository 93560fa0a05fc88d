/** Checks of what the gateway runs on beside the clouds: ports, open files, FIPS, Redis and the collector. */
import { createConnection, createServer } from "node:net"
import { Effect, Option, Redacted } from "effect"
import { cryptoFacts, describeCrypto, requireFips } from "../../fips.ts"
import { openFilesLimit, tooFewFiles } from "../../openFiles.ts"
import type { Environment, GatewaySettings } from "../../Settings.ts"
import { inAddress, isEveryAddress, portOf } from "../../settings/fields.ts"
import { exportedSignals, exporterVariable, telemetryWarnings } from "../../telemetry/telemetryLayer.ts"
import { inSetting, rephrase } from "../../wire/OperatorError.ts"
import { metricsPortOf, metricsPortsProblem } from "../../workers.ts"
import { fail, ok, orFail, orStartFails, warn } from "./Finding.ts"
import { bundleFound, chainFound } from "./files.ts"

/** The error code of listening there, or undefined where it works. The port is given back. */
const listenError = (host: string, port: number) =>
  Effect.callback<string | undefined>((resume) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error.code ?? error.message)))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resume(Effect.undefined)))
    return Effect.sync(() => void server.close())
  })

const reasons: Readonly<Record<string, string>> = {
  EACCES: "may not be used by this user",
  EADDRNOTAVAIL: "is not of an address of this machine",
  ENOTFOUND: "has a host name that is not known"
}

/** What a gateway answers: one may be running while its setup is checked. */
const gatewayPort = { setting: "GATEWAY_PORT", path: "/health", answer: /"government-model-gateway"/ }
const metricsPort = { setting: "GATEWAY_METRICS_PORT", path: "/metrics", answer: /^gateway_/m }

const isGateway = (host: string, port: number, { answer, path }: typeof gatewayPort) => {
  const at = isEveryAddress(host) ? "localhost" : inAddress(host)
  return Effect.tryPromise((signal) =>
    fetch(`http://${at}:${port}${path}`, { signal, redirect: "error" }).then((response) => response.text())
  ).pipe(Effect.timeout("1 second"), Effect.match({ onFailure: () => false, onSuccess: (text) => answer.test(text) }))
}

const portFound = Effect.fnUntraced(function* (host: string, port: number, kind: typeof gatewayPort, tls: boolean) {
  const { setting } = kind
  const code = yield* listenError(host, port)
  const name = `${host}:${port}`
  if (code === undefined) return ok(port === 0 ? `${host}: a free port is picked` : `${name} is free`)
  if (code !== "EADDRINUSE") {
    return fail(
      `${name} ${reasons[code] ?? code}`,
      `Set ${setting} and ${setting.replace("PORT", "HOST")} to a port and an address that can be listened on.`
    )
  }
  if (yield* isGateway(host, port, kind)) return ok(`${name}: a gateway is running there`)
  const fix = `Stop what listens there, or set ${setting} to another port.`
  // A request by TLS could need a client certificate.
  return tls
    ? warn(`${name} is taken`, `${fix} If this gateway is running, it is that.`)
    : fail(`${name} is taken`, fix)
})

export const portsFound = (settings: GatewaySettings) => {
  const { host, metricsHost, port, tlsCert, workers } = settings
  const problem = metricsPortsProblem(settings)
  const fix = "Set GATEWAY_METRICS_PORT to another port; each worker takes the next one."
  const slots = problem === undefined ? Math.min(workers, 64) : 0
  const metricsPorts = Array.from({ length: slots }, (_, slot) => Option.toArray(metricsPortOf(settings, slot))).flat()
  return Effect.all([
    portFound(host, port, gatewayPort, Option.isSome(tlsCert)),
    ...(problem === undefined ? [] : [Effect.succeed(fail(problem, fix))]),
    ...new Set(metricsPorts).values().map((at) => portFound(metricsHost, at, metricsPort, false))
  ])
}

export const filesLimitFound = (settings: GatewaySettings) => {
  const limit = openFilesLimit()
  if (limit === undefined) return ok("this system has no /proc/self/limits that says how many")
  const few = tooFewFiles(settings)
  return few === undefined
    ? ok(limit === "unlimited" ? "no limit" : `${limit} may be open`)
    : warn(few.message, few.fix)
}

export const fipsFound = (settings: Pick<GatewaySettings, "fips">) =>
  requireFips(settings).pipe(
    Effect.as(ok(describeCrypto(cryptoFacts()))),
    orStartFails("Name OpenSSL's FIPS module in OPENSSL_CONF and set NODE_OPTIONS=--force-fips: see docs/fips.md.")
  )

const connects = (host: string, port: number) =>
  Effect.callback<void, { readonly message: string }>((resume) => {
    const socket = createConnection({ host, port })
    socket.once("connect", () => resume(Effect.sync(() => void socket.destroy())))
    socket.once("error", ({ message }) => resume(Effect.fail({ message })))
    return Effect.sync(() => void socket.destroy())
  })

/** A limit takes a round trip for each request of a key that has one; milliseconds. */
const slow = 20
/** The oldest that the tests ran with. */
const oldest = 6

export const redisFound = Effect.fnUntraced(function* ({ redisUrl }: GatewaySettings) {
  if (Option.isNone(redisUrl)) return ok("not used: limits are counted on this machine (GATEWAY_REDIS_URL is not set)")
  const { probeRedis } = yield* Effect.promise(() => import("../../limits/redisStore.ts"))
  const { evicts, latency, version } = yield* probeRedis(Redacted.value(redisUrl.value))
  const message = `Redis ${version} answers in ${latency.toFixed(1)} ms, and runs the scripts`
  if (Number.parseInt(version, 10) < oldest) return warn(message, `Use Redis ${oldest} or later.`)
  if (evicts !== "noeviction") {
    return warn(`${message}, and may evict counts (${evicts})`, "Set its maxmemory-policy to noeviction.")
  }
  return latency > slow ? warn(message, "Bring it nearer: each request of a limited key waits for it.") : ok(message)
}, orFail(
  "Start it, or correct GATEWAY_REDIS_URL (host, port, password, rediss:// for TLS); name a private CA in NODE_EXTRA_CA_CERTS; its user needs ~gateway:* and +@all -@dangerous."
))

const endpointFound = Effect.fnUntraced(function* (endpoint: string) {
  if (!URL.canParse(endpoint)) return fail("an OTEL_ endpoint is no URL", "Write it as http://127.0.0.1:4318.")
  const url = new URL(endpoint)
  const { hostname } = url
  const number = portOf(url)
  const fix = "Start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT."
  return yield* Effect.match(connects(hostname.replace(/^\[|\]$/g, ""), number), {
    onSuccess: () => ok(`${hostname}:${number} takes connections`),
    onFailure: ({ message }) => warn(`${hostname}:${number} cannot be reached: ${message}`, fix)
  })
})

/** Files that cannot be read are ignored by the exporters, which then trust public authorities, and show no certificate. */
export const collectorFound = Effect.fnUntraced(function* (environment: Environment) {
  const signals = [...exportedSignals(environment)]
  if (signals.length === 0) return [ok("none: nothing is exported (no OTEL_ endpoint is set)")]
  const valuesOf = (name: string) =>
    new Set(signals.flatMap((signal) => exporterVariable(environment, signal, name) ?? []))
  const fix = "Correct it: docs/operation.md#observing says what counts. OTLP over HTTP has most often port 4318."
  // It may be one for all signals, or for one of them.
  const certificate = inSetting("an OTEL_ certificate")
  const found = yield* Effect.all([
    Effect.succeed(telemetryWarnings(environment, new Set(signals)).map((message) => warn(message, fix))),
    Effect.forEach(valuesOf("ENDPOINT"), endpointFound),
    Effect.forEach(valuesOf("CERTIFICATE"), (file) => rephrase(bundleFound(file), certificate)),
    Effect.forEach(valuesOf("CLIENT_CERTIFICATE"), (file) => rephrase(chainFound(file), certificate))
  ])
  return found.flat(2)
})
