/** `catalog check`, `catalog schema`: what a catalog serves (docs/operation.md#commands). */
import { Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { Catalog } from "../../catalog/Catalog.ts"
import { leftOutLines, loadCatalog, Overlay } from "../../catalog/CatalogStore.ts"
import { clouds } from "../../catalog/clouds.ts"
import { bestSites, type Sites } from "../../catalog/Partition.ts"
import { requestable } from "../../catalog/Resolver.ts"
import { sitesOf } from "../../settings/clouds.ts"
import { table } from "../table.ts"
import { fileArgument, optionalFile, print, settings } from "./shared.ts"

/** Every ID that may be requested from these sites with what serves it, how many there are, and what is left out. */
export const reportCatalog = (catalog: Catalog, sites: Sites): string => {
  const { list, leftOut } = requestable(catalog, sites)
  const rows = list.map(({ deployment: { cloud, countModel, model }, id }) => {
    const counting = countModel === undefined ? "no" : "yes"
    return [id, cloud, model, counting]
  })
  const lines = [...leftOutLines(leftOut), `${list.length} IDs of ${catalog.models.length} models`]
  return `${table([["ID", "CLOUD", "UPSTREAM MODEL", "COUNTING"], ...rows])}\n${lines.join("\n")}`
}

const file = Argument.optional(fileArgument("a catalog file; the one in use otherwise"))
const overlay = optionalFile("overlay", "changes of the catalog; those in use otherwise")

const check = Command.make(
  "check",
  { file, overlay },
  Effect.fnUntraced(function* ({ file, overlay }) {
    const { clouds: configured, gateway } = yield* settings
    const catalog = yield* loadCatalog({
      catalogFile: Option.orElse(file, () => gateway.catalogFile),
      catalogOverlay: Option.orElse(overlay, () => gateway.catalogOverlay),
      given: [...Option.toArray(file), ...Option.toArray(overlay)]
    })
    // A cloud that is not configured here is assumed to be where it may serve the most.
    yield* print(reportCatalog(catalog, { ...bestSites(clouds), ...sitesOf(configured) }))
  })
).pipe(
  Command.withDescription(
    "Check a catalog and print every requestable ID with the cloud that serves it, and what is left out"
  )
)

/** As the gateway reads the file: it refuses keys that it does not know. */
export const schemaOf = (what: "catalog" | "overlay") => {
  const of = what === "overlay" ? Overlay : Catalog
  const { definitions, schema } = Schema.toJsonSchemaDocument(of, { onExcessProperty: "error" })
  return { $schema: "https://json-schema.org/draft/2020-12/schema", ...schema, $defs: definitions }
}

const schema = Command.make(
  "schema",
  {
    what: Argument.Literals("WHAT", ["catalog", "overlay"]).pipe(
      Argument.withDescription("catalog, or overlay; catalog unless given"),
      Argument.withDefault("catalog" as const)
    )
  },
  ({ what }) => print(JSON.stringify(schemaOf(what), null, 2))
).pipe(Command.withDescription("Print the JSON Schema of a catalog, or of an overlay"))

export const catalogCommand = Command.make("catalog").pipe(
  Command.withDescription("Look at the model catalog"),
  Command.withSubcommands([check, schema])
)
