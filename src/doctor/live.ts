/** `--live`: each deployment is asked for one token, in each of its regions. */
import { Duration, Effect, Layer, Result } from "effect"
import type { Catalog } from "../model/Catalog.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Sites } from "../model/Partition.ts"
import { requestable } from "../model/Resolver.ts"
import type { Entry } from "../model/Route.ts"
import { Attempts } from "../provider/attempts.ts"
import type { Attempt } from "../provider/Provider.ts"
import { Providers } from "../provider/Providers.ts"
import { Clouds, type GatewaySettings, Settings } from "../Settings.ts"
import type { CloudSettings } from "../settings/clouds.ts"
import { chat } from "../surface/chat.ts"
import { cloudProviders } from "../surface/cloudProviders.ts"
import { embeddings } from "../surface/embeddings.ts"
import type { Prepared } from "../surface/Surface.ts"
import { steadyMillis } from "../wire/steady.ts"
import { type Check, type Found, fail, ok } from "./Finding.ts"

/** GPT-class models refuse to answer with fewer; the others are asked for one. */
const leastOfGpt = 16

const prepared = ({ id, model }: Entry, route: Entry): Result.Result<Prepared, GatewayError> => {
  const arrival = { id: crypto.randomUUID(), startedAt: 0, headers: {} }
  if (model.family === "embedding") return embeddings.prepare({ model: id, input: "Hello" }, route, arrival)
  const max_tokens = model.family === "gpt" ? leastOfGpt : 1
  return chat.prepare({ model: id, messages: [{ role: "user", content: "Hello" }], max_tokens }, route, arrival)
}

const byStatus: Readonly<Record<number, string>> = {
  400: "Look at the deployment's upstream model ID and API in the catalog.",
  401: "The cloud refuses the credentials: look at what `credentials` says above, and renew them.",
  403: "The identity may not use this model: give it the role, and enable the model in the cloud's console.",
  404: "The cloud has no such model there: look at its ID in the catalog, the region, and whether access was granted.",
  429: "The cloud's quota for this model is used up or zero: ask the cloud for more.",
  503: "The cloud is overloaded: look at its status page, and try again.",
  529: "The cloud is overloaded: look at its status page, and try again."
}
const byCode: Readonly<Record<string, string>> = {
  certificate: "The certificate is not believed: name a private CA in NODE_EXTRA_CA_CERTS.",
  connect: "Look at DNS, firewall and private endpoint.",
  "connect-timeout": "Look at firewall and private endpoint.",
  credentials: "Give this process an identity: docs/operation.md#running says which.",
  redirect: "Something between here and the cloud redirects: look at the base URL and at proxies.",
  "content-type": "Something else than the cloud answers: look at the base URL and at proxies."
}
const mendOf = ({ code, upstreamStatus = 0 }: GatewayError): string =>
  byStatus[upstreamStatus] ?? byCode[code ?? ""] ?? "Try again; if it stays, look at the cloud's status page."

type Clouded = Effect.Success<typeof cloudProviders>

const ask = (entry: Entry, region: string | undefined, { cloudOf, providerOf }: Clouded): Effect.Effect<Found> =>
  Effect.gen(function* () {
    const { deployment } = entry
    const route = region === undefined ? entry : { ...entry, deployment: { ...deployment, regions: [region] as const } }
    const ready = prepared(entry, route)
    if (Result.isFailure(ready)) return fail(`${entry.id}: ${ready.failure.message}`, mendOf(ready.failure))
    const { bodies, operation } = ready.success
    const provider = providerOf(route)
    const startedAt = yield* steadyMillis
    const [body = {}] = bodies
    const attempts: Array<Attempt> = []
    const where = () => [`${entry.model.id} on ${cloudOf(route)}`, attempts.at(-1)?.region ?? []].flat().join("/")
    const rest = { size: 0, keyId: undefined, parent: undefined, attempts, takeMemory: () => true, received: () => {} }
    return yield* provider.send({ route, operation, body: () => body, ...rest }).pipe(
      Effect.flatMap(({ span }) => {
        span.end()
        return Effect.map(steadyMillis, (now) => ok(`${where()} answered in ${now - startedAt} ms`))
      }),
      Effect.catch((error) => {
        const status = error.upstreamStatus === undefined ? "" : ` (the cloud's status ${error.upstreamStatus})`
        return Effect.succeed(fail(`${where()}: ${error.message}${status}`, mendOf(error)))
      }),
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () =>
          Effect.sync(() =>
            fail(`${where()}: no answer within ${Duration.toSeconds(patience)} s`, "Look at the cloud's status page.")
          )
      })
    )
  })

const patience = Duration.seconds(30)
/** Side by side: enough to be quick, few enough for small quotas. */
const concurrency = 8

/** The first ID of each deployment that is served here. */
const oneEach = (catalog: Catalog, sites: Sites): ReadonlyArray<Entry> =>
  [
    ...new Map(
      requestable(catalog, sites)
        .list.toReversed()
        .map((entry) => [entry.deployment, entry] as const)
    ).values()
  ].toReversed()

export interface LiveOptions {
  readonly settings: GatewaySettings
  readonly clouds: CloudSettings
  readonly catalog: Catalog
  readonly sites: Sites
}

export const liveCheck = ({ settings, clouds, catalog, sites }: LiveOptions): Check => {
  const asked = oneEach(catalog, sites).flatMap((entry) =>
    (entry.deployment.regions ?? [undefined]).map((region) => ({ entry, region }))
  )
  const layer = Providers.layer.pipe(
    Layer.provide(Attempts.live),
    Layer.provideMerge(Layer.succeed(Settings, settings)),
    Layer.provideMerge(Layer.succeed(Clouds, clouds))
  )
  return {
    name: "live",
    within: Duration.times(patience, Math.ceil(asked.length / concurrency) + 1),
    look: Effect.gen(function* () {
      if (asked.length === 0) return ok("no deployment is served here")
      const context = yield* Layer.build(layer)
      const clouded = yield* Effect.provideContext(cloudProviders, context)
      return yield* Effect.forEach(asked, ({ entry, region }) => ask(entry, region, clouded), { concurrency })
    })
  }
}
