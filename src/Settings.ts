/**
 * Every environment variable, with its default and its sentence of help. Nothing else reads the environment, but for the
 * clouds' own credential libraries and the `OTEL_*` variables, which their libraries read.
 */
import { availableParallelism } from "node:os"
import { Config, ConfigProvider, Context, Duration, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { boundaryExample, parseBoundary } from "./model/Boundary.ts"
import { clouds as allClouds, type Cloud } from "./model/Catalog.ts"
import type { Authorization } from "./model/Level.ts"
import { placesOf, rowOf, type Sites } from "./model/Partition.ts"
import { nearest } from "./wire/nearest.ts"

const minutes = (n: number) => Duration.minutes(n)
const seconds = (n: number) => Duration.seconds(n)

const text = (name: string) => Config.String(name)
const optional = (name: string) => Config.option(text(name))
const secret = (name: string) => Config.option(Config.Redacted(name))
const duration = (name: string, fallback: Duration.Duration) => Config.Duration(name).pipe(Config.withDefault(fallback))
const count = (name: string, fallback: number) =>
  Config.schema(Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThan(0)), name).pipe(
    Config.withDefault(fallback)
  )
/** What fields say about each other is wrong. */
const refuse = (message: string) => Config.fail(new ConfigProvider.SourceError({ message }))

/** A number of processes; `auto` is one a core, of those that this process may use. */
const Workers = Schema.String.check(
  Schema.isPattern(/^(auto|[1-9]\d{0,3})$/, { message: "must be auto (one a core), or a whole number from 1" })
)

/** Port 0 asks the system for a free one. */
const port = (name: string) =>
  Config.schema(Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 65_535 })), name)

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/
/** Whether what is at this host name or address cannot be reached from another machine. */
export const isLoopback = (host: string): boolean => loopback.test(host)

/** A place of Google's in the partition table; `global` would let requests be served anywhere. */
const Location = Schema.String.check(
  Schema.makeFilter((location) => {
    if (location === "global") return "must be a location inside the boundary, never global"
    return rowOf("vertex", location) === undefined
      ? `must be a location that may be used: one of ${placesOf("vertex").join(", ")}`
      : undefined
  })
)
const location = (name: string) => Config.schema(Location, name)

const Project = Schema.String.check(
  Schema.isPattern(/^([a-z0-9][a-z0-9.-]{0,99}:)?[a-z0-9][a-z0-9-]{0,99}$/, {
    message: "must be a project's ID or number such as my-project"
  })
)

const AwsRegion = Schema.String.check(
  Schema.isPattern(/^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$/, { message: "must be a region such as us-gov-west-1" })
)

/** What an endpoint of the operator's own is called. */
const Label = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,39}$/, {
    message: "must be a name of lowercase letters, digits and '-' such as usgov"
  })
)

/** Scheme, host, port and plain path: nothing that a URL's reader would take otherwise than it is written. */
const plainUrl = /^https?:\/\/([\w.-]+|\[[\da-f:]+\])(:\d{1,5})?(\/[\w~-][\w.~-]*)*\/*$/i

/** A cloud's address: https, or plain http on loopback only, without a trailing slash. */
const BaseUrl = Schema.String.check(
  Schema.makeFilter((value) => {
    if (!URL.canParse(value)) return "must be an absolute URL such as https://host.example"
    const url = new URL(value)
    if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
      return "must have no credentials, query or fragment"
    }
    if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname))) {
      return "must be https (plain http is accepted only for a loopback address)"
    }
    return plainUrl.test(value) ? undefined : "must be scheme, host and plain path such as https://host.example/path"
  })
)
const baseUrl = (name: string) => Config.map(Config.schema(BaseUrl, name), (url) => url.replace(/\/+$/, ""))
const hostOf = (url: string): string => new URL(url).hostname

