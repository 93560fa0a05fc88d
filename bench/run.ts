/**
 * `npm run bench`: one run of load generator, fake clouds, bare proxy, gateway and peers, each its own process. Every subject takes
 * its turn in short rounds and the medians count, because on a small machine only ratios within a run mean something.
 *
 * All of it takes about a quarter of an hour. Options: `--quick` (a smoke run under a minute), `--only NAME[,NAME]` (parts of
 * scenario names), `--callers 1,32,256`, `--seconds N` and `--rounds N` (of each subject), `--json FILE` (the rows), `--table` (one short table for the README).
 */
import type { ChildProcess } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import type { Job, Result } from "./load.ts"
import { createKey, startGateway } from "./peers/gateway.ts"
import { install, installed, portkeyHeaders, portkeyNote, startPortkey } from "./peers/portkey.ts"
import { ask, start, weigh } from "./processes.ts"
import { type Call, type Scenario, type Subject, scenarios } from "./scenarios.ts"
import { brief, full, type Report, type Row, type Skip } from "./table.ts"
import { MARKER } from "./wire.ts"

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    callers: { type: "string" },
    seconds: { type: "string" },
    rounds: { type: "string" },
    json: { type: "string" },
    table: { type: "boolean", default: false }
  }
})
const rounds = Number(options.rounds ?? (options.quick ? 1 : 3))
const measureMs = Number(options.seconds ?? (options.quick ? 0.4 : 1.5)) * 1000
const warmMs = options.quick ? 200 : 500
const usualCallers = (options.callers ?? (options.quick ? "32" : "1,32,256")).split(",").map(Number)
const only = options.only?.split(",")
const chosen = scenarios.filter(({ name }) => only === undefined || only.some((part) => name.includes(part)))
const say = (text: string) => process.stderr.write(`${text}\n`)

