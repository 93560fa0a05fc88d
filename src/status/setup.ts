/** What the page says of the setup: the deployments of the catalog, and what is in force since when. */
import { X509Certificate } from "node:crypto"
import { Effect, Option } from "effect"
import { Keys } from "../access/Keys.ts"
import { service, version } from "../api/version.ts"
import { cryptoFacts } from "../fips.ts"
import { CatalogStore } from "../model/CatalogStore.ts"
import type { Level } from "../model/Level.ts"
import { readRegular } from "../regularFile.ts"
import { Clouds, Settings } from "../Settings.ts"

export interface CatalogDeployment {
  readonly cloud: string
  readonly region: string
  readonly model: string
  readonly levels: ReadonlyArray<Level>
}

/** Times are in milliseconds since the epoch. */
export interface Setup {
  readonly service: string
  readonly version: string
  readonly sandbox: boolean
  readonly fips: boolean
  readonly catalog: { readonly source: string; readonly since: number; readonly ids: number }
  readonly keys: { readonly source: string; readonly since: number; readonly count: number }
  readonly store: "Redis" | "this machine"
  /** When the certificate ends; absent without TLS, null where it cannot be read. */
  readonly tlsUntil?: number | null | undefined
}

const certificateEnd = (file: string): Effect.Effect<number | null> =>
  readRegular(file).pipe(
    Effect.flatMap(({ bytes }) => Effect.try(() => new X509Certificate(bytes).validToDate.getTime())),
    Effect.orElseSucceed(() => null)
  )

export const makeSetup = Effect.gen(function* () {
  const settings = yield* Settings
  const clouds = yield* Clouds
  const catalog = yield* CatalogStore
  const keys = yield* Keys
  const places: Readonly<Record<string, string>> = {
    ...(Option.isSome(clouds.vertex) && { vertex: clouds.vertex.value.location }),
    ...(Option.isSome(clouds.bedrock) && { bedrock: clouds.bedrock.value.region }),
    ...(Option.isSome(clouds.azure) && { azure: clouds.azure.value.region })
  }
  const sandbox = clouds.simulated === true
  const crypto = cryptoFacts()
  const tlsUntil = Option.map(settings.tlsCert, certificateEnd)

  const setup = Effect.gen(function* () {
    const until = yield* Effect.transposeOption(tlsUntil)
    const { keys: inForce, since } = keys.inForce()
    const facts: Setup = {
      service,
      version,
      sandbox,
      fips: crypto.fips,
      catalog: {
        source: Option.getOrElse(settings.catalogFile, () => "shipped catalog"),
        since: catalog.since(),
        ids: catalog.current().list.length
      },
      keys: { source: sandbox && inForce.length === 1 ? "sandbox" : settings.keysFile, since, count: inForce.length },
      store: Option.isSome(settings.redisUrl) ? "Redis" : "this machine",
      ...(Option.isNone(until) ? {} : { tlsUntil: until.value })
    }
    return facts
  })

  /** In the catalog's order. */
  const deployments = (): ReadonlyArray<CatalogDeployment> => {
    const rows = new Map<string, { cloud: string; region: string; model: string; levels: Array<Level> }>()
    for (const { deployment, level, model } of catalog.current().list) {
      for (const region of deployment.regions ?? [places[deployment.cloud] ?? ""]) {
        const name = `${deployment.cloud}/${region} ${model.id}`
        const row = rows.get(name) ?? { cloud: deployment.cloud, region, model: model.id, levels: [] }
        row.levels.push(level)
        rows.set(name, row)
      }
    }
    return [...rows.values()]
  }
  return { setup, deployments }
})
