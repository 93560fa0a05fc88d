/**
 * `npm run bench`: the gateway against a bare proxy and Portkey, each a process of its own, with a load generator and a fake cloud.
 * Subjects take turns in short rounds, because on a small machine only ratios within a run mean something, and all are started
 * anew for every pass, because two processes of one program may differ. README.md explains what is measured.
 */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { compareCheckouts } from "./against.ts"
import type { Signals } from "./collector.ts"
import type { Sample } from "./load.ts"
import { measureMemory } from "./memory.ts"
import { ask, end, start } from "./processes.ts"
import { type Scenario, type Subject, scenariosOf, spanOf } from "./scenarios.ts"
import { callOf, makeSubjects, probe, type Running, round, startCloud, warmUp } from "./subjects.ts"
import { details, disturbance, lines, machine, number, summary } from "./table.ts"

const { values: options } = parseArgs({
  options: {
    table: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    memory: { type: "boolean", default: false },
    only: { type: "string" },
    passes: { type: "string" },
    seconds: { type: "string" },
    against: { type: "string" }
  }
})
const { only, quick } = options
const passes = Number(options.passes ?? (quick ? 1 : 2))
const measureMs = Number(options.seconds ?? (quick ? 0.2 : 2)) * 1000
const settleMs = quick ? 50 : 500
const warmUpMs = (stream: boolean) => (quick ? 150 : stream ? 9_000 : 6_000)
const report = (text: string) => process.stderr.write(`${text}\n`)

/** A smoke run has short streams. */
const shortened = (scenario: Scenario): Scenario =>
  quick ? { ...scenario, pace: { ...scenario.pace, events: Math.min(20, scenario.pace.events) } } : scenario

const measured = new Map<Scenario, Map<Subject, Array<Sample>>>()
const problems = new Set<string>()
const notes = new Set<string>()

const bytesExported = async ({ collectors, directory }: ReturnType<typeof makeSubjects>) => {
  for (const collector of collectors) {
    const requests = readFileSync(join(directory, "exporting-usage.jsonl")).filter((byte) => byte === 10).length
    const signals = Object.entries(await ask<Signals>(collector, "signals"))
    for (const [name, bytes] of signals) if (bytes === 0) problems.add(`telemetry: no ${name} reached the collector`)
    const each = signals.map(([name, bytes]) => `${number(bytes / requests)} bytes of ${name}`)
    notes.add(`Exported for each of ${number(requests)} requests: ${each.join(", ")}.`)
  }
}

const measurePass = async (chosen: ReadonlyArray<Scenario>, pass: number) => {
  const { child: load } = await start("load.ts")
  const cloud = await startCloud()
  const bench = { load, cloud }
  const subjects = makeSubjects(cloud)
  const running = new Map<Subject, Running>()
  const warm = new Set<string>()

  const prepare = async (scenario: Scenario, subject: Subject): Promise<Running | undefined> => {
    try {
      const one = running.get(subject) ?? (await subjects.begin(subject))
      running.set(subject, one)
      await cloud.pace(scenario.pace)
      await probe(scenario, subject, one)
      const { body, path } = callOf(scenario, subject)
      const kind = `${subject} ${path} ${body}`
      if (!warm.has(kind)) await warmUp(bench, scenario, subject, one, warmUpMs(scenario.stream))
      warm.add(kind)
      return one
    } catch (error) {
      problems.add(`${scenario.name}: ${subject}: ${error}`)
      return undefined
    }
  }

  for (const scenario of chosen) {
    const taking: Array<readonly [Subject, Running]> = []
    for (const subject of Object.keys(scenario.calls) as Array<Subject>) {
      const one = await prepare(scenario, subject)
      if (one !== undefined) taking.push([subject, one])
    }
    const span = spanOf(scenario)
    const length = { callers: scenario.callers, warm: Math.max(settleMs, span), measure: Math.max(measureMs, 2 * span) }
    const rows = measured.get(scenario) ?? new Map<Subject, Array<Sample>>(taking.map(([subject]) => [subject, []]))
    measured.set(scenario, rows)
    for (let i = 0; i < (quick ? 1 : (scenario.rounds ?? 2)); i++) {
      // Every other round runs backwards, so that each follows the other.
      for (const [subject, one] of (pass + i) % 2 === 0 ? taking : taking.toReversed()) {
        rows.get(subject)?.push(await round(bench, scenario, subject, one, length))
      }
    }
    report(`${pass + 1} of ${passes}: ${scenario.name}`)
  }
  await end(...[...running.values()].map(({ child }) => child))
  await bytesExported(subjects)
  await end(load, cloud.child, ...subjects.collectors)
}

const began = performance.now()
const chosen = scenariosOf(only).map(shortened)
if (options.against !== undefined) {
  await compareCheckouts(resolve(options.against), scenariosOf(only ?? "chat-claude-sent").map(shortened), quick)
} else {
  if (!options.memory) for (let pass = 0; pass < passes; pass++) await measurePass(chosen, pass)
  const memory = options.memory || (options.table && only === undefined) ? await measureMemory(quick) : []
  const minutes = number((performance.now() - began) / 60_000, 1)
  const parts = [
    ...(options.table || options.memory ? [] : [details(measured)]),
    lines([...summary(measured), ...memory]),
    ...[...problems].map((problem) => `**${problem}**`),
    ...notes,
    ...(measured.size > 0 ? [disturbance(measured)] : []),
    `${machine()}; ${minutes} minutes.`
  ]
  process.stdout.write(`${parts.join("\n\n")}\n`)
}
process.exit(problems.size === 0 ? 0 : 1)