const directory = mkdtempSync(join(tmpdir(), "gateway-bench-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))

interface Running {
  readonly child: ChildProcess
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
}
const running = new Map<Subject, Running>()
const absent = new Map<Subject, string>()
const notes: Array<string> = []

const attempt = async (subject: Subject, begin: () => Promise<Running>) => {
  if (!chosen.some((scenario) => scenario.calls[subject] !== undefined)) return
  await begin().then(
    (one) => running.set(subject, one),
    (error: unknown) => {
      absent.set(
        subject,
        String(error)
          .match(/\w*Error: .*$/gm)
          ?.at(-1) ?? String(error)
      )
      say(`${subject}: ${absent.get(subject)}`)
    }
  )
}

const { child: load } = await start("load.ts")
const upstream = await start<{ readonly port: number }>("upstream.ts")
const up = upstream.hello.port
running.set("upstream", { child: upstream.child, port: up, headers: {} })
await attempt("proxy", async () => {
  const { child, hello } = await start<{ readonly port: number }>("proxy.ts", String(up))
  return { child, port: hello.port, headers: {} }
})
let key: string | undefined
for (const subject of ["gateway", "traced"] as const) {
  await attempt(subject, async () => {
    key ??= createKey(directory)
    return { ...(await startGateway(subject, directory, up, subject === "traced")), headers: { "x-api-key": key } }
  })
}
await attempt("portkey", async () => {
  if (!installed() && (options.quick || !install())) throw new Error("not installed (npm ci in bench/)")
  return { ...(await startPortkey(directory)), headers: portkeyHeaders(up) }
})

/** Asks once before measuring: whether the answer is 200, and whether a stream holds every event. */
const probe = async (
  { pace, stream }: Scenario,
  { headers, port }: Running,
  call: Call
): Promise<string | undefined> => {
  const reply = await fetch(`http://127.0.0.1:${port}${call.path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers, ...call.headers },
    body: call.body,
    signal: AbortSignal.timeout(20_000)
  })
  const text = await reply.text()
  if (reply.status !== 200) return `answers ${reply.status}: ${text.slice(0, 160).replace(/\s+/g, " ")}`
  const events = text.split(MARKER).length - 1
  return stream && events !== pace.events ? `streams ${events} of ${pace.events} events` : undefined
}

const median = (values: ReadonlyArray<number>) => {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

const rows: Array<Row> = []
const skips: Array<Skip> = []

const round = async (scenario: Scenario, subject: Subject, callers: number, warm: number, measure: number) => {
  const one = running.get(subject)
  const call = scenario.calls[subject]
  if (one === undefined || call === undefined) throw new Error(`${subject} does not run`)
  const job: Job = {
    port: one.port,
    path: call.path,
    headers: { ...one.headers, ...call.headers },
    body: call.body,
    callers,
    warm,
    measure,
    spread: scenario.pace.every === 0 ? 0 : (scenario.span ?? 0),
    ...(call.fan === undefined ? {} : { fan: call.fan })
  }
  const pids = [one.child.pid, load.pid, upstream.child.pid]
  const began = performance.now()
  const before = pids.map(weigh)
  const result = await ask<Result>(load, job)
  const spent = pids.map(weigh).map(({ cpu }, i) => cpu - (before[i]?.cpu ?? 0))
  const [busy = 0, loadBusy = 0, upstreamBusy = 0] = spent.map((ms) => (ms / (performance.now() - began)) * 100)
  const [own = 0] = spent
  return { ...result, rss: weigh(one.child.pid).rss, cpu: (own * 1000) / result.work, busy, loadBusy, upstreamBusy }
}

for (const scenario of chosen) {
  await ask(upstream.child, scenario.pace)
  const subjects: Array<Subject> = []
  for (const subject of Object.keys(scenario.calls) as Array<Subject>) {
    const one = running.get(subject)
    const call = scenario.calls[subject]
    if (call === undefined) continue
    const why =
      one === undefined
        ? (absent.get(subject) ?? "does not run")
        : await probe(scenario, one, call).catch((error: unknown) => `fails: ${error}`)
    if (why === undefined) subjects.push(subject)
    else skips.push({ scenario: scenario.name, subject, why })
  }
  const { span = 0 } = scenario
  // Callers of paced streams start spread over a whole stream, and count from then on.
  const settle = scenario.pace.every === 0 ? warmMs : span
  const measure = Math.max(measureMs, (options.quick ? 1.5 : 3) * span)
  const warmCallers = Math.min(32, ...(scenario.callers ?? []))
  for (const subject of subjects) await round(scenario, subject, warmCallers, 2 * warmMs, 0)
  for (const callers of scenario.callers ?? usualCallers) {
    const taken = new Map(subjects.map((subject) => [subject, [] as Array<Awaited<ReturnType<typeof round>>>]))
    for (let i = 0; i < rounds; i++) {
      // Every other round runs backwards, so that nobody always follows the same neighbour.
      for (const subject of i % 2 === 0 ? subjects : subjects.toReversed()) {
        taken.get(subject)?.push(await round(scenario, subject, callers, settle, measure))
      }
    }
    for (const [subject, all] of taken) {
      const of = (field: keyof (typeof all)[number]) => median(all.map((one) => one[field]))
      rows.push({
        scenario: scenario.name,
        subject,
        callers,
        requestsPerSecond: of("requestsPerSecond"),
        eventsPerSecond: of("eventsPerSecond"),
        p50: of("p50"),
        p99: of("p99"),
        first: of("first"),
        failed: all.reduce((sum, one) => sum + one.failed, 0),
        rss: all.at(-1)?.rss ?? Number.NaN,
        cpu: of("cpu"),
        busy: of("busy"),
        loadBusy: of("loadBusy"),
        upstreamBusy: of("upstreamBusy")
      })
    }
    say(`${scenario.name}, ${callers} callers: ${subjects.join(", ") || "nobody answers"}`)
  }
}

if (skips.some(({ subject }) => subject === "portkey") && running.has("portkey")) notes.push(portkeyNote)
if (running.has("traced")) {
  const { exported } = await ask<{ readonly exported: number }>(upstream.child, "exported")
  notes.push(
    exported > 0
      ? `The telemetry receiver took ${(exported / 1e6).toFixed(1)} MB.`
      : "**Nothing was exported** to the telemetry receiver: the tracing rows say nothing."
  )
}
const report: Report = {
  machine: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown processor"}, Node ${process.version}, ${rounds} × ${measureMs / 1000} s each, medians.`,
  rows,
  skips,
  notes
}
process.stdout.write(`${options.table ? brief(report, chosen) : full(report, chosen)}\n`)
if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(report, null, 2))
process.exit(0)
