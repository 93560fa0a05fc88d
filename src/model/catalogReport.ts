/** What `catalog check` prints. */
import type { Catalog } from "./Catalog.ts"
import { leftOutLines } from "./CatalogStore.ts"
import type { Sites } from "./Partition.ts"
import { requestable } from "./Resolver.ts"

const header = ["ID", "CLOUD", "UPSTREAM MODEL", "COUNTING"]

/** Every ID that may be requested from these sites with what serves it, how many there are, and what is left out. */
export const reportCatalog = (catalog: Catalog, sites: Sites): string => {
  const { list: entries, leftOut } = requestable(catalog, sites)
  const rows = entries.map(({ id, deployment }) => [
    id,
    deployment.cloud,
    deployment.model,
    deployment.countModel === undefined ? "no" : "yes"
  ])
  const table = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd()
  )
  return [...lines, "", ...leftOutLines(leftOut), `${entries.length} IDs of ${catalog.models.length} models`].join("\n")
}
