/** `--live`: each deployment answers one token, in each of its regions, and each guard is asked about one harmless text. */
import { Array as Arr, Duration, Effect, Layer, Result } from "effect"
import type { Catalog } from "../../catalog/Catalog.ts"
import type { GatewayError } from "../../catalog/GatewayError.ts"
import { levels } from "../../catalog/names.ts"
import { requestable } from "../../catalog/Resolver.ts"
import type { Entry } from "../../catalog/Route.ts"
import type { Attempt } from "../../cloud/Provider.ts"
import { Providers, servingClouds } from "../../cloud/Providers.ts"
import { makeDetectors } from "../../guards/detector.ts"
import { type Asking, type Guard, GuardFailure } from "../../guards/Guard.ts"
import { type GuardSettings, levelsOf, readGuards } from "../../guards/GuardsFile.ts"
import { Clouds, type GatewaySettings, Settings } from "../../Settings.ts"
import { type CloudSettings, sitesOf } from "../../settings/clouds.ts"
import { chat } from "../../surfaces/chat.ts"
import type { Prepared } from "../../surfaces/Surface.ts"
import * as titan from "../../vendors/titan.ts"
import { type Check, type Found, fail, ok, warn } from "./Finding.ts"

/** In parallel: enough to be quick, few enough for small quotas. */
const concurrency = 8

const contract = "It must answer as docs/guards.md#what-is-sent says."
const fixes: Readonly<Record<GuardFailure["why"], readonly [what: string, fix: string]>> = {
  boundary: ["is asked at no level", "Declare its boundary. docs/guards.md#the-file"],
  timeout: ["did not answer within its deadline", "Make it quicker, or raise its deadline (60 seconds at most)."],
  unreachable: [
    "cannot be reached",
    "Check its address, DNS, firewall and GATEWAY_HTTPS_PROXY; name a private CA in NODE_EXTRA_CA_CERTS, and in the file the certificate that it asks for."
  ],
  status: ["answered another status than 200", `Check its address and log. ${contract}`],
  reply: ["answered what is not of the contract", contract],
  texts: ["answered another number of texts", contract]
}

const asking = (level: Asking["about"]["level"], { surfaces, when }: GuardSettings): Asking => ({
  about: {
    id: crypto.randomUUID(),
    surface: surfaces?.[0] ?? "chat",
    level,
    caller: undefined,
    images: 0,
    files: 0,
    span: undefined,
    takeMemory: () => true
  },
  input: when === "after" ? "response" : "request",
  texts: [{ place: when === "after" ? "assistant" : "user", text: "Hello" }]
})

const time = (took: Duration.Duration): string => `${Math.round(Duration.toMillis(took))} ms`

const ask = Effect.fnUntraced(function* (settings: GuardSettings, { judge }: Guard): Effect.fn.Return<Found> {
  const { name, url } = settings
  const held = levelsOf(settings)
  const level = (settings.levels ?? levels).find((level) => held.has(level)) ?? "il2"
  const [took, judged] = yield* Effect.timed(Effect.result(judge(asking(level, settings))))
  if (Result.isFailure(judged)) {
    const error = judged.failure
    const [what, fix] = error instanceof GuardFailure ? fixes[error.why] : [error.message, contract]
    return fail(`${name} at ${url} ${what} (${time(took)})`, fix)
  }
  const answered = `${name} at ${url} answered in ${time(took)}`
  return judged.success === undefined
    ? ok(answered)
    : warn(
        `${answered}, and finds ${judged.success.category} in the word Hello`,
        "It would find that in most requests: check what it looks for."
      )
})

export const guardsLiveCheck = (settings: GatewaySettings, file: string): Check => {
  const find = Effect.gen(function* () {
    const { guards } = yield* readGuards(file)
    const detectorOf = yield* makeDetectors
    return yield* Effect.forEach(guards, (guard) => ask(guard, detectorOf(guard)), { concurrency })
  })
  return ["live guards", Effect.provideService(find, Settings, settings), Duration.minutes(2)]
}

const prepare = (route: Entry): Result.Result<Pick<Prepared, "bodies" | "operation">, GatewayError> => {
  const { family } = route.model
  if (family === "embedding")
    return Result.succeed({ operation: route.deployment.api, bodies: [titan.request("Hello")] })
  const arrival = { id: crypto.randomUUID(), startedAt: 0, headers: {}, inputEstimate: 0 }
  // GPT models refuse fewer.
  const max_tokens = family === "gpt" ? 16 : 1
  return chat.prepare({ model: route.id, messages: [{ role: "user", content: "Hello" }], max_tokens }, route, arrival)
}

