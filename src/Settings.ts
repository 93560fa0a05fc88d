/**
 * Every environment variable, with its default and its sentence of help. Nothing else reads the environment, but for the
 * clouds' own credential libraries and the `OTEL_*` variables, which their libraries read.
 */
import { availableParallelism } from "node:os"
import { Config, ConfigProvider, Context, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { clouds as allClouds, type Cloud } from "./model/Catalog.ts"

const minutes = (n: number) => Duration.minutes(n)
const seconds = (n: number) => Duration.seconds(n)

const known = new Set<string>()
/** Remembers the name, so that one that nobody reads can be told from a setting. */
const named = (name: string): string => {
  known.add(name)
  return name
}
const text = (name: string) => Config.String(named(name))
const optional = (name: string) => Config.option(text(name))
const secret = (name: string) => Config.option(Config.Redacted(named(name)))
const duration = (name: string, fallback: Duration.Duration) =>
  Config.Duration(named(name)).pipe(Config.withDefault(fallback))
const count = (name: string, fallback: number) =>
  Config.schema(Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThan(0)), named(name)).pipe(
    Config.withDefault(fallback)
  )

/** A number of processes; `auto` is one a core, of those that this process may use. */
const Workers = Schema.String.check(
  Schema.isPattern(/^(auto|[1-9]\d{0,3})$/, { message: "must be auto (one a core), or a whole number from 1" })
)

/** Port 0 asks the system for a free one. */
const port = (name: string) =>
  Config.schema(
    Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 65_535 })),
    named(name)
  )

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** A place of Google's; `global` would let requests be served anywhere. */
const Location = Schema.String.check(
  Schema.isPattern(/^[a-z0-9-]+$/, { message: "must be a location such as us-east5" }),
  Schema.makeFilter((location) =>
    location === "global" ? "must be a location inside the boundary, never global" : undefined
  )
)

/** A cloud's address: https, or plain http on loopback only, without a trailing slash. */
const BaseUrl = Schema.String.check(
  Schema.makeFilter((value) => {
    if (!URL.canParse(value)) return "must be an absolute URL such as https://host.example"
    const url = new URL(value)
    if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
      return "must have no credentials, query or fragment"
    }
    if (url.protocol === "https:" || (url.protocol === "http:" && loopback.test(url.hostname))) return undefined
    return "must be https (plain http is accepted only for a loopback address)"
  })
)
const baseUrl = (name: string) => Config.map(Config.schema(BaseUrl, name), (url) => url.replace(/\/+$/, ""))

