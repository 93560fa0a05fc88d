/** Checks of what the gateway uses beside the clouds: Redis and the collector. */
import { Effect, Option, Redacted } from "effect"
import type { Environment, GatewaySettings } from "../../Settings.ts"
import { exportedSignals, exporterVariable } from "../../Telemetry.ts"
import { type Check, type Found, fail, makeCheck, ok, warn } from "./Finding.ts"
import { connects } from "./machine.ts"

/** A limit takes a round trip for each request of a key that has one; milliseconds. */
const slow = 20
/** The oldest that the tests ran with. */
const oldest = 6

const redisFound = Effect.fnUntraced(
  function* (url: string) {
    const { probeRedis } = yield* Effect.promise(() => import("../../limits/redisStore.ts"))
    const { latency, version } = yield* probeRedis(url)
    const message = `Redis ${version} answers in ${latency.toFixed(1)} ms, and runs the scripts`
    if (Number.parseInt(version, 10) < oldest) return warn(message, `Use Redis ${oldest} or later.`)
    return latency > slow ? warn(message, "Bring it nearer: each request of a limited key waits for it.") : ok(message)
  },
  Effect.catch(({ message }) =>
    Effect.succeed(
      fail(
        message,
        "Start it, or correct GATEWAY_REDIS_URL (host, port, password, rediss:// for TLS); its user must be allowed EVAL."
      )
    )
  )
)

export const redisCheck = ({ redisUrl }: GatewaySettings): Check =>
  makeCheck(
    "redis",
    Option.isSome(redisUrl)
      ? redisFound(Redacted.value(redisUrl.value))
      : Effect.succeed(ok("not used: limits are counted on this machine (GATEWAY_REDIS_URL is not set)"))
  )

const endpointFound = (endpoint: string): Effect.Effect<Found> => {
  if (!URL.canParse(endpoint)) {
    return Effect.succeed(fail("an OTEL_ endpoint is no URL", "Write it as http://127.0.0.1:4318."))
  }
  const { hostname, port, protocol } = new URL(endpoint)
  const number = Number(port) || (protocol === "https:" ? 443 : 80)
  return Effect.match(connects(hostname.replace(/^\[|\]$/g, ""), number), {
    onSuccess: () => ok(`${hostname}:${number} takes connections`),
    onFailure: ({ message }) =>
      warn(
        `${hostname}:${number} cannot be reached: ${message}`,
        "Start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT."
      )
  })
}

export const collectorCheck = (environment: Environment): Check => {
  const endpoints = new Set(
    [...exportedSignals(environment)].map((signal) => exporterVariable(environment, signal, "ENDPOINT") ?? "")
  )
  return makeCheck(
    "collector",
    endpoints.size === 0
      ? Effect.succeed(ok("none: nothing is exported (no OTEL_ endpoint is set)"))
      : Effect.forEach(endpoints, endpointFound)
  )
}
