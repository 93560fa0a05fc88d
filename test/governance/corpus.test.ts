/**
 * How well the scan tells calls that name a destination from calls that do not: see README.md beside this file for what
 * the corpus is and for the table of results. Rules may be changed for what `tune` shows, never for what `held` shows.
 */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import type { ScanMode } from "../../src/governance/scan.ts"
import { scanArguments, scanValue } from "../support/scan.ts"

interface Call {
  readonly tool: string
  /** JSON text, here and there cut or invalid. */
  readonly arguments: string
  /** Whether a destination is there to be seen, is there in disguise, or is not there. */
  readonly kind: "plain" | "disguised" | "none"
  readonly destination?: string
}

const halfOf = (name: string): ReadonlyArray<Call> =>
  readFileSync(`${import.meta.dirname}/corpus/${name}.jsonl`, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))

/** What looks like an address is flagged, whatever it is: it is held against neither mode. */
const dottedQuad = /(?<!\d|\d\.)(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d)/

const isFound = (call: Call, mode: ScanMode): boolean =>
  scanArguments(call.arguments, mode).destinations.some((found) => found.includes(call.destination ?? ""))

const measure = (calls: ReadonlyArray<Call>, mode: ScanMode) => {
  // What is disguised is neither asked of the spec mode nor held against it.
  const asked = calls.filter(({ kind }) => kind === "plain" || (kind === "disguised" && mode === "strict"))
  const innocent = calls.filter((call) => call.kind === "none" && !dottedQuad.test(call.arguments))
  const missed = asked.filter((call) => !isFound(call, mode))
  const alarms = innocent.filter((call) => scanArguments(call.arguments, mode).destinations.length > 0)
  const hits = asked.length - missed.length
  return { recall: hits / asked.length, precision: hits / (hits + alarms.length), missed, alarms }
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`

describe.each(["tune", "held"])("corpus: %s", (half) => {
  const calls = halfOf(half)

  it("has as many calls of each kind as README.md says", () => {
    const count = (kind: Call["kind"]) => calls.filter((call) => call.kind === kind).length
    const counts = `${count("plain")} plain, ${count("disguised")} disguised, ${count("none")} without`
    assert.include(readFileSync(`${import.meta.dirname}/README.md`, "utf8"), `- \`${half}.jsonl\`: ${counts}`)
    for (const { kind, destination } of calls) assert.strictEqual(kind === "none", destination === undefined)
  })

  it.each(["spec", "strict"] as const)("%s: misses little and alarms little", (mode) => {
    const { recall, precision, missed, alarms } = measure(calls, mode)
    const summary = `${half} ${mode}: recall ${percent(recall)}, precision ${percent(precision)}`
    const shown = half === "tune" ? [...missed, ...alarms].map((call) => call.arguments).slice(0, 20) : []
    const message = [summary, ...shown].join("\n")
    if (process.env.SHOW_CORPUS !== undefined) console.log(message)
    assert.isAtLeast(recall, 0.99, message)
    assert.isAtLeast(precision, 0.97, message)
  })

  it("reads the same parsed and as text", () => {
    for (const call of calls) {
      let value: unknown
      try {
        value = JSON.parse(call.arguments)
      } catch {
        continue
      }
      for (const mode of ["spec", "strict"] as const) {
        assert.deepStrictEqual(scanValue(value, mode), scanArguments(call.arguments, mode))
      }
    }
  })
})
