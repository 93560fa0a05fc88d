/**
 * `npm run soak`: what holds under load, scenario by scenario, each with a gateway, fake clouds and load generators of its own. A
 * table at the end says what was aimed at, what was measured, and whether it was met; 1 when an aim is missed.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { table } from "../table.ts"
import { faulty } from "./faults.ts"
import { growth } from "./growth.ts"
import { hostile } from "./hostile.ts"
import { idle } from "./idle.ts"
import { overload } from "./overload.ts"
import type { Finding, Scenario } from "./programme.ts"
import { rolling } from "./rolling.ts"
import { slow } from "./slow.ts"
import { sustained } from "./sustained.ts"

const programme: ReadonlyArray<Scenario> = [sustained, idle, overload, hostile, growth, slow, rolling, faulty]

const usage = `usage: npm run soak -- [--short] [--only L3,L7] [--seconds N]

--short    every scenario in brief; 8 minutes in all, not an hour and a half
--only     these scenarios: ${programme.map(({ name, title }) => `${name} ${title}`).join(", ")}
--seconds  how long each of them lasts`

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    only: { type: "string" },
    seconds: { type: "string" },
    help: { type: "boolean", default: false }
  }
})
const only = values.only?.split(",")
const chosen = programme.filter(({ name }) => only === undefined || only.includes(name))
const seconds = values.seconds === undefined ? undefined : Number(values.seconds)
const unknown = only?.filter((name) => !programme.some((scenario) => scenario.name === name)) ?? []
if (values.help || unknown.length > 0 || (seconds !== undefined && !(seconds > 0))) {
  process.stderr.write(`${usage}\n`)
  process.exit(values.help ? 0 : 1)
}

const directory = mkdtempSync(join(tmpdir(), "gateway-soak-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))

const words = { true: "met", false: "**missed**", undefined: "not measured" }
const rows: Array<ReadonlyArray<string>> = []
let missed = 0
for (const { full, name, run, short, title } of chosen) {
  const lasts = seconds ?? (values.short ? short : full)
  process.stderr.write(`${name}: ${title}, about ${lasts} seconds\n`)
  const failed = (error: unknown): ReadonlyArray<Finding> => [{ aim: "it runs", measured: String(error), met: false }]
  const findings = await run({ directory: mkdtempSync(join(directory, `${name}-`)), seconds: lasts }).catch(failed)
  for (const { aim, measured, met } of findings) {
    process.stderr.write(`  ${met === true ? "met" : met === false ? "MISSED" : "not measured"}: ${aim}: ${measured}\n`)
    if (met === false) missed++
    rows.push([`${name} ${title}`, aim, measured, words[`${met}`]])
  }
}
process.stdout.write(`${table(["Scenario", "Aim", "Measured", ""], rows, 4)}\n\n`)
process.stdout.write(`${availableParallelism()} × ${cpus()[0]?.model.trim()}, Node ${process.version}\n`)
process.exit(missed === 0 ? 0 : 1)