const overloaded = "The cloud is overloaded: check its status page, and try again."
const byStatus: Readonly<Record<number, string>> = {
  400: "Check the deployment's upstream model ID and API in the catalog.",
  401: "The cloud refuses the credentials: read what `credentials` says above, and renew them.",
  403: "The identity may not use this model: give it the role, and enable the model in the cloud's console.",
  404: "The cloud has no such model there: check its ID in the catalog, the region, and whether access was granted.",
  429: "The cloud's quota for this model is used up or zero: ask the cloud for more.",
  503: overloaded,
  529: overloaded
}
const byCode: Readonly<Record<string, string>> = {
  certificate: "The certificate is not trusted: name a private CA in NODE_EXTRA_CA_CERTS.",
  connect: "Check DNS, firewall and private endpoint.",
  "connect-timeout": "Check firewall and private endpoint.",
  credentials: "Give this process an identity: docs/operation.md#running says which.",
  redirect: "Something between here and the cloud redirects: check the base URL and proxies.",
  "content-type": "Something else than the cloud answers: check the base URL and proxies."
}
const fixOf = ({ code, upstreamStatus = 0 }: GatewayError): string =>
  byStatus[upstreamStatus] ?? byCode[code ?? ""] ?? "Try again; if it stays, check the cloud's status page."

const patience = Duration.seconds(30)
const call = Effect.fnUntraced(function* (
  route: Entry,
  serving: Effect.Success<typeof servingClouds>
): Effect.fn.Return<Found> {
  // The routes are those of active clouds.
  const cloud = yield* Effect.orDie(Effect.fromNullishOr(serving.get(route.deployment.cloud)))
  const prepared = prepare(route)
  if (Result.isFailure(prepared)) return fail(`${route.id}: ${prepared.failure.message}`, fixOf(prepared.failure))
  const { bodies, operation } = prepared.success
  const [body = {}] = bodies
  const attempts: Array<Attempt> = []
  const name = () => [`${route.model.id} on ${cloud.name}`, attempts.at(-1)?.region ?? []].flat().join("/")
  const record = { bytesIn: 0, keyId: undefined, span: undefined, attempts, received: 0, takeMemory: () => true }
  return yield* cloud.provider.send({ route, operation, body: () => body, record }).pipe(
    Effect.tap(({ span }) => Effect.sync(() => span.end())),
    Effect.timed,
    Effect.map(([took]) => ok(`${name()} answered in ${time(took)}`)),
    Effect.catch((error) => {
      const status = error.upstreamStatus === undefined ? "" : ` (the cloud's status ${error.upstreamStatus})`
      return Effect.succeed(fail(`${name()}: ${error.message}${status}`, fixOf(error)))
    }),
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => {
        const late = `${name()}: no answer within ${Duration.toSeconds(patience)} s`
        return Effect.succeed(fail(late, "Check the cloud's status page."))
      }
    })
  )
})

const inEachRegion = (entry: Entry): ReadonlyArray<Entry> => {
  const { deployment } = entry
  const inRegion = (region: string) => ({ ...entry, deployment: { ...deployment, regions: [region] as const } })
  return deployment.regions?.map(inRegion) ?? [entry]
}

export const liveCheck = (settings: GatewaySettings, clouds: CloudSettings, catalog: Catalog): Check => {
  // The first ID of each deployment, in each of its regions.
  const { list } = requestable(catalog, sitesOf(clouds))
  const routes = Arr.dedupeWith(list, (one, other) => one.deployment === other.deployment).flatMap(inEachRegion)
  const layer = Providers.layer.pipe(
    Layer.provideMerge(Layer.succeed(Settings, settings)),
    Layer.provideMerge(Layer.succeed(Clouds, clouds))
  )
  const find = Effect.gen(function* () {
    if (routes.length === 0) return ok("no deployment is served here")
    const serving = yield* servingClouds
    return yield* Effect.forEach(routes, (route) => call(route, serving), { concurrency })
  }).pipe(Effect.provide(layer))
  return ["live", find, Duration.times(patience, Math.ceil(routes.length / concurrency) + 1)]
}
