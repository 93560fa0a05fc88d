/**
 * This checkout against another, at the same time: `npm run bench -- --against DIR`. Gateways of both, two processes of each and of
 * the bare proxy, share the machine and a scenario's callers, so that whatever disturbs one disturbs all. What counts is processor
 * time for each request or event: a difference of two percent shows in two minutes, where subjects that take turns need an hour.
 * They share the processor's caches, too, so that the share of the proxy is not that of a run in turns.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { type Parties, round } from "./measure.ts"
import { ask, start } from "./processes.ts"
import { median } from "./quantiles.ts"
import { type Scenario, type Subject, scenarios, spanOf } from "./scenarios.ts"
import type { Running } from "./subjects.ts"
import { asFast, partsOf, warmUp } from "./warm.ts"

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "chat-claude-sent" },
    rounds: { type: "string" },
    seconds: { type: "string", default: "3" }
  }
})
const here = resolve(import.meta.dirname, "..")
const checkouts = [here, ...positionals.map((directory) => resolve(directory))]
const rounds = Number(options.rounds ?? (options.quick ? 1 : 16))
const measureMs = Number(options.seconds) * 1000
const processesOfEach = options.quick ? 1 : 2

const directory = mkdtempSync(join(tmpdir(), "gateway-against-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
const upstream = await start<{ readonly port: number }>("upstream.ts")

interface One {
  readonly name: string
  readonly subject: Subject
  readonly running: Running
  readonly parties: Parties
}

/** As the bench of that checkout starts it, each with files of its own. */
const add = async (name: string, checkout: string, subject: Subject) => {
  const { makeSubjects }: typeof import("./subjects.ts") = await import(join(checkout, "bench/subjects.ts"))
  const { child: load } = await start("load.ts")
  const running = await makeSubjects({
    directory: mkdtempSync(join(directory, "subject-")),
    upstream: { child: upstream.child, port: upstream.hello.port },
    mayInstall: false
  }).get(subject)
  if (typeof running === "string") throw new Error(`${name}: ${running}`)
  all.push({ name, subject, running, parties: { load, upstream: upstream.child } })
}

const all: Array<One> = []
for (let i = 0; i < processesOfEach; i++) {
  for (const checkout of checkouts) await add(checkout, checkout, "gateway")
  await add("bare proxy", here, "proxy")
}

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

const compare = async (scenario: Scenario) => {
  const fast = asFast(scenario)
  await ask(upstream.child, fast.pace)
  const parts = partsOf(options.quick)
  for (const { parties, running, subject } of all) await warmUp(parties, fast, subject, running, parts)
  await ask(upstream.child, scenario.pace)
  const callers = Math.max(1, Math.floor((scenario.callers[0]?.count ?? 32) / all.length))
  const warm = scenario.pace.every > 0 && !options.quick ? spanOf(scenario) : 100
  const times = new Map<string, Array<number>>()
  for (let i = 0; i < rounds; i++) {
    const samples = await Promise.all(
      all.map(({ parties, running, subject }) =>
        round(parties, scenario, subject, running, callers, { warm, measure: measureMs })
      )
    )
    for (const name of new Set(all.map((one) => one.name))) {
      const taken = samples.filter((_, at) => all[at]?.name === name).map(({ cpu }) => cpu)
      times.set(name, [...(times.get(name) ?? []), mean(taken)])
    }
  }
  const base = times.get(here) ?? []
  const rows = [...times].map(([name, own]) => {
    const shares = own.map((time, at) => time / (base[at] ?? Number.NaN))
    const middle = mean(shares)
    const error = Math.sqrt(mean(shares.map((share) => (share - middle) ** 2)) / Math.max(1, rounds - 1))
    return `| ${name} | ${median(own).toFixed(1)} | ${middle.toFixed(3)} | ${error.toFixed(3)} |`
  })
  process.stdout.write(
    `### ${scenario.name}\n\n| who | CPU µs | × this checkout | standard error |\n| --- | ---: | ---: | ---: |\n${rows.join("\n")}\n\n`
  )
}

for (const scenario of scenarios) {
  const asked = options.only.split(",").some((part) => scenario.name.includes(part))
  if (asked && scenario.calls.proxy !== undefined) await compare(scenario)
}
process.exit(0)
