/** What `doctor` prints. */
import { table } from "../table.ts"
import { type Finding, passed } from "./Finding.ts"

/** One line for each finding, and below a problem how to fix it. */
export const reportText = (findings: ReadonlyArray<Finding>): string => {
  const rows = findings.flatMap(({ check, fix, message, state }, at) => [
    [state, check === findings[at - 1]?.check ? "" : check, message],
    ...(fix === undefined ? [] : [["", "", `-> ${fix}`]])
  ])
  const count = (state: Finding["state"]) => `${findings.filter((finding) => finding.state === state).length} ${state}`
  return `${table(rows)}\n${(["fail", "warn", "ok"] as const).map(count).join(", ")}`
}

export const reportJson = (findings: ReadonlyArray<Finding>): string => {
  const all = findings.map((finding) => ({ ok: passed([finding]), ...finding }))
  return JSON.stringify({ ok: passed(findings), findings: all }, null, 2)
}
