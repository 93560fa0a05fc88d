/** A table with columns as wide as their widest cell. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)))
  const line = (row: ReadonlyArray<string>) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("")
}

export const orAll = (items: ReadonlyArray<string> | undefined): string => items?.join(",") ?? "all"
export const orNone = (value: string | number | undefined): string => value?.toString() ?? "-"

/** Millionths, as units with cents, not rounded up. */
export const money = (millionths: number): string => (Math.floor(millionths / 10_000) / 100).toFixed(2)
