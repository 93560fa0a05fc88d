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
import { round } from "./measure.ts"
import { ask, start } from "./processes.ts"
import { median } from "./quantiles.ts"
import { bursts, type Scenario, type Subject, scenarios, spanOf } from "./scenarios.ts"
import type { Running } from "./subjects.ts"

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
/** Milliseconds of requests as fast as they go, before: enough for V8's best code (`run.ts`). */
const warmMs = options.quick ? 500 : 24_000
const processesOfEach = options.quick ? 1 : 2

const directory = mkdtempSync(join(tmpdir(), "gateway-against-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
const upstream = await start<{ readonly port: number }>("upstream.ts")

interface One {
  readonly name: string
  readonly subject: Subject
  readonly running: Running
  readonly load: Awaited<ReturnType<typeof start>>["child"]
}

const gatewayOf = async (checkout: string): Promise<Running> => {
  const gateway: typeof import("./peers/gateway.ts") = await import(join(checkout, "bench/peers/gateway.ts"))
  const own = mkdtempSync(join(directory, "gateway-"))
  const key = gateway.createKey(own)
  return { ...(await gateway.startGateway("gateway", own, upstream.hello.port)), headers: { "x-api-key": key } }
}
const proxy = async (): Promise<Running> => {
  const { child, hello } = await start<{ readonly port: number }>("proxy.ts", String(upstream.hello.port))
  return { child, port: hello.port, headers: {} }
}

const all: Array<One> = []
for (let i = 0; i < processesOfEach; i++) {
  for (const checkout of checkouts) {
    const { child: load } = await start("load.ts")
    all.push({ name: checkout, subject: "gateway", running: await gatewayOf(checkout), load })
  }
  const { child: load } = await start("load.ts")
  all.push({ name: "bare proxy", subject: "proxy", running: await proxy(), load })
}

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

const compare = async (scenario: Scenario) => {
  const { burst, every } = bursts
  const fast = { ...scenario, pace: { ...scenario.pace, burst, every } }
  await ask(upstream.child, fast.pace)
  for (const { load, running, subject } of all) {
    const parties = { load, upstream: upstream.child }
    // In parts, because a round ends with callers that are cut off (`run.ts`).
    for (let part = 0; part < 4; part++) {
      await round(parties, fast, subject, running, 32, { warm: 0, measure: warmMs / 4 })
    }
  }
  await ask(upstream.child, scenario.pace)
  const callers = Math.max(1, Math.floor((scenario.callers[0]?.count ?? 32) / all.length))
  const warm = scenario.pace.every > 0 && !options.quick ? spanOf(scenario) : 100
  const times = new Map<string, Array<number>>()
  for (let i = 0; i < rounds; i++) {
    const samples = await Promise.all(
      all.map(({ load, running, subject }) =>
        round({ load, upstream: upstream.child }, scenario, subject, running, callers, { warm, measure: measureMs })
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
