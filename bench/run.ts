/**
 * `npm run bench`: one run of load generator, fake cloud, proxies, gateway and a peer, each its own process. Every subject takes its
 * turn in short rounds and the medians of what two of them did in the same round count, because on a small machine only ratios
 * within a run mean something. All of it is done with several processes of each subject, one after the other, because one process
 * may be much faster than another of the same program. `bench/README.md` says what is measured and how to read it.
 *
 * Options: `--quick` (a smoke run under a minute), `--only NAME[,NAME]` (parts of scenario names), `--callers 1,32,256` (instead of
 * each scenario's own), `--processes N` (of each subject), `--rounds N` and `--seconds N` (of each process), `--json FILE` (every
 * round), `--table` (short tables for bench/README.md). `--memory` and `--against DIR` measure something else instead.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus, tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { brief } from "./brief.ts"
import type { Report, Row, Skip } from "./judge.ts"
import { probe, round, type Sample, summarise } from "./measure.ts"
import { ask, start } from "./processes.ts"
import { type Scenario, type Subject, scenarios, spanOf } from "./scenarios.ts"
import { makeSubjects, type Running } from "./subjects.ts"
import { full } from "./table.ts"
import { asFast, partsOf, warmUp } from "./warm.ts"

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    callers: { type: "string" },
    seconds: { type: "string" },
    processes: { type: "string" },
    rounds: { type: "string" },
    json: { type: "string" },
    table: { type: "boolean", default: false },
    memory: { type: "boolean", default: false },
    against: { type: "string" }
  }
})

// Each of these is a program of its own, with what it needs of Node's options.
const programs = {
  memory: ["footprint.ts"],
  against: ["against.ts"]
} as const
const asked = (Object.keys(programs) as Array<keyof typeof programs>).find((name) => options[name])
const other = asked && programs[asked]
if (other !== undefined) {
  const args: Array<string> = [...other]
  if (options.against !== undefined) {
    args.push(resolve(options.against))
    for (const name of ["only", "rounds", "seconds"] as const) {
      if (options[name] !== undefined) args.push(`--${name}=${options[name]}`)
    }
  }
  if (options.quick) args.push("--quick")
  process.exit(spawnSync(process.execPath, args, { cwd: import.meta.dirname, stdio: "inherit" }).status ?? 1)
}

const processes = Number(options.processes ?? (options.quick ? 1 : 3))
const usualRounds = Number(options.rounds ?? 1)
const measureMs = Number(options.seconds ?? (options.quick ? 0.25 : 3)) * 1000
const parts = partsOf(options.quick)
/** Milliseconds before a round counts. */
const settleMs = options.quick ? 50 : 1_000
const givenCallers = options.callers?.split(",").map(Number)
const only = options.only?.split(",")
const chosen = scenarios.filter(({ name }) => only === undefined || only.some((part) => name.includes(part)))
const say = (text: string) => process.stderr.write(`${text}\n`)

