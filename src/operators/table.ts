import { escapeControls } from "../wire/print.ts"

/**
 * A table with columns as wide as their widest cell. Those from `numbers` on are aligned to the right. Names may come from files
 * and callers: what a terminal would obey is escaped.
 */
export const table = (cells: ReadonlyArray<ReadonlyArray<string>>, numbers = Number.POSITIVE_INFINITY): string => {
  const rows = cells.map((row) => row.map(escapeControls))
  const widths = (rows[0] ?? []).map((_, at) => rows.reduce((width, row) => Math.max(width, row[at]?.length ?? 0), 0))
  const padded = (cell: string, at: number) =>
    at < numbers ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
  return rows.map((row) => `${row.map(padded).join("  ").trimEnd()}\n`).join("")
}
