/**
 * Every environment variable, with its default and its sentence of help; the clouds' are in src/settings/clouds.ts. Nothing else
 * reads the environment but the clouds' own credential libraries and the `OTEL_*` variables, which their libraries read.
 */
import { hash } from "node:crypto"
import { availableParallelism } from "node:os"
import { Config, ConfigProvider, Context, Duration, Effect, Option, Record, Redacted, Schema } from "effect"
import { setGlobalProxyFromEnv } from "./nodeHttp.ts"
import { type CloudSettings, cloudsConfig } from "./settings/clouds.ts"
import {
  age,
  checked,
  count,
  delay,
  flag,
  isLoopback,
  oneOf,
  optional,
  optionalChecked,
  port,
  recordsTo,
  refuse,
  secretChecked,
  text,
  timeBetween,
  timeout
} from "./settings/fields.ts"
import { isNetworkList } from "./settings/networks.ts"

const { minutes, seconds } = Duration

const surfaces: ReadonlySet<string> = new Set(["chat", "messages", "responses"])
const names = (list: string) =>
  list
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")

/** Where no setting contradicts another. */
const own = Config.all({
  /** Where it listens. Port 0 picks a free one. */
  host: text("GATEWAY_HOST", "127.0.0.1"),
  port: port("GATEWAY_PORT").pipe(Config.withDefault(8080)),
  /** `auto`: sandbox when no cloud is configured and the address is loopback; `off`: refuse to start without a cloud. */
  sandbox: oneOf("GATEWAY_SANDBOX", ["auto", "on", "off"], "auto"),
  /** Time between the events of the sandbox's streams. */
  sandboxPace: delay("GATEWAY_SANDBOX_PACE", Duration.millis(20)),
  /** A catalog of the operator's own; the shipped one otherwise. */
  catalogFile: optional("GATEWAY_CATALOG_FILE"),
  /** Changes of it: prices, quotas, regions, weights, what is switched off. */
  catalogOverlay: optional("GATEWAY_CATALOG_OVERLAY"),
  /** Where the key digests are. */
  keysFile: text("GATEWAY_KEYS_FILE", "keys.json"),
  /** Takes a key as `Authorization: Bearer` too, for tools that can set no other header. */
  bearerKeys: flag("GATEWAY_BEARER_KEYS", false),
  /** The agency's own detectors, and what is done with what they find. */
  guardsFile: optional("GATEWAY_GUARDS_FILE"),
  /** What is done with text that is marked above what its level may hold. */
  markings: oneOf("GATEWAY_MARKINGS", ["off", "flag", "block"], "off"),
  /** Whose tokens and client certificates are trusted beside keys. */
  identityFile: optional("GATEWAY_IDENTITY_FILE"),
  /** How long the keys outlive a key file that is gone or broken. */
  keysGrace: age("GATEWAY_KEYS_GRACE", minutes(10)),
  /** The longest life of a new key. */
  keysMaxAge: Config.option(Config.schema(timeBetween(1, "36500 days"), "GATEWAY_KEYS_MAX_AGE")),
  /** Shared limits and quotas. */
  redisUrl: secretChecked(
    "GATEWAY_REDIS_URL",
    (url) => /^rediss?:\/\//.test(url) && URL.canParse(url),
    "must be a URL such as redis://host:6379, or rediss://:PASSWORD@host:6379 with TLS"
  ),
  /** Allows `redis://` to another machine. */
  redisInsecure: flag("GATEWAY_REDIS_INSECURE", false),
  /** The embedded quota store. */
  stateDir: text("GATEWAY_STATE_DIR", ".gateway"),
  /** Request body ceiling, in bytes. */
  maxBodyBytes: count("GATEWAY_MAX_BODY_BYTES", 33_554_432),
  /** Takes lists that hold only text as content in every role of a chat, and joins them. */
  textArrays: flag("GATEWAY_TEXT_ARRAYS", false),
  /** Whole-request deadlines, without and with a stream. */
  requestCeiling: timeout("GATEWAY_REQUEST_CEILING", minutes(5)),
  streamCeiling: timeout("GATEWAY_STREAM_CEILING", minutes(15)),
  /** Longest silence of an upstream stream. */
  streamIdleTimeout: timeout("GATEWAY_STREAM_IDLE_TIMEOUT", minutes(5)),
  /** Whether `/docs`, `/openapi.json` and more than the usage notice at `/` are served; `public` in the sandbox, else `off`. */
  docs: Config.option(Config.Literals(["public", "off"], "GATEWAY_DOCS")),
  /** Time between SSE comments on a silent stream; also the wait for the first frame before 200 is committed. */
  heartbeat: timeout("GATEWAY_HEARTBEAT", seconds(15)),
  /** How long a caller may take to send its headers, its body. */
  headersTimeout: timeout("GATEWAY_HEADERS_TIMEOUT", seconds(10)),
  bodyTimeout: timeout("GATEWAY_BODY_TIMEOUT", seconds(30)),
  /** Requests at a time; more get 503 with `retry-after`. */
  maxInFlight: count("GATEWAY_MAX_IN_FLIGHT", 10_000),
  /** How long a request may wait for the quota that a deployment has with its cloud. */
  queueWait: delay("GATEWAY_QUEUE_WAIT", seconds(0)),
  /** The part of the clouds' quotas in the catalog that this process may use. */
  cloudQuotaShare: Config.schema(
    Schema.NumberFromString.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1)),
    "GATEWAY_CLOUD_QUOTA_SHARE"
  ).pipe(Config.withDefault(1)),
  /** Processes that share the port; `auto` is one a core, of those that this process may use. */
  workers: checked(
    "GATEWAY_WORKERS",
    (workers) => /^(auto|[1-9]\d{0,2})$/.test(workers),
    "must be auto (one a core), or a whole number from 1 to 999"
  ).pipe(
    Config.withDefault("1"),
    Config.map((workers) => (workers === "auto" ? availableParallelism() : Number(workers)))
  ),
  /** `required`: the start is refused unless Node computes with a FIPS provider. */
  fips: oneOf("GATEWAY_FIPS", ["off", "required"], "off"),
  /** TLS, and client certificates when a CA is given: paths of PEM files. */
  tlsCert: optional("GATEWAY_TLS_CERT"),
  tlsKey: optional("GATEWAY_TLS_KEY"),
  tlsClientCa: optional("GATEWAY_TLS_CLIENT_CA"),
  /** Allows plain HTTP on an address that other machines reach: something in front of the gateway ends TLS. */
  plainHttp: flag("GATEWAY_PLAIN_HTTP", false),
  logLevel: oneOf("GATEWAY_LOG_LEVEL", ["trace", "debug", "info", "warn", "error", "none"], "info"),
  /** `pretty` on a terminal, else `json`. */
  logFormat: Config.option(Config.Literals(["pretty", "json"], "GATEWAY_LOG_FORMAT")),
  /** On SIGTERM the listener closes after the delay; streams may finish until the timeout. */
  drainDelay: delay("GATEWAY_DRAIN_DELAY", seconds(0)),
  drainTimeout: delay("GATEWAY_DRAIN_TIMEOUT", seconds(30)),
  /** Surfaces whose tool definitions are screened: a comma-separated list of chat, responses, messages. */
  screenSurfaces: checked(
    "GATEWAY_SCREEN_SURFACES",
    (list) => names(list).length > 0 && names(list).every((name) => surfaces.has(name)),
    "must be a comma-separated list of chat, responses and messages, with at least one of them"
  ).pipe(
    Config.withDefault("chat,responses"),
    Config.map((list): ReadonlySet<string> => new Set(names(list)))
  ),
  /** `spec` compares names case-insensitively; `strict` folds separators, width and look-alike letters too. */
  screenMode: oneOf("GATEWAY_SCREEN_MODE", ["spec", "strict"], "spec"),
  /** `spec` reads calls as a URL parser does; `strict` undoes encodings too, and counts bare host names. */
  scanMode: oneOf("GATEWAY_SCAN_MODE", ["spec", "strict"], "spec"),
  /** Networks whose `X-Forwarded-For` is believed. */
  trustedProxies: optionalChecked(
    "GATEWAY_TRUSTED_PROXIES",
    isNetworkList,
    "must be a comma-separated list of networks such as 10.0.0.0/8,fd00::/8"
  ),
  /** The one proxy for requests to clouds and for credentials; the usual proxy variables are ignored. */
  httpsProxy: secretChecked(
    "GATEWAY_HTTPS_PROXY",
    (url) => /^https?:\/\/[^/?#]+\/?$/.test(url) && URL.canParse(url),
    "must be a URL such as http://proxy.example:3128, with a name and a password where it wants them"
  ),
  /** A text file: the usage notice that is shown in place of the gateway's own. */
  noticeFile: optional("GATEWAY_NOTICE_FILE"),
  /** Where usage records go: a file, or stdout. */
  usageLog: recordsTo("GATEWAY_USAGE_LOG").pipe(Config.withDefault("stdout")),
  /** Where audit events go: a file, which may be that of the usage records, or stdout. None are kept unless set. */
  auditLog: Config.option(recordsTo("GATEWAY_AUDIT_LOG")),
  /** `ocsf` writes both as events of the Open Cybersecurity Schema Framework. */
  recordFormat: oneOf("GATEWAY_RECORD_FORMAT", ["gateway", "ocsf"], "gateway"),
  /** A PEM file with a private key on P-256, which signs the heads of their chains. */
  recordSigningKey: optional("GATEWAY_RECORD_SIGNING_KEY"),
  /** Prometheus metrics and the status page, when a port is set. */
  metricsPort: Config.option(port("GATEWAY_METRICS_PORT")),
  /** The label by which metrics count requests and tokens. */
  metricsBy: oneOf("GATEWAY_METRICS_BY", ["team", "key", "none"], "team"),
  metricsHost: text("GATEWAY_METRICS_HOST", "127.0.0.1"),
  /** The most upstream calls of one request at a time; an embeddings request makes one for each text. */
  callConcurrency: count("GATEWAY_EMBEDDINGS_CONCURRENCY", 8),
  /** Node's own: without the check of certificates it is not known which boundary answers. */
  rejectUnauthorized: optionalChecked(
    "NODE_TLS_REJECT_UNAUTHORIZED",
    (value) => value !== "0",
    "must not be 0, which accepts any certificate: unset it, and name a private CA in NODE_EXTRA_CA_CERTS"
  ),
  /** Node's own proxy is in force before the gateway is. */
  nodeProxy: optionalChecked(
    "NODE_USE_ENV_PROXY",
    (value) => value !== "1",
    "must not be 1, which sends what it likes by a proxy: set GATEWAY_HTTPS_PROXY instead"
  ),
  nodeOptions: optionalChecked(
    "NODE_OPTIONS",
    (value) => !value.includes("--use-env-proxy"),
    "must not have --use-env-proxy: set GATEWAY_HTTPS_PROXY instead"
  ),
  /** Node's own: certificates that are trusted beside those that come with Node. */
  extraCaCerts: optional("NODE_EXTRA_CA_CERTS")
})

