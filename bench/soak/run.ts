/**
 * `npm run soak`: what holds under load, scenario by scenario, each with a gateway, fake clouds and load generators of its own. The
 * table at the end shows each aim and what was measured; the exit code is 1 when one is missed.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { makeDirectory } from "../processes.ts"
import { machine, table } from "../table.ts"
import { idle, sustained } from "./crowds.ts"
import { faulty } from "./faults.ts"
import { growth } from "./growth.ts"
import { hostile } from "./hostile.ts"
import { overload } from "./overload.ts"
import { rolling } from "./rolling.ts"
import type { Finding, Scenario } from "./scenario.ts"
import { slow } from "./slow.ts"

const scenarios: ReadonlyArray<Scenario> = [sustained, idle, overload, hostile, growth, slow, rolling, faulty]
const usage = `usage: npm run soak -- [--short] [--only L3,L7] [--seconds N]

--short    every scenario in brief; 8 minutes in all, not an hour and a half
--only     these scenarios: ${scenarios.map(({ name, title }) => `${name} ${title}`).join(", ")}
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
const chosen = scenarios.filter(({ name }) => only === undefined || only.includes(name))
const seconds = values.seconds === undefined ? undefined : Number(values.seconds)
if (values.help || chosen.length < (only?.length ?? 1) || (seconds !== undefined && !(seconds > 0))) {
  process.stderr.write(`${usage}\n`)
  process.exit(values.help ? 0 : 1)
}

const directory = makeDirectory()
const words = { true: "met", false: "**missed**", undefined: "not measured" }
const rows: Array<ReadonlyArray<string>> = []
let missed = 0
for (const { full, name, run, short, title } of chosen) {
  const lasts = seconds ?? (values.short ? short : full)
  process.stderr.write(`${name}: ${title}, about ${lasts} seconds\n`)
  const own = join(directory, name)
  mkdirSync(own)
  const failed = (error: unknown): ReadonlyArray<Finding> => [{ aim: "it runs", measured: String(error), met: false }]
  for (const { aim, measured, met } of await run(own, lasts).catch(failed)) {
    process.stderr.write(`  ${words[`${met}`]}: ${aim}: ${measured}\n`)
    if (met === false) missed++
    rows.push([`${name} ${title}`, aim, measured, words[`${met}`]])
  }
}
process.stdout.write(`${table(["Scenario", "Aim", "Measured", ""], rows, 4)}\n\n${machine()}\n`)
process.exit(missed === 0 ? 0 : 1)
