/** Checks of the clouds that ask them for nothing: credentials, and the clock. */
import { Dispatcher } from "@effect/platform-node/NodeHttpClient"
import { Duration, Effect, Layer, Option, type Scope } from "effect"
import type { Cloud } from "../model/Catalog.ts"
import * as azure from "../provider/azure.ts"
import * as bedrock from "../provider/bedrock.ts"
import { connections } from "../provider/connections.ts"
import type { HeaderCredential } from "../provider/credentials/CredentialError.ts"
import * as vertex from "../provider/vertex.ts"
import { type GatewaySettings, Settings } from "../Settings.ts"
import type { CloudSettings } from "../settings/clouds.ts"
import { type Check, type Found, fail, ok, warn } from "./Finding.ts"

interface Reached {
  readonly cloud: Cloud
  /** Which credential is configured. */
  readonly kind: string
  /** Gets it, as a call would, and says where it was found. */
  readonly obtain: Effect.Effect<string | undefined, { readonly message: string }>
  readonly origin: string
}

const fromHeaders = <E>(credential: Effect.Effect<HeaderCredential, E, Scope.Scope>) =>
  Effect.scoped(Effect.flatMap(credential, ({ headers, source }) => Effect.map(headers, () => source?.())))

/** The active clouds. */
const reached = ({ vertex: v, bedrock: b, azure: a }: CloudSettings): ReadonlyArray<Reached> => [
  ...Option.match(v, {
    onNone: () => [],
    onSome: (settings) => [
      {
        cloud: "vertex" as const,
        kind: Option.isSome(settings.accessToken) ? "VERTEX_ACCESS_TOKEN" : "Application Default Credentials",
        obtain: fromHeaders(vertex.credentialOf(settings)),
        origin: Option.getOrElse(settings.baseUrl, () => vertex.host(settings.location))
      }
    ]
  }),
  ...Option.match(b, {
    onNone: () => [],
    onSome: (settings) => {
      const origin = Option.getOrElse(settings.baseUrl, () => bedrock.host(settings, settings.region))
      const signed = { url: new URL(origin), headers: {}, body: new Uint8Array(), region: settings.region }
      return [
        {
          cloud: "bedrock" as const,
          kind: Option.isSome(settings.bearerToken)
            ? "AWS_BEARER_TOKEN_BEDROCK"
            : Option.isSome(settings.keys)
              ? "AWS_ACCESS_KEY_ID"
              : "the AWS default chain",
          obtain: Effect.flatMap(bedrock.credentialOf(settings), ({ sign, source }) =>
            Effect.andThen(sign(signed), source ?? Effect.undefined)
          ),
          origin
        }
      ]
    }
  }),
  ...Option.match(a, {
    onNone: () => [],
    onSome: (settings) => [
      {
        cloud: "azure" as const,
        kind: Option.isSome(settings.apiKey)
          ? "AZURE_OPENAI_API_KEY"
          : `Entra ID, ${
              Option.isSome(settings.clientSecret)
                ? "client secret"
                : Option.isSome(settings.clientCertificatePath)
                  ? "client certificate"
                  : Option.isSome(settings.federatedTokenFile)
                    ? "workload identity"
                    : "managed identity"
            }`,
        obtain: fromHeaders(azure.credentialOf(settings)),
        origin: settings.endpoint
      }
    ]
  })
]

/** A value that is set is not asked for: only a call shows whether the cloud takes it. */
const isFixed = (kind: string): boolean => /^[A-Z_]+$/.test(kind)

const credentialFound = ({ kind, obtain }: Reached): Effect.Effect<Found> =>
  obtain.pipe(
    Effect.map((source) =>
      kind === "VERTEX_ACCESS_TOKEN"
        ? warn(
            `${kind} is set: a token that is not renewed, and ends within the hour`,
            "Unset it, and use Application Default Credentials."
          )
        : ok(
            isFixed(kind)
              ? `${kind} is set (--live shows whether it is taken)`
              : `got by ${kind}${source === undefined ? "" : ` (${source})`}`
          )
    ),
    Effect.catch(({ message }) =>
      Effect.succeed(fail(message, "Give this process an identity: docs/operation.md#running says which."))
    )
  )

/** The `Date` of whatever the cloud answers to `HEAD /`, by the connections of the calls, proxy included. */
const dateOf = (origin: string) =>
  Effect.flatMap(Dispatcher, (dispatcher) =>
    Effect.tryPromise({
      try: async (signal) => {
        const { body, headers } = await dispatcher.request({ origin, path: "/", method: "HEAD", signal })
        await body.dump()
        const date = new Date(String(headers.date ?? ""))
        return Number.isNaN(date.getTime()) ? undefined : date
      },
      catch: (cause) => ({ message: cause instanceof Error ? cause.message : String(cause) })
    })
  )

/** AWS refuses a signature that is five minutes off; tokens of the others begin and end by the clock, too. */
const clockFails = 240
const clockWarns = 30

const clockFound = ({ origin }: Reached): Effect.Effect<Found, never, Dispatcher> =>
  dateOf(origin).pipe(
    Effect.map((date) => {
      const { host } = new URL(origin)
      if (date === undefined) return ok(`${host} answers, and does not tell the time`)
      // The header has whole seconds.
      const off = Math.round((Date.now() - date.getTime()) / 1000)
      const what = `${host} answers; this clock is ${Math.abs(off)} s ${off < 0 ? "behind" : "ahead"}`
      if (Math.abs(off) <= clockWarns) return ok(what)
      const mend = "Set the clock of this machine (chrony, systemd-timesyncd): signatures and tokens depend on it."
      return Math.abs(off) >= clockFails ? fail(what, mend) : warn(what, mend)
    }),
    Effect.catch(({ message }) =>
      Effect.succeed(
        fail(
          `${new URL(origin).host} cannot be reached: ${message}`,
          "Look at DNS, firewall, private endpoint, GATEWAY_HTTPS_PROXY and NODE_EXTRA_CA_CERTS."
        )
      )
    )
  )

/** Of each active cloud one check of its credentials and one of its clock. Token services may take their time. */
export const cloudChecks = (settings: GatewaySettings, clouds: CloudSettings): ReadonlyArray<Check> => {
  const ways = Layer.provide(connections, Layer.succeed(Settings, settings))
  return reached(clouds).flatMap((one) => [
    { name: `credentials ${one.cloud}`, look: credentialFound(one), within: Duration.seconds(20) },
    { name: `reach ${one.cloud}`, look: Effect.provide(clockFound(one), ways) }
  ])
}
