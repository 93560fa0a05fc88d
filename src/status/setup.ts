/** What the page says of the setup: the deployments of the catalog, and what is in force since when. */
import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { Effect, Option } from "effect"
import { Keys } from "../access/Keys.ts"
import { service, version } from "../api/version.ts"
import { cryptoFacts } from "../fips.ts"
import { CatalogStore } from "../model/CatalogStore.ts"
import type { Level } from "../model/Level.ts"
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

/** Time between two looks at the certificate's file, in milliseconds. */
const certificateEvery = 60_000

const makeCertificateEnd = (file: string) => {
  let end: number | null = null
  let readAt = 0
  return (now: number): number | null => {
    if (now - readAt < certificateEvery) return end
    readAt = now
    try {
      end = new X509Certificate(readFileSync(file)).validToDate.getTime()
    } catch {
      end = null
    }
    return end
  }
}

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
  const certificateEnd = Option.getOrUndefined(Option.map(settings.tlsCert, makeCertificateEnd))

  const setup = (now: number): Setup => {
    const { keys: inForce, since } = keys.inForce()
    return {
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
      ...(certificateEnd === undefined ? {} : { tlsUntil: certificateEnd(now) })
    }
  }

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
