/** A table with columns as wide as their widest cell. Those from `numbers` on are aligned to the right. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>, numbers = Number.POSITIVE_INFINITY): string => {
  const widths = (rows[0] ?? []).map((_, at) => rows.reduce((width, row) => Math.max(width, row[at]?.length ?? 0), 0))
  const padded = (cell: string, at: number) =>
    at < numbers ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
  return rows.map((row) => `${row.map(padded).join("  ").trimEnd()}\n`).join("")
}

export const orAll = (items: ReadonlyArray<string> | undefined): string => items?.join(",") ?? "all"
export const orNone = (value: string | number | undefined): string => value?.toString() ?? "-"

/** Millionths, as units with cents, not rounded up. */
export const money = (millionths: number): string => (Math.floor(millionths / 10_000) / 100).toFixed(2)