const BoundaryText = Schema.String.check(
  Schema.makeFilter((value) => Result.match(parseBoundary(value), { onSuccess: () => undefined, onFailure: String }))
)
/** What the operator declares of an address of their own, in the catalog's terms. */
const boundary = (name: string) =>
  Config.map(Config.schema(BoundaryText, name), (value) => Result.getOrThrow(parseBoundary(value)))

const RedisUrl = Schema.String.check(
  Schema.makeFilter((value) =>
    /^rediss?:\/\//.test(value) && URL.canParse(value)
      ? undefined
      : "must be a URL such as redis://host:6379, or rediss://:PASSWORD@host:6379 with TLS"
  )
)

const CertificatesChecked = Schema.String.check(
  Schema.makeFilter((value) =>
    value === "0"
      ? "must not be 0, which accepts any certificate: unset it, and name a private CA in NODE_EXTRA_CA_CERTS"
      : undefined
  )
)

const surfaces: ReadonlySet<string> = new Set(["chat", "messages", "responses", ""])
const names = (list: string) => list.split(",").map((name) => name.trim())
const SurfaceList = Schema.String.check(
  Schema.makeFilter((list) =>
    names(list).every((name) => surfaces.has(name))
      ? undefined
      : "must be a comma-separated list of chat, responses and messages"
  )
)

const gateway = Config.all({
  /** Where it listens. Port 0 picks a free one. */
  host: text("GATEWAY_HOST").pipe(Config.withDefault("127.0.0.1")),
  port: port("GATEWAY_PORT").pipe(Config.withDefault(8080)),
  /** `auto`: sandbox when no cloud is configured and the address is loopback; `on`: always; `off`: refuse to start without a cloud. */
  sandbox: Config.Literals(["auto", "on", "off"], "GATEWAY_SANDBOX").pipe(Config.withDefault("auto" as const)),
  /** Time between the words of the sandbox's streams. */
  sandboxPace: duration("GATEWAY_SANDBOX_PACE", Duration.millis(20)),
  /** A catalog of the operator's own; the shipped one otherwise. */
  catalogFile: optional("GATEWAY_CATALOG_FILE"),
  /** Where the key digests are. */
  keysFile: text("GATEWAY_KEYS_FILE").pipe(Config.withDefault("keys.json")),
  /** Shared limits and quotas. */
  redisUrl: Config.option(Config.map(Config.schema(RedisUrl, "GATEWAY_REDIS_URL"), (url) => Redacted.make(url))),
  /** The embedded quota store. */
  stateDir: text("GATEWAY_STATE_DIR").pipe(Config.withDefault(".gateway")),
  /** Request body ceiling, in bytes. */
  maxBodyBytes: count("GATEWAY_MAX_BODY_BYTES", 20_971_520),
  /** Whole-request deadlines, without and with a stream. */
  requestCeiling: duration("GATEWAY_REQUEST_CEILING", minutes(5)),
  streamCeiling: duration("GATEWAY_STREAM_CEILING", minutes(15)),
  /** Longest silence of an upstream stream. */
  streamIdleTimeout: duration("GATEWAY_STREAM_IDLE_TIMEOUT", minutes(5)),
  /** Whether `/`, `/docs` and `/openapi.json` are served; `public` in the sandbox, else `off`. */
  docs: Config.option(Config.Literals(["public", "off"], "GATEWAY_DOCS")),
  /** Time between SSE comments on a silent stream; also the wait for the first frame before 200 is committed. */
  heartbeat: duration("GATEWAY_HEARTBEAT", seconds(15)),
  /** How long a caller may take to send its headers, its body. */
  headersTimeout: duration("GATEWAY_HEADERS_TIMEOUT", seconds(10)),
  bodyTimeout: duration("GATEWAY_BODY_TIMEOUT", seconds(30)),
  /** Requests at once; more get 503 with `retry-after`. */
  maxInFlight: count("GATEWAY_MAX_IN_FLIGHT", 10_000),
  /** Processes sharing the port. */
  workers: Config.schema(Workers, "GATEWAY_WORKERS").pipe(
    Config.withDefault("1"),
    Config.map((workers) => (workers === "auto" ? availableParallelism() : Number(workers)))
  ),
  /** TLS, and client certificates when a CA is given: paths of PEM files. */
  tlsCert: optional("GATEWAY_TLS_CERT"),
  tlsKey: optional("GATEWAY_TLS_KEY"),
  tlsClientCa: optional("GATEWAY_TLS_CLIENT_CA"),
  logLevel: Config.Literals(["trace", "debug", "info", "warn", "error", "none"], "GATEWAY_LOG_LEVEL").pipe(
    Config.withDefault("info" as const)
  ),
  /** `pretty` on a terminal, else `json`. */
  logFormat: Config.option(Config.Literals(["pretty", "json"], "GATEWAY_LOG_FORMAT")),
  /** On SIGTERM the listener closes after the delay; streams may finish until the timeout. */
  drainDelay: duration("GATEWAY_DRAIN_DELAY", seconds(0)),
  drainTimeout: duration("GATEWAY_DRAIN_TIMEOUT", seconds(30)),
  /** Surfaces whose tool definitions are screened: a comma-separated list of chat, responses, messages. */
  screenSurfaces: Config.schema(SurfaceList, "GATEWAY_SCREEN_SURFACES").pipe(
    Config.withDefault("chat,responses"),
    Config.map((list): ReadonlySet<string> => new Set(names(list)))
  ),
  /** `spec` compares names case-insensitively; `strict` folds separators, width and look-alike letters too. */
  screenMode: Config.Literals(["spec", "strict"], "GATEWAY_SCREEN_MODE").pipe(Config.withDefault("spec" as const)),
  /** `spec` reads calls as a URL parser does; `strict` undoes encodings too, and counts bare host names. */
  scanMode: Config.Literals(["spec", "strict"], "GATEWAY_SCAN_MODE").pipe(Config.withDefault("spec" as const)),
  /** Where usage records go: a file, or stdout. */
  usageLog: text("GATEWAY_USAGE_LOG").pipe(Config.withDefault("stdout")),
  /** Prometheus metrics, when set. */
  metricsPort: Config.option(port("GATEWAY_METRICS_PORT")),
  /** Upstream calls of one embeddings request at a time. */
  embeddingsConcurrency: count("GATEWAY_EMBEDDINGS_CONCURRENCY", 8),
  /** Node's own: without the check of certificates nobody knows which boundary answers. */
  rejectUnauthorized: Config.option(Config.schema(CertificatesChecked, "NODE_TLS_REJECT_UNAUTHORIZED")),
  /** Node's own: certificates that are believed beside those that come with Node. */
  extraCaCerts: optional("NODE_EXTRA_CA_CERTS")
})

