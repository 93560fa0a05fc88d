/** A table with columns as wide as their widest cell. Those from `numbers` on are aligned to the right. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>, numbers = Number.POSITIVE_INFINITY): string => {
  const widths = (rows[0] ?? []).map((_, at) => rows.reduce((width, row) => Math.max(width, row[at]?.length ?? 0), 0))
  const padded = (cell: string, at: number) =>
    at < numbers ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
  return rows.map((row) => `${row.map(padded).join("  ").trimEnd()}\n`).join("")
}