const RedisUrl = Schema.String.check(
  Schema.makeFilter((value) =>
    /^rediss?:\/\//.test(value) && URL.canParse(value)
      ? undefined
      : "must be a URL such as redis://host:6379, or rediss://:PASSWORD@host:6379 with TLS"
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
  /** `auto`: sandbox when no cloud is configured; `on`: always; `off`: refuse to start without a cloud. */
  sandbox: Config.Literals(["auto", "on", "off"], named("GATEWAY_SANDBOX")).pipe(Config.withDefault("auto" as const)),
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
  docs: Config.option(Config.Literals(["public", "off"], named("GATEWAY_DOCS"))),
  /** Time between SSE comments on a silent stream; also the wait for the first frame before 200 is committed. */
  heartbeat: duration("GATEWAY_HEARTBEAT", seconds(15)),
  /** How long a caller may take to send its headers, its body. */
  headersTimeout: duration("GATEWAY_HEADERS_TIMEOUT", seconds(10)),
  bodyTimeout: duration("GATEWAY_BODY_TIMEOUT", seconds(30)),
  /** Requests at once; more get 503 with `retry-after`. */
  maxInFlight: count("GATEWAY_MAX_IN_FLIGHT", 10_000),
  /** Processes sharing the port. */
  workers: Config.schema(Workers, named("GATEWAY_WORKERS")).pipe(
    Config.withDefault("1"),
    Config.map((workers) => (workers === "auto" ? availableParallelism() : Number(workers)))
  ),
  /** TLS, and client certificates when a CA is given: paths of PEM files. */
  tlsCert: optional("GATEWAY_TLS_CERT"),
  tlsKey: optional("GATEWAY_TLS_KEY"),
  tlsClientCa: optional("GATEWAY_TLS_CLIENT_CA"),
  logLevel: Config.Literals(["trace", "debug", "info", "warn", "error", "none"], named("GATEWAY_LOG_LEVEL")).pipe(
    Config.withDefault("info" as const)
  ),
  /** `pretty` on a terminal, else `json`. */
  logFormat: Config.option(Config.Literals(["pretty", "json"], named("GATEWAY_LOG_FORMAT"))),
  /** On SIGTERM the listener closes after the delay; streams may finish until the timeout. */
  drainDelay: duration("GATEWAY_DRAIN_DELAY", seconds(0)),
  drainTimeout: duration("GATEWAY_DRAIN_TIMEOUT", seconds(30)),
  /** Surfaces whose tool definitions are screened: a comma-separated list of chat, responses, messages. */
  screenSurfaces: Config.schema(SurfaceList, named("GATEWAY_SCREEN_SURFACES")).pipe(
    Config.withDefault("chat,responses"),
    Config.map((list): ReadonlySet<string> => new Set(names(list)))
  ),
  /** `spec` compares names case-insensitively; `strict` folds separators, width and look-alike letters too. */
  screenMode: Config.Literals(["spec", "strict"], named("GATEWAY_SCREEN_MODE")).pipe(
    Config.withDefault("spec" as const)
  ),
  /** Where usage records go: a file, or stdout. */
  usageLog: text("GATEWAY_USAGE_LOG").pipe(Config.withDefault("stdout")),
  /** Prometheus metrics, when set. */
  metricsPort: Config.option(port("GATEWAY_METRICS_PORT")),
  /** Upstream calls of one embeddings request at a time. */
  embeddingsConcurrency: count("GATEWAY_EMBEDDINGS_CONCURRENCY", 8)
})

const vertex = Config.all({
  project: text("VERTEX_PROJECT"),
  location: Config.schema(Location, named("VERTEX_LOCATION")).pipe(Config.withDefault("us-east5")),
  countLocation: Config.option(Config.schema(Location, named("VERTEX_COUNT_LOCATION"))),
  baseUrl: Config.option(baseUrl("VERTEX_BASE_URL")),
  accessToken: secret("VERTEX_ACCESS_TOKEN")
})

const bedrock = Config.all({
  region: text("BEDROCK_REGION"),
  fips: Config.Boolean("BEDROCK_FIPS").pipe(Config.withDefault(true)),
  baseUrl: Config.option(baseUrl("BEDROCK_BASE_URL")),
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

const azure = Config.all({
  endpoint: baseUrl("AZURE_OPENAI_ENDPOINT"),
  region: text("AZURE_OPENAI_REGION").pipe(Config.withDefault("usgov")),
  apiKey: secret("AZURE_OPENAI_API_KEY"),
  tenantId: optional("AZURE_TENANT_ID"),
  clientId: optional("AZURE_CLIENT_ID"),
  clientSecret: secret("AZURE_CLIENT_SECRET"),
  clientCertificatePath: optional("AZURE_CLIENT_CERTIFICATE_PATH"),
  federatedTokenFile: optional("AZURE_FEDERATED_TOKEN_FILE"),
  authorityHost: optional("AZURE_AUTHORITY_HOST")
})

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

/** Variables that look like settings and are none: typing errors, which would otherwise go unseen. */
export const unknownSettings = (environment: Environment): ReadonlyArray<string> =>
  Object.keys(environment).filter((name) => name.startsWith("GATEWAY_") && !known.has(name) && !elsewhere.test(name))
/** Read by `chat`, and by the tests. */
const elsewhere = /^GATEWAY_(API_KEY|TEST_.*)$/

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

export const load = (environment: Environment) =>
  config.pipe(Effect.provide(ConfigProvider.layer(provider(environment))))

export const layer = (environment: Environment) =>
  Layer.unwrap(
    Effect.map(load(environment), (loaded) =>
      Layer.merge(Layer.succeed(Settings, loaded.gateway), Layer.succeed(Clouds, loaded.clouds))
    )
  )