/** A base URL may lead anywhere, so what is off loopback is declared. */
const declared = <
  A extends { readonly baseUrl: Option.Option<string>; readonly boundary: Option.Option<Authorization> }
>(
  name: string,
  config: Config.Config<A>
) =>
  Config.flatMap(config, (settings) =>
    Option.isSome(settings.baseUrl) && Option.isNone(settings.boundary) && !isLoopback(hostOf(settings.baseUrl.value))
      ? refuse(
          `${name}_BOUNDARY is not set: ${name} is not a loopback address, so it must say what may be served there, ${boundaryExample}`
        )
      : Config.succeed(settings)
  )

const vertex = declared(
  "VERTEX_BASE_URL",
  Config.all({
    project: Config.schema(Project, "VERTEX_PROJECT"),
    location: location("VERTEX_LOCATION").pipe(Config.withDefault("us-east5")),
    countLocation: Config.option(location("VERTEX_COUNT_LOCATION")),
    baseUrl: Config.option(baseUrl("VERTEX_BASE_URL")),
    boundary: Config.option(boundary("VERTEX_BASE_URL_BOUNDARY")),
    accessToken: secret("VERTEX_ACCESS_TOKEN")
  })
)

const bedrock = declared(
  "BEDROCK_BASE_URL",
  Config.all({
    region: Config.schema(AwsRegion, "BEDROCK_REGION"),
    fips: Config.Boolean("BEDROCK_FIPS").pipe(Config.withDefault(true)),
    baseUrl: Config.option(baseUrl("BEDROCK_BASE_URL")),
    boundary: Config.option(boundary("BEDROCK_BASE_URL_BOUNDARY")),
    bearerToken: secret("AWS_BEARER_TOKEN_BEDROCK"),
    /** The first source of the AWS default chain; the rest of the chain is the library's, and a profile goes first there. */
    keys: Config.all({
      profile: optional("AWS_PROFILE"),
      keys: Config.option(
        Config.all({
          accessKeyId: Config.Redacted("AWS_ACCESS_KEY_ID"),
          secretAccessKey: Config.Redacted("AWS_SECRET_ACCESS_KEY"),
          sessionToken: secret("AWS_SESSION_TOKEN")
        })
      )
    }).pipe(Config.map(({ profile, keys }) => (Option.isSome(profile) ? Option.none() : keys)))
  })
)

