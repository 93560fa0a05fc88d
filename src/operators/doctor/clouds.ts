/** Checks of the clouds without a request for a model: credentials, and the clock. */
import { Dispatcher } from "@effect/platform-node/NodeHttpClient"
import { Duration, Effect, Layer } from "effect"
import { connections } from "../../cloud/connections.ts"
import type { Cloud } from "../../cloud/Provider.ts"
import { cloudsOf, originOf } from "../../cloud/Providers.ts"
import { type GatewaySettings, Settings } from "../../Settings.ts"
import type { CloudSettings } from "../../settings/clouds.ts"
import { messageOf, rephrase } from "../../wire/OperatorError.ts"
import { type Check, fail, ok, orFail, warn } from "./Finding.ts"

/** Got as a call would get it. */
const credentialFound = Effect.fnUntraced(
  function* (cloud: Cloud) {
    const { auth, credential, region } = cloud
    const { headers, source: sourceOf = Effect.undefined } = yield* auth
    yield* headers({ url: new URL(originOf(cloud)), headers: {}, body: new Uint8Array(), region })
    const source = yield* sourceOf
    if (credential === "VERTEX_ACCESS_TOKEN") {
      const message = `${credential} is set: a token that is not renewed, and ends within the hour`
      return warn(message, "Unset it, and use Application Default Credentials.")
    }
    // Only a call shows whether the cloud accepts a value that is set.
    return /^[A-Z_]+$/.test(credential)
      ? ok(`${credential} is set (--live shows whether it is accepted)`)
      : ok(`got by ${credential}${source === undefined ? "" : ` (${source})`}`)
  },
  Effect.scoped,
  orFail("Give this process an identity: docs/operation.md#running says which.")
)

/** The `Date` of any answer to `HEAD /`, by the connections of the calls, proxy included. */
const dateOf = (origin: string) =>
  Effect.flatMap(Dispatcher, (dispatcher) =>
    Effect.tryPromise({
      try: async (signal) => {
        const { body, headers } = await dispatcher.request({ origin, path: "/", method: "HEAD", signal })
        await body.dump()
        return Date.parse(String(headers.date))
      },
      catch: (cause) => ({ message: messageOf(cause) })
    })
  )

/** In seconds. AWS refuses a signature that is five minutes off; tokens of the others begin and end by the clock, too. */
const clockFails = 240
const clockWarns = 30

const clockFound = Effect.fnUntraced(function* (cloud: Cloud) {
  const origin = originOf(cloud)
  const { host } = new URL(origin)
  const date = yield* rephrase(dateOf(origin), (message) => `${host} cannot be reached: ${message}`)
  if (Number.isNaN(date)) return ok(`${host} answers, without the time`)
  // The header has whole seconds.
  const off = Math.round((Date.now() - date) / 1000)
  const message = `${host} answers; this clock is ${Math.abs(off)} s ${off < 0 ? "behind" : "ahead"}`
  if (Math.abs(off) <= clockWarns) return ok(message)
  const fix = "Set the clock of this machine (chrony, systemd-timesyncd): signatures and tokens depend on it."
  return Math.abs(off) >= clockFails ? fail(message, fix) : warn(message, fix)
}, orFail("Check DNS, firewall, private endpoint, GATEWAY_HTTPS_PROXY and NODE_EXTRA_CA_CERTS."))

/** For each active cloud one check of its credentials and one of its clock. Token services may take their time. */
export const cloudChecks = (settings: GatewaySettings, clouds: CloudSettings): ReadonlyArray<Check> => {
  const layer = Layer.provide(connections, Layer.succeed(Settings, settings))
  return cloudsOf(clouds).flatMap((cloud) => [
    [`credentials ${cloud.name}`, credentialFound(cloud), Duration.seconds(20)],
    [`reach ${cloud.name}`, Effect.provide(clockFound(cloud), layer)]
  ])
}
