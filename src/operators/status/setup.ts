/** The setup on the page: the deployments of the catalog, and what is in force since when. */
import { X509Certificate } from "node:crypto"
import { Effect, Option } from "effect"
import { CatalogStore, catalogSource } from "../../catalog/CatalogStore.ts"
import { service, version } from "../../contract/version.ts"
import { cryptoFacts } from "../../fips.ts"
import { Keys } from "../../limits/Keys.ts"
import { readRegular } from "../../regularFile.ts"
import { Clouds, Settings } from "../../Settings.ts"
import { addressesOf } from "../../settings/addresses.ts"
import { getOrInsert } from "../../wire/getOrInsert.ts"
import { type DeploymentName, nameOf } from "./Activity.ts"

export interface CatalogDeployment extends DeploymentName {
  readonly levels: ReadonlyArray<string>
}

/** In milliseconds since the epoch; null where the certificate cannot be read. */
const certificateEnd = (file: string): Effect.Effect<number | null> =>
  readRegular(file).pipe(
    Effect.flatMap(({ bytes }) => Effect.try(() => new X509Certificate(bytes).validToDate.getTime())),
    Effect.orElseSucceed(() => null)
  )

export const makeSetup = Effect.gen(function* () {
  const settings = yield* Settings
  const { keysFile, redisUrl, tlsCert } = settings
  const clouds = yield* Clouds
  const sandbox = clouds.simulated
  const catalog = yield* CatalogStore
  const keys = yield* Keys
  const regions = new Map(addressesOf(clouds).map(({ cloud, region }) => [cloud, region]))
  const { fips } = cryptoFacts()

  /** Times are in milliseconds since the epoch. */
  const setup = Effect.gen(function* () {
    const { keys: inForce, since } = keys.inForce()
    return {
      service,
      version,
      sandbox,
      fips,
      catalog: {
        source: catalogSource(settings),
        since: catalog.since(),
        ids: catalog.current().list.length
      },
      // One for the whole catalog; without prices nothing costs anything.
      currency: catalog.current().list.find(({ deployment }) => deployment.prices)?.deployment.prices?.currency,
      keys: { source: sandbox && inForce.length === 1 ? "sandbox" : keysFile, since, count: inForce.length },
      store: Option.isSome(redisUrl) ? "Redis" : "this machine",
      // Absent without TLS.
      tlsUntil: Option.isSome(tlsCert) ? yield* certificateEnd(tlsCert.value) : undefined
    }
  })

  /** In the catalog's order. */
  const deployments = (): ReadonlyArray<CatalogDeployment> => {
    const rows = new Map<string, DeploymentName & { readonly levels: Array<string> }>()
    for (const { deployment, level, model } of catalog.current().list) {
      for (const region of deployment.regions ?? [regions.get(deployment.cloud) ?? ""]) {
        const name = { cloud: deployment.cloud, region, model: model.id }
        getOrInsert(rows, nameOf(name), () => ({ ...name, levels: [] })).levels.push(level)
      }
    }
    return [...rows.values()]
  }
  return { setup, deployments }
})