/** Loopback stands for the cloud of the government: a test, or a tunnel that the operator runs. */
const loopbackRow = { label: "usgov", boundary: Result.getOrThrow(parseBoundary("fedramp-high,il5,itar")) }

/** The region and what may be served come from the endpoint, or for one of the operator's own from the operator. */
const azure = Config.all({
  endpoint: baseUrl("AZURE_OPENAI_ENDPOINT"),
  label: Config.option(Config.schema(Label, "AZURE_OPENAI_REGION")),
  declared: Config.option(boundary("AZURE_OPENAI_ENDPOINT_BOUNDARY")),
  apiKey: secret("AZURE_OPENAI_API_KEY"),
  tenantId: optional("AZURE_TENANT_ID"),
  clientId: optional("AZURE_CLIENT_ID"),
  clientSecret: secret("AZURE_CLIENT_SECRET"),
  clientCertificatePath: optional("AZURE_CLIENT_CERTIFICATE_PATH"),
  federatedTokenFile: optional("AZURE_FEDERATED_TOKEN_FILE"),
  authorityHost: optional("AZURE_AUTHORITY_HOST")
}).pipe(
  Config.flatMap(({ label, declared, ...settings }) => {
    const row = rowOf("azure", hostOf(settings.endpoint))
    if (row !== undefined) {
      return Option.isSome(label)
        ? refuse(
            "AZURE_OPENAI_REGION must not be set: the endpoint of AZURE_OPENAI_ENDPOINT is Azure's own and says its region"
          )
        : Config.succeed({ ...settings, region: row.label ?? "azure", boundary: declared })
    }
    const local = isLoopback(hostOf(settings.endpoint)) ? loopbackRow : undefined
    if (local === undefined && Option.isNone(declared)) {
      return refuse(
        `AZURE_OPENAI_ENDPOINT_BOUNDARY is not set: AZURE_OPENAI_ENDPOINT is not Azure's own (https://<name>.openai.azure.us), so it must say what may be served there, ${boundaryExample}`
      )
    }
    return Config.succeed({
      ...settings,
      region: Option.getOrElse(label, () => local?.label ?? "private"),
      boundary: Option.orElse(declared, () => Option.fromUndefinedOr(local?.boundary))
    })
  })
)

export type GatewaySettings = Config.Success<typeof gateway>
export type VertexSettings = Config.Success<typeof vertex>
export type BedrockSettings = Config.Success<typeof bedrock>
export type AzureSettings = Config.Success<typeof azure>

/** Which clouds are configured, and how. */
export interface CloudSettings {
  readonly vertex: Option.Option<VertexSettings>
  readonly bedrock: Option.Option<BedrockSettings>
  readonly azure: Option.Option<AzureSettings>
}

export const activeClouds = (clouds: CloudSettings): ReadonlySet<Cloud> =>
  new Set(allClouds.filter((cloud) => clouds[cloud]._tag === "Some"))

