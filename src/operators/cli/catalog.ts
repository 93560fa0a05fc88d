/** `catalog check`: what a catalog serves (docs/operation.md#commands). */
import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { type Catalog, clouds } from "../../catalog/Catalog.ts"
import { leftOutLines, loadCatalog } from "../../catalog/CatalogStore.ts"
import { bestSites, type Sites } from "../../catalog/Partition.ts"
import { requestable } from "../../catalog/Resolver.ts"
import { sitesOf } from "../../settings/addresses.ts"
import { table } from "../table.ts"
import { print, settings } from "./shared.ts"

/** Every ID that may be requested from these sites with what serves it, how many there are, and what is left out. */
export const reportCatalog = (catalog: Catalog, sites: Sites): string => {
  const { list, leftOut } = requestable(catalog, sites)
  const rows = list.map(({ deployment: { cloud, countModel, model }, id }) => [
    id,
    cloud,
    model,
    countModel === undefined ? "no" : "yes"
  ])
  const lines = [...leftOutLines(leftOut), `${list.length} IDs of ${catalog.models.length} models`]
  return `${table([["ID", "CLOUD", "UPSTREAM MODEL", "COUNTING"], ...rows])}\n${lines.join("\n")}`
}

const file = Argument.String("FILE").pipe(
  Argument.withDescription("a catalog file; the one in use otherwise"),
  Argument.optional
)

const check = Command.make(
  "check",
  { file },
  Effect.fnUntraced(function* ({ file }) {
    const loaded = yield* settings
    const catalog = yield* loadCatalog(Option.orElse(file, () => loaded.gateway.catalogFile))
    // A cloud that is not configured here is assumed to be where it may serve the most.
    yield* print(reportCatalog(catalog, { ...bestSites(clouds), ...sitesOf(loaded.clouds) }))
  })
).pipe(
  Command.withDescription(
    "Check a catalog and print every requestable ID with the cloud that serves it, and what is left out"
  )
)

export const catalogCommand = Command.make("catalog").pipe(
  Command.withDescription("Look at the model catalog"),
  Command.withSubcommands([check])
)
