/** Checks of the clouds without a request for a model: credentials, and the clock. */
import { Dispatcher } from "@effect/platform-node/NodeHttpClient"
import { Duration, Effect, Layer, Option, type Scope } from "effect"
import type { Cloud } from "../../catalog/clouds.ts"
import * as azure from "../../cloud/azure.ts"
import * as bedrock from "../../cloud/bedrock.ts"
import { connections } from "../../cloud/connections.ts"
import type { Credential } from "../../cloud/credentials.ts"
import * as vertex from "../../cloud/vertex.ts"
import { type GatewaySettings, Settings } from "../../Settings.ts"
import type { CloudSettings } from "../../settings/clouds.ts"
import { type Check, type Found, fail, makeCheck, ok, orFail, warn } from "./Finding.ts"

interface Target {
  readonly cloud: Cloud
  /** Which credential is configured. */
  readonly credential: string
  /** Gets it, as a call would, and names its source. */
  readonly obtain: Effect.Effect<string | undefined, { readonly message: string }>
  readonly origin: string
}

const obtain = <E>(credential: Effect.Effect<Credential, E, Scope.Scope>, origin: string, region: string) =>
  Effect.scoped(
    Effect.flatMap(credential, ({ headers, source }) =>
      Effect.andThen(
        headers({ url: new URL(origin), headers: {}, body: new Uint8Array(), region }),
        source ?? Effect.undefined
      )
    )
  )

/** The name of the first that is set. */
const firstSet = (
  otherwise: string,
  ...named: ReadonlyArray<readonly [name: string, value: Option.Option<unknown>]>
): string => named.find(([, value]) => Option.isSome(value))?.[0] ?? otherwise

/** The active clouds. */
export const targets = (clouds: CloudSettings): ReadonlyArray<Target> =>
  [
    Option.map(clouds.vertex, (settings): Target => {
      const origin = Option.getOrElse(settings.baseUrl, () => vertex.host(settings.location))
      return {
        cloud: "vertex",
        credential: firstSet("Application Default Credentials", ["VERTEX_ACCESS_TOKEN", settings.accessToken]),
        obtain: obtain(vertex.credentialOf(settings), origin, settings.location),
        origin
      }
    }),
    Option.map(clouds.bedrock, (settings): Target => {
      const { bearerToken, keys, region } = settings
      const origin = Option.getOrElse(settings.baseUrl, () => bedrock.host(settings, region))
      return {
        cloud: "bedrock",
        credential: firstSet(
          "the AWS default chain",
          ["AWS_BEARER_TOKEN_BEDROCK", bearerToken],
          ["AWS_ACCESS_KEY_ID", keys]
        ),
        obtain: obtain(bedrock.credentialOf(settings), origin, region),
        origin
      }
    }),
    Option.map(
      clouds.azure,
      (settings): Target => ({
        cloud: "azure",
        credential: firstSet(
          "Entra ID, managed identity",
          ["AZURE_OPENAI_API_KEY", settings.apiKey],
          ["Entra ID, client secret", settings.clientSecret],
          ["Entra ID, client certificate", settings.clientCertificatePath],
          ["Entra ID, workload identity", settings.federatedTokenFile]
        ),
        obtain: obtain(azure.credentialOf(settings), settings.endpoint, settings.region),
        origin: settings.endpoint
      })
    )
  ].flatMap(Option.toArray)

const credentialFound = ({ credential, obtain }: Target): Effect.Effect<Found> =>
  obtain.pipe(
    Effect.map((source) => {
      if (credential === "VERTEX_ACCESS_TOKEN") {
        const message = `${credential} is set: a token that is not renewed, and ends within the hour`
        return warn(message, "Unset it, and use Application Default Credentials.")
      }
      // Only a call shows whether the cloud accepts a value that is set.
      return /^[A-Z_]+$/.test(credential)
        ? ok(`${credential} is set (--live shows whether it is accepted)`)
        : ok(`got by ${credential}${source === undefined ? "" : ` (${source})`}`)
    }),
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
      catch: (cause) => ({ message: cause instanceof Error ? cause.message : String(cause) })
    })
  )

/** In seconds. AWS refuses a signature that is five minutes off; tokens of the others begin and end by the clock, too. */
const clockFails = 240
const clockWarns = 30

const clockFound = ({ origin }: Target): Effect.Effect<Found, never, Dispatcher> => {
  const { host } = new URL(origin)
  return dateOf(origin).pipe(
    Effect.map((date) => {
      if (Number.isNaN(date)) return ok(`${host} answers, without the time`)
      // The header has whole seconds.
      const off = Math.round((Date.now() - date) / 1000)
      const message = `${host} answers; this clock is ${Math.abs(off)} s ${off < 0 ? "behind" : "ahead"}`
      if (Math.abs(off) <= clockWarns) return ok(message)
      const fix = "Set the clock of this machine (chrony, systemd-timesyncd): signatures and tokens depend on it."
      return Math.abs(off) >= clockFails ? fail(message, fix) : warn(message, fix)
    }),
    orFail(
      "Check DNS, firewall, private endpoint, GATEWAY_HTTPS_PROXY and NODE_EXTRA_CA_CERTS.",
      (message) => `${host} cannot be reached: ${message}`
    )
  )
}

/** For each active cloud one check of its credentials and one of its clock. Token services may take their time. */
export const cloudChecks = (settings: GatewaySettings, clouds: CloudSettings): ReadonlyArray<Check> => {
  const layer = Layer.provide(connections, Layer.succeed(Settings, settings))
  return targets(clouds).flatMap((target) => [
    makeCheck(`credentials ${target.cloud}`, credentialFound(target), Duration.seconds(20)),
    makeCheck(`reach ${target.cloud}`, Effect.provide(clockFound(target), layer))
  ])
}
