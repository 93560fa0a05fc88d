/** Checks of what the gateway talks to beside the clouds: Redis and the collector. */
import { Effect, Option, Redacted } from "effect"
import type { Environment, GatewaySettings } from "../Settings.ts"
import { exportedSignals, exporterVariable } from "../Telemetry.ts"
import { type Check, type Found, fail, ok, warn } from "./Finding.ts"
import { connects } from "./machine.ts"

/** A limit is checked with a round trip for each request of a key that has one; milliseconds. */
const slow = 20
/** The oldest that the tests ran with. */
const oldest = 6

export const redisCheck = ({ redisUrl }: GatewaySettings): Check => ({
  name: "redis",
  look: Option.match(redisUrl, {
    onNone: () => Effect.succeed(ok("not used: limits are counted on this machine (GATEWAY_REDIS_URL is not set)")),
    onSome: (url) =>
      Effect.gen(function* () {
        const { probeRedis } = yield* Effect.promise(() => import("../access/redisStore.ts"))
        const { latency, version } = yield* probeRedis(Redacted.value(url))
        const what = `Redis ${version} answers in ${latency.toFixed(1)} ms, and runs the scripts`
        if (Number.parseInt(version, 10) < oldest) return warn(what, `Use Redis ${oldest} or later.`)
        return latency > slow ? warn(what, "Bring it nearer: each request of a limited key waits for it.") : ok(what)
      }).pipe(
        Effect.catch(({ message }) =>
          Effect.succeed(
            fail(
              message,
              "Start it, or correct GATEWAY_REDIS_URL (host, port, password, rediss:// for TLS); its user must be allowed EVAL."
            )
          )
        )
      )
  })
})

export const collectorCheck = (environment: Environment): Check => ({
  name: "collector",
  look: Effect.suspend(() => {
    const endpoints = new Set(
      [...exportedSignals(environment)].map((signal) => exporterVariable(environment, signal, "ENDPOINT") ?? "")
    )
    if (endpoints.size === 0) return Effect.succeed([ok("none: nothing is exported (no OTEL_ endpoint is set)")])
    return Effect.forEach([...endpoints], (endpoint): Effect.Effect<Found> => {
      const mend = "Start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT."
      if (!URL.canParse(endpoint)) {
        return Effect.succeed(fail("an OTEL_ endpoint is no URL", "Write it as http://127.0.0.1:4318."))
      }
      const { hostname, port, protocol } = new URL(endpoint)
      const number = Number(port) || (protocol === "https:" ? 443 : 80)
      return connects(hostname.replace(/^\[|\]$/g, ""), number).pipe(
        Effect.as(ok(`${hostname}:${number} takes connections`)),
        Effect.catch(({ message }) => Effect.succeed(warn(`${hostname}:${number} cannot be reached: ${message}`, mend)))
      )
    })
  })
})
