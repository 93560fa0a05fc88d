/** What `doctor` prints. */
import type { Finding } from "./Finding.ts"

export const isWell = (findings: ReadonlyArray<Finding>): boolean => findings.every(({ state }) => state !== "fail")

const count = (findings: ReadonlyArray<Finding>, state: Finding["state"]) =>
  findings.filter((finding) => finding.state === state).length

/** One line for each finding, and below a problem how to fix it. */
export const reportText = (findings: ReadonlyArray<Finding>): string => {
  const width = Math.max(...findings.map(({ check }) => check.length))
  let before = ""
  const lines = findings.flatMap(({ check, mend, state, what }) => {
    const shown = check === before ? "" : check
    before = check
    return [
      `${state.padEnd(4)}  ${shown.padEnd(width)}  ${what}`,
      ...(mend === undefined ? [] : [`${" ".repeat(6 + width)}  -> ${mend}`])
    ]
  })
  const sum = `${count(findings, "fail")} wrong, ${count(findings, "warn")} to look at, ${count(findings, "ok")} well`
  return [...lines, "", sum].join("\n")
}

export const reportJson = (findings: ReadonlyArray<Finding>): string =>
  JSON.stringify({ well: isWell(findings), findings }, null, 2)