/** Where the active clouds are reached, for the partition table. */
export const sitesOf = ({ vertex, bedrock, azure }: CloudSettings): Sites => ({
  ...(Option.isSome(vertex) && {
    vertex: {
      place: vertex.value.location,
      countPlace: Option.getOrUndefined(vertex.value.countLocation),
      declared: Option.getOrUndefined(vertex.value.boundary)
    }
  }),
  ...(Option.isSome(bedrock) && {
    bedrock: { place: bedrock.value.region, declared: Option.getOrUndefined(bedrock.value.boundary) }
  }),
  ...(Option.isSome(azure) && {
    azure: { place: hostOf(azure.value.endpoint), declared: Option.getOrUndefined(azure.value.boundary) }
  })
})

/** A cloud is active when its first variable is set; the rest of it must then be right. */
const when = <A>(name: string, config: Config.Config<A>) =>
  Config.option(Config.String(name)).pipe(
    Config.flatMap((given) =>
      Option.isSome(given) ? Config.map(config, Option.some) : Config.succeed(Option.none<A>())
    )
  )

export const config = Config.all({
  gateway,
  clouds: Config.all({
    vertex: when("VERTEX_PROJECT", vertex),
    bedrock: when("BEDROCK_REGION", bedrock),
    azure: when("AZURE_OPENAI_ENDPOINT", azure)
  })
})

export class Settings extends Context.Service<Settings, GatewaySettings>()("gateway/Settings") {}
export class Clouds extends Context.Service<Clouds, CloudSettings>()("gateway/Clouds") {}

export type Environment = Readonly<Record<string, string | undefined>>

/** The process's environment. */
export const environment = (): Environment => process.env

/** An empty variable is an absent one, as deployment tools write them. */
export const provider = (environment: Environment) =>
  ConfigProvider.fromEnvRecord(
    Object.fromEntries(
      Object.entries(environment).filter(
        (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""
      )
    )
  )

/** The names that are read: what the settings ask of an environment in which every cloud is active. */
export const settingNames = (): ReadonlySet<string> => {
  const names = new Set<string>()
  const active = provider({
    VERTEX_PROJECT: "p",
    BEDROCK_REGION: "us-gov-west-1",
    AZURE_OPENAI_ENDPOINT: "https://p.openai.azure.us"
  })
  const recording = ConfigProvider.make((path) => {
    names.add(path.join("_"))
    return active.load(path)
  })
  Effect.runSync(Effect.provide(config, ConfigProvider.layer(recording)))
  return names
}

/** Read by `chat`, and by the tests. */
const elsewhere = /^GATEWAY_(API_KEY|TEST_.*)$/
const ofClouds = /^(VERTEX|BEDROCK|AZURE)_/

/**
 * Variables that look like settings and are none: typing errors, which would otherwise go unseen.
 * Of the gateway's own prefix all that nobody reads; of the clouds' variables, which others read too, near misses.
 */
export const unknownSettings = (environment: Environment): ReadonlyArray<string> => {
  const known = settingNames()
  const cloud = [...known].filter((name) => ofClouds.test(name))
  return Object.keys(environment).filter(
    (name) =>
      !known.has(name) && !elsewhere.test(name) && (name.startsWith("GATEWAY_") || nearest(name, cloud) !== undefined)
  )
}

/** The same in a line each, with the setting that was most likely meant. */
export const unknownSettingLines = (environment: Environment): ReadonlyArray<string> => {
  const known = settingNames()
  return unknownSettings(environment).map((name) => {
    const meant = nearest(name, known)
    return `${name} is not a setting of the gateway${meant === undefined ? "" : ` (is ${meant} meant?)`}; docs/operation.md lists them`
  })
}

export const load = (environment: Environment) =>
  config.pipe(Effect.provide(ConfigProvider.layer(provider(environment))))

export const layer = (environment: Environment) =>
  Layer.unwrap(
    Effect.map(load(environment), (loaded) =>
      Layer.merge(Layer.succeed(Settings, loaded.gateway), Layer.succeed(Clouds, loaded.clouds))
    )
  )
