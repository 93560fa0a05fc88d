/** What `catalog check` prints. */
import { type Catalog, clouds } from "./Catalog.ts"
import { requestable } from "./Resolver.ts"

const header = ["ID", "CLOUD", "UPSTREAM MODEL", "COUNTING"]

/** Every requestable ID with what serves it, as if every cloud were configured, and how many there are. */
export const reportCatalog = (catalog: Catalog): string => {
  const entries = requestable(catalog, new Set(clouds))
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
  return [...lines, "", `${entries.length} IDs of ${catalog.models.length} models`].join("\n")
}
