/** The clouds' settings: where each is, what an address of the operator's own may serve, and with which credentials. */
import { Array as Arr, Config, Effect, Option, Result } from "effect"
import { clouds as allClouds, type Cloud, cloudFacts, cloudSettings } from "../catalog/clouds.ts"
import { type Authorization, boundaryExample, formatBoundary, parseBoundary } from "../catalog/Level.ts"
import { isVendorHost, placesOf, rowOf, type Site, type Sites } from "../catalog/Partition.ts"
import { fail } from "../wire/OperatorError.ts"
import {
  baseUrl,
  checked,
  flag,
  hostOf,
  isLoopback,
  optional,
  refuse,
  requiredSecret,
  secret,
  token
} from "./fields.ts"

/** A place of Google's in the partition table; `global` would let requests be served anywhere. */
const location = (name: string) =>
  Config.flatMap(Config.String(name), (place) => {
    if (place === "global") return refuse(`${name} must be a location inside the boundary, never global`)
    if (rowOf("vertex", place) !== undefined) return Config.succeed(place)
    return refuse(`${name} must be a location that may be used: one of ${placesOf("vertex").join(", ")}`)
  })

const pattern = (name: string, expected: RegExp, message: string) =>
  checked(name, (value) => expected.test(value), message)

/** What the operator declares of an address of their own, in the catalog's terms. */
const boundary = (name: string) =>
  Config.flatMap(Config.String(name), (value) =>
    Result.match(parseBoundary(value), { onSuccess: Config.succeed, onFailure: (why) => refuse(`${name} ${why}`) })
  )

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
    project: pattern(
      "VERTEX_PROJECT",
      /^([a-z0-9][a-z0-9.-]{0,99}:)?[a-z0-9][a-z0-9-]{0,99}$/,
      "must be a project's ID or number such as my-project"
    ),
    location: location("VERTEX_LOCATION").pipe(Config.withDefault("us-east5")),
    countLocation: Config.option(location("VERTEX_COUNT_LOCATION")),
    baseUrl: Config.option(baseUrl("VERTEX_BASE_URL")),
    boundary: Config.option(boundary("VERTEX_BASE_URL_BOUNDARY")),
    accessToken: token("VERTEX_ACCESS_TOKEN")
  })
)