const directory = mkdtempSync(join(tmpdir(), "gateway-bench-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))

const { child: load } = await start("load.ts")
const upstream = await start<{ readonly port: number }>("upstream.ts")
const parties = { load, upstream: upstream.child }
const subjects = makeSubjects({
  directory,
  upstream: { child: upstream.child, port: upstream.hello.port },
  mayInstall: !options.quick
})

const taken: Array<Omit<Row, "median"> & { readonly rounds: Array<Sample> }> = []
const skips: Array<Skip> = []
/** How many requests a subject has answered, of the scenarios that ask it for the same. */
const warmed = new Map<string, number>()

const roundsOf = (scenario: string, subject: Subject, callers: number): Array<Sample> => {
  const known = taken.find((row) => row.scenario === scenario && row.subject === subject && row.callers === callers)
  const row = known ?? { scenario, subject, callers, rounds: [] }
  if (known === undefined) taken.push(row)
  return row.rounds
}

/** Those who answer as they should; the others are noted with their reason. */
const present = async (scenario: Scenario): Promise<ReadonlyMap<Subject, Running>> => {
  const answering = new Map<Subject, Running>()
  const { pace } = scenario
  await ask(upstream.child, { ...pace, every: Math.min(1, pace.every) })
  for (const subject of Object.keys(scenario.calls) as Array<Subject>) {
    const one = await subjects.get(subject)
    const why =
      typeof one === "string"
        ? one
        : await probe(scenario, subject, one).catch((error) => `fails: ${error.cause ?? error}`)
    if (typeof one !== "string" && why === undefined) answering.set(subject, one)
    else {
      const known = skips.some((skip) => skip.scenario === scenario.name && skip.subject === subject)
      if (!known) skips.push({ scenario: scenario.name, subject, why: why ?? "is absent" })
      say(`${scenario.name}: ${subject} ${why}`)
    }
  }
  return answering
}

const callersOf = ({ callers, fixed }: Scenario): Scenario["callers"] => {
  if (givenCallers !== undefined && fixed !== true) return givenCallers.map((count) => ({ count }))
  return options.quick ? callers.slice(0, 1) : callers
}

const warmSubject = async (scenario: Scenario, subject: Subject, one: Running) => {
  const call = scenario.calls[subject]
  const kind = `${subject} ${call?.path} ${call?.body}`
  warmed.set(kind, await warmUp(parties, scenario, subject, one, parts, warmed.get(kind)))
}

const measureScenario = async (scenario: Scenario, time: number) => {
  const answering = await present(scenario)
  const span = spanOf(scenario)
  const paced = scenario.pace.every > 0
  // Callers of paced streams start spread over a whole stream, and count from then on.
  const warm = Math.max(settleMs, paced ? (options.quick ? Math.min(span, 300) : span) : 0)
  // Operations that are long by themselves count when they begin and end within the round.
  const measure = Math.max(measureMs, paced ? 0 : (options.quick ? 2.2 : 3) * span)
  const fast = asFast(scenario)
  await ask(upstream.child, fast.pace)
  for (const [subject, one] of answering) await warmSubject(fast, subject, one)
  await ask(upstream.child, scenario.pace)
  for (const { count, subjects: some } of callersOf(scenario)) {
    const taking = [...answering].filter(([subject]) => some === undefined || some.includes(subject))
    for (let i = 0; i < usualRounds + (options.quick ? 0 : (scenario.moreRounds ?? 0)); i++) {
      // Every other round runs backwards, so that nobody always follows the same neighbour.
      for (const [subject, one] of (time + i) % 2 === 0 ? taking : taking.toReversed()) {
        const sample = await round(parties, scenario, subject, one, count, { warm, measure })
        roundsOf(scenario.name, subject, count).push(sample)
      }
    }
    say(`${scenario.name}, ${count} callers: ${taking.map(([subject]) => subject).join(", ") || "nobody answers"}`)
  }
}

const began = performance.now()
for (let time = 0; time < processes; time++) {
  say(`processes: ${time + 1} of ${processes}`)
  warmed.clear()
  for (const [i, scenario] of chosen.entries()) {
    await measureScenario(scenario, time)
    // After the last one nobody is needed: the next time begins with processes of its own.
    const needed = chosen.slice(i + 1).flatMap(({ calls }) => Object.keys(calls) as Array<Subject>)
    await subjects.keep(new Set(needed))
  }
}

const cores = `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? "unknown processor"}`
const minutes = ((performance.now() - began) / 60_000).toFixed(1)
const report: Report = {
  machine: `${cores}, Node ${process.version}; medians of ${processes} × ${usualRounds} rounds (processes of each subject × rounds of each) of ${measureMs / 1000} s; ${minutes} minutes.`,
  // Who failed in one of the times has rounds of the others only, which would be compared with those of another time.
  rows: taken
    .filter(({ scenario, subject }) => !skips.some((skip) => skip.scenario === scenario && skip.subject === subject))
    .map((row) => ({ ...row, median: summarise(row.rounds) })),
  skips,
  notes: await subjects.notes()
}
process.stdout.write(`${options.table ? brief(report, chosen) : full(report, chosen)}\n`)
if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(report, null, 2))
process.exit(0)