const gateway = Config.flatMap(own, (settings) => {
  const { httpsProxy, redisInsecure, redisUrl } = settings
  if (Option.isSome(httpsProxy) && typeof setGlobalProxyFromEnv !== "function") {
    return refuse(`GATEWAY_HTTPS_PROXY needs Node 24.14 or later, or 26; this is ${process.version}`)
  }
  const plain = Option.filter(
    Option.map(redisUrl, (url) => new URL(Redacted.value(url))),
    ({ hostname, protocol }) => protocol === "redis:" && !isLoopback(hostname)
  )
  return Option.isSome(plain) && !redisInsecure
    ? refuse(
        "GATEWAY_REDIS_URL must be rediss://, with TLS, for a Redis that is not on this machine; on a network of its own GATEWAY_REDIS_INSECURE=true allows redis://"
      )
    : Config.succeed(settings)
})

export type GatewaySettings = Config.Success<typeof gateway>

/** Which settings are in force, as SHA-256, hex, without secrets: what is redacted prints as such, whatever it is. */
export const settingsDigest = (settings: object): string =>
  hash(
    "sha256",
    JSON.stringify(settings, (_, value: unknown) => (value instanceof Set ? [...value].sort() : value))
  )

/** Whether the documents are public, as they are in the sandbox unless the operator says so. */
export const docsOf = ({ docs }: Pick<GatewaySettings, "docs">, sandbox: boolean) =>
  Option.getOrElse(docs, () => (sandbox ? "public" : "off"))

export const recordOptions = ({ recordFormat, recordSigningKey }: GatewaySettings) => ({
  format: recordFormat,
  signingKey: Option.getOrUndefined(recordSigningKey)
})

export const config = Config.all({ gateway, clouds: cloudsConfig })

export class Settings extends Context.Service<Settings, GatewaySettings>()("gateway/Settings") {}
export class Clouds extends Context.Service<Clouds, CloudSettings>()("gateway/Clouds") {}

export type Environment = Readonly<Record<string, string | undefined>>

export const environment = (): Environment => process.env

/** Changes what libraries read; undefined removes a variable. */
export const changeEnvironment = (changes: Environment): void => {
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}

/** Whether a variable has a value that is not blank. */
export const isSet = (value: string | undefined): value is string => value !== undefined && value.trim() !== ""

/** An empty or blank variable is an absent one, as deployment tools write them. */
export const provider = (environment: Environment) => ConfigProvider.fromEnvRecord(Record.filter(environment, isSet))

export const load = (environment: Environment) =>
  config.pipe(Effect.provide(ConfigProvider.layer(provider(environment))))
