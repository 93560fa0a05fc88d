/**
 * `npm run bench -- --memory`: how soon the gateway listens, and how much memory it takes: idle, after a minute of everything at 32
 * callers (three processes, because they differ by a tenth), and with ten thousand open streams. Each by a fresh process, with
 * Node's compile cache empty, and as `npm ci` leaves it.
 */
import { execFileSync, spawn } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { availableParallelism, cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { round } from "./measure.ts"
import { createKey, gatewayEnvironment, root, startArguments } from "./peers/gateway.ts"
import { ask, end, keep, start } from "./processes.ts"
import { median } from "./quantiles.ts"
import { type Scenario, scenarios } from "./scenarios.ts"
import type { Running } from "./subjects.ts"
import { number, table } from "./table.ts"
import type { Pace } from "./upstream.ts"
import { familyOf, weigh } from "./weigh.ts"

const { values: options } = parseArgs({ options: { quick: { type: "boolean", default: false } } })
const starts = options.quick ? 1 : 5
const idleMs = options.quick ? 500 : 5_000
const busyMs = options.quick ? 3_000 : 60_000
const busyTimes = options.quick ? 1 : 3

/** A stream takes two sockets of the gateway, and a process may open only so many files. */
const openFiles = Number(/Max open files\s+\d+\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 0)
const streams = Math.min(options.quick ? 500 : 10_000, Math.floor((openFiles - 500) / 2))
/** One event a second, so that the events that come in a second are the streams that are open. */
const slow: Pace = { events: 300, delay: 0, burst: 1, every: 1000 }
const opening = options.quick ? 2_000 : 20_000

const directory = mkdtempSync(join(tmpdir(), "gateway-footprint-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
const { child: load } = await start("load.ts")
const upstream = await start<{ readonly port: number }>("upstream.ts")
const parties = { load, upstream: upstream.child }
const key = createKey(directory)

/** Starts the gateway and waits for the line that says it listens. */
const launch = async (cache: string): Promise<Running & { readonly ms: number }> => {
  const began = performance.now()
  const env = { ...gatewayEnvironment("footprint", directory, upstream.hello.port), GATEWAY_PORT: "0" }
  const child = keep(
    spawn(process.execPath, startArguments(), {
      cwd: root,
      env: { ...env, NODE_COMPILE_CACHE: cache },
      stdio: ["ignore", "pipe", "ignore"]
    }),
    "the gateway"
  )
  const port = await new Promise<number>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the gateway ended with ${code} before it listened`)))
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = /^listening on \S+:(\d+) /.exec(line)?.[1]
      if (found !== undefined) resolve(Number(found))
    })
  })
  return { child, port, headers: { "x-api-key": key }, ms: performance.now() - began }
}

const weighed = ({ child }: Running) => {
  const all = familyOf(child.pid ?? 0).map(weigh)
  const sum = (of: "rss" | "peak") => all.reduce((total, weight) => total + weight[of], 0)
  return { rss: sum("rss"), peak: sum("peak") }
}

const during = async <A>(cache: string, use: (one: Running) => Promise<A>): Promise<A> => {
  const one = await launch(cache)
  try {
    return await use(one)
  } finally {
    await end(one.child)
  }
}

const everything = scenarios.filter(({ name }) => /-(whole|bursts)$/.test(name) && !name.startsWith("telemetry"))

const drive = async (one: Running, scenario: Scenario, callers: number, warm: number, measure: number) => {
  await ask(upstream.child, scenario.pace)
  return round(parties, scenario, "gateway", one, callers, { warm, measure })
}

/** Each surface, whole replies and streams, for its part of the minute. */
const busy = async (one: Running, ms: number) => {
  for (const scenario of everything) await drive(one, scenario, 32, 0, ms / everything.length)
  return weighed(one).rss
}

const [messages] = everything
const crowd = async (one: Running) => {
  const streaming = scenarios.find(({ name }) => name === "messages-sent") ?? messages
  if (streaming === undefined) throw new Error("there is no scenario of streams")
  const scenario: Scenario = { ...streaming, pace: slow, span: opening }
  const { eventsPerSecond, failed } = await drive(one, scenario, streams, 1.25 * opening, opening / 2)
  return { ...weighed(one), open: Math.min(streams, eventsPerSecond * (slow.every / 1000)), failed }
}

const emptyCache = () => mkdtempSync(join(directory, "cache-"))
const installed = emptyCache()
execFileSync(process.execPath, ["src/fillCache.js"], {
  cwd: root,
  env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: installed }
})
/** A copy, because Node adds to it when a process ends. */
const asInstalled = () => {
  const cache = emptyCache()
  cpSync(installed, cache, { recursive: true })
  return cache
}

const measure = async (name: string, cache: () => string) => {
  const listening: Array<number> = []
  for (let i = 0; i < starts; i++) {
    const one = await launch(cache())
    listening.push(one.ms)
    await end(one.child)
  }
  const idle = await during(cache(), async (one) => {
    await sleep(idleMs)
    return weighed(one)
  })
  const busied: Array<number> = []
  for (let i = 0; i < busyTimes; i++) busied.push(await during(cache(), (one) => busy(one, busyMs)))
  const crowded = await during(cache(), crowd)
  process.stderr.write(`compile cache ${name}: measured\n`)
  const judged = (value: number, most: number) => (value <= most ? number(value) : `**${number(value)}**`)
  const open = `${number(crowded.open)} open, ${crowded.failed} failed`
  return [
    name,
    judged(median(listening), 1000),
    judged(idle.rss, 140),
    `${judged(median(busied), 256)} (${number(Math.min(...busied))} to ${number(Math.max(...busied))})`,
    `${judged(crowded.peak, 1024)} (${crowded.open < 0.99 * streams ? `**${open}**` : open})`
  ]
}

const head = [
  "Node's compile cache",
  "listens after, ms (aim ≤ 1,000)",
  "idle, MiB (≤ 140)",
  `after ${busyMs / 1000} s at 32 callers, MiB (≤ 256), and its range`,
  `${number(streams)} open streams, peak, MiB (≤ 1,024)`
]
const rows = [await measure("empty", emptyCache), await measure("as `npm ci` leaves it", asInstalled)]
const short =
  streams < 10_000 && !options.quick
    ? `\n\nA process may open ${openFiles} files here, hence ${number(streams)} streams and not 10,000.`
    : ""
process.stdout.write(
  `${table(head, rows)}${short}\n\n${availableParallelism()} × ${cpus()[0]?.model.trim()}, Node ${process.version}; resident memory; medians of ${starts} starts and of ${busyTimes} loads; what misses its aim is **bold**.\n`
)
process.exit(0)