const bedrock = declared(
  "BEDROCK_BASE_URL",
  Config.all({
    region: pattern("BEDROCK_REGION", /^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$/, "must be a region such as us-gov-west-1"),
    fips: flag("BEDROCK_FIPS", true),
    baseUrl: Config.option(baseUrl("BEDROCK_BASE_URL")),
    boundary: Config.option(boundary("BEDROCK_BASE_URL_BOUNDARY")),
    bearerToken: token("AWS_BEARER_TOKEN_BEDROCK"),
    /** The first source of the AWS default chain; the rest of the chain is the library's, and a profile goes first there. */
    keys: Config.all({
      profile: optional("AWS_PROFILE"),
      keys: Config.option(
        Config.all({
          accessKeyId: requiredSecret("AWS_ACCESS_KEY_ID"),
          secretAccessKey: requiredSecret("AWS_SECRET_ACCESS_KEY"),
          sessionToken: token("AWS_SESSION_TOKEN")
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
  /** The name of an endpoint of the operator's own. */
  label: pattern(
    "AZURE_OPENAI_REGION",
    /^[a-z0-9][a-z0-9-]{0,39}$/,
    "must be a name of lowercase letters, digits and '-' such as usgov"
  ).pipe(Config.option),
  boundary: Config.option(boundary("AZURE_OPENAI_ENDPOINT_BOUNDARY")),
  apiKey: token("AZURE_OPENAI_API_KEY"),
  /** Part of the authority's path. */
  tenantId: pattern("AZURE_TENANT_ID", /^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$/, "must be a tenant's ID or domain").pipe(
    Config.option
  ),
  clientId: optional("AZURE_CLIENT_ID"),
  clientSecret: secret("AZURE_CLIENT_SECRET"),
  clientCertificatePath: optional("AZURE_CLIENT_CERTIFICATE_PATH"),
  federatedTokenFile: optional("AZURE_FEDERATED_TOKEN_FILE"),
  /** Gets the credentials themselves, so it is an address like the others. */
  authorityHost: Config.option(baseUrl("AZURE_AUTHORITY_HOST"))
}).pipe(
  Config.flatMap(({ label, ...settings }) => {
    const { hostname, pathname } = new URL(settings.endpoint)
    const row = rowOf("azure", hostname)
    // Azure's pages also show it with the path that SDKs want, which the gateway adds. A proxy may have any path of its own.
    if (pathname.endsWith("/openai/v1") || (row !== undefined && pathname.startsWith("/openai"))) {
      return refuse("AZURE_OPENAI_ENDPOINT must end before /openai, such as https://<name>.openai.azure.us")
    }
    if (row !== undefined && Option.isSome(label)) {
      return refuse(
        "AZURE_OPENAI_REGION must not be set: the endpoint of AZURE_OPENAI_ENDPOINT is Azure's own and says its region"
      )
    }
    const isLocal = isLoopback(hostname)
    if (row === undefined && !isLocal && Option.isNone(settings.boundary)) {
      return refuse(
        `AZURE_OPENAI_ENDPOINT_BOUNDARY is not set: AZURE_OPENAI_ENDPOINT is not Azure's own (https://<name>.openai.azure.us), so it must say what may be served there, ${boundaryExample}`
      )
    }
    const own = row === undefined ? (isLocal ? loopbackRow.label : "private") : (row.label ?? "azure")
    return Config.succeed({ ...settings, region: Option.getOrElse(label, () => own) })
  })
)

export type VertexSettings = Config.Success<typeof vertex>
export type BedrockSettings = Config.Success<typeof bedrock>
export type AzureSettings = Config.Success<typeof azure>

export const activeClouds = (clouds: CloudSettings): ReadonlySet<Cloud> =>
  new Set(allClouds.filter((cloud) => clouds[cloud]._tag === "Some"))

interface SandboxSettings {
  readonly host: string
  readonly sandbox: "auto" | "on" | "off"
}

/** Whether the sandbox takes the place of the clouds: asked for, or for a trial that no other machine reaches. */
export const servesSandbox = ({ host, sandbox }: SandboxSettings, clouds: CloudSettings): boolean =>
  sandbox === "on" || (sandbox === "auto" && activeClouds(clouds).size === 0 && isLoopback(host))

/** Fails where no cloud is configured, and the sandbox does not take its place. Its key is public, so another machine may not reach it unasked. */
export const requireCloud = (settings: SandboxSettings, clouds: CloudSettings) => {
  const { host, sandbox } = settings
  if (activeClouds(clouds).size > 0 || servesSandbox(settings, clouds)) return Effect.void
  return fail(
    sandbox === "off"
      ? `no cloud is configured: set ${cloudSettings}, or GATEWAY_SANDBOX=auto to try the gateway without one`
      : `no cloud is configured, and ${host} is not a loopback address: set ${cloudSettings}, or GATEWAY_SANDBOX=on to serve the sandbox there`
  )
}

/** A cloud is active when its first variable is set; the rest of it must then be right. */
const when = <A>(cloud: Cloud, config: Config.Config<A>) =>
  Config.flatMap(optional(cloudFacts[cloud].setting[0]), (given) =>
    Option.isSome(given) ? Config.map(config, Option.some) : Config.succeed(Option.none<A>())
  )

export const cloudsConfig = Config.all({
  /** Whether they are the sandbox's: replies and records then name it. */
  simulated: Config.succeed<boolean>(false),
  vertex: when("vertex", vertex),
  bedrock: when("bedrock", bedrock),
  azure: when("azure", azure)
})
export type CloudSettings = Readonly<Config.Success<typeof cloudsConfig>>

// Where the active clouds are reached, and what the boundary rests on beside the partition table: addresses of the operator's own.

const address = (
  cloud: Cloud,
  /** What replies call the place. */
  region: string,
  url: Option.Option<string>,
  declared: Option.Option<Authorization>,
  /** Where tokens are counted, if that is elsewhere. */
  countPlace: Option.Option<string> = Option.none()
) => ({
  cloud,
  region,
  /** The setting that names an address of the operator's own. */
  setting: cloudFacts[cloud].address,
  url: Option.getOrUndefined(url),
  declared: Option.getOrUndefined(declared),
  countPlace: Option.getOrUndefined(countPlace)
})

export const addressesOf = ({ vertex, bedrock, azure }: CloudSettings) =>
  Arr.getSomes([
    Option.map(vertex, (at) => address("vertex", at.location, at.baseUrl, at.boundary, at.countLocation)),
    Option.map(bedrock, (at) => address("bedrock", at.region, at.baseUrl, at.boundary)),
    Option.map(azure, (at) => address("azure", at.region, Option.some(at.endpoint), at.boundary))
  ])

/** For the partition table. */
export const sitesOf = (clouds: CloudSettings): Sites =>
  Object.fromEntries(
    addressesOf(clouds).map(({ cloud, countPlace, declared, region, url }): [Cloud, Site] => {
      const host = url === undefined ? undefined : hostOf(url)
      if (!cloudFacts[cloud].hostIsPlace) return [cloud, { place: region, host, countPlace, declared }]
      const place = host ?? ""
      return [cloud, { place, declared: declared ?? (isLoopback(place) ? loopbackRow.boundary : undefined) }]
    })
  )

/** What the operator declared, as it was written (`il5,itar`). Loopback needs no declaration; vendors' hosts are the table's. */
export const declarationsOf = (clouds: CloudSettings) =>
  addressesOf(clouds).flatMap(({ declared, setting, url }) =>
    url === undefined || declared === undefined || isLoopback(hostOf(url)) || isVendorHost(hostOf(url))
      ? []
      : [{ setting, url, serves: formatBoundary(declared) }]
  )

/** Loopback stands for a cloud, and replies name that cloud: `bedrock/us-gov-west-1`. The sandbox's own are named as simulated. */
export const loopbacksOf = (clouds: CloudSettings) =>
  clouds.simulated
    ? []
    : addressesOf(clouds).flatMap(({ cloud, region, setting, url }) =>
        url !== undefined && isLoopback(hostOf(url)) ? [{ setting, url, servedBy: `${cloud}/${region}` }] : []
      )

export const loopbackWarning = ({ servedBy, setting }: ReturnType<typeof loopbacksOf>[number]): string =>
  `${setting} is on loopback: replies name ${servedBy}, and where the text goes from there is not checked`
