/**
 * `npm run soak -- --minutes N`: the gateway in its sandbox, under a mix of everything for as long as one likes. Exits with 1 when
 * something grows (heap after a collection, open files), is lost or comes twice (events, usage records), or is logged as an
 * error.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { Agent } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import type { Memory } from "./memory.ts"
import { callOnce, type Place } from "./soakCallers.ts"

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "3" }, callers: { type: "string", default: "32" } }
})
const minutes = Number(values.minutes)
const callers = Number(values.callers)
if (!(minutes > 0) || !(callers > 0)) throw new Error("usage: npm run soak -- [--minutes 3] [--callers 32]")
/** The load pauses after each round, so that what is measured is what stays. The first two warm up. */
const rounds = Math.max(6, Math.ceil(minutes))
const warm = 2

const problems = new Map<string, number>()
const wrong = (what: string) => {
  const times = (problems.get(what) ?? 0) + 1
  problems.set(what, times)
  if (times === 1 && problems.size <= 20) console.error(`  wrong: ${what}`)
}

// Replies and records meet by their ID, whichever comes first; what has met is forgotten, so that a long run fits.
const replies = new Set<string>()
const records = new Set<string>()
let requests = 0
let left = 0
const meet = (id: string, mine: Set<string>, others: Set<string>) => {
  if (!others.delete(id)) {
    if (mine.has(id)) wrong(`${id} came twice`)
    mine.add(id)
  }
}

const directory = mkdtempSync(join(tmpdir(), "gateway-soak-"))
const here = import.meta.dirname
const child: ChildProcess = spawn(
  process.execPath,
  ["--expose-gc", "--import", join(here, "memory.ts"), join(here, "../src/main.ts"), "serve"],
  {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      GATEWAY_PORT: "0",
      GATEWAY_SANDBOX_PACE: "1 millis",
      GATEWAY_LOG_LEVEL: "warn",
      GATEWAY_LOG_FORMAT: "json",
      GATEWAY_HEARTBEAT: "1 second"
    },
    stdio: ["ignore", "pipe", "pipe", "ipc"]
  }
)
const ended = new Promise<number | null>((resolve) => child.once("exit", resolve))
process.on("exit", () => {
  child.kill("SIGKILL")
  rmSync(directory, { recursive: true, force: true })
})

const port = await new Promise<number>((resolve, reject) => {
  if (child.stdout === null || child.stderr === null) throw new Error("no pipes")
  createInterface(child.stdout).on("line", (line) => {
    const found = /^listening on \S+:(\d+) /.exec(line)?.[1]
    if (found !== undefined) resolve(Number(found))
    if (line.startsWith("{")) meet(JSON.parse(line).request_id, records, replies)
  })
  createInterface(child.stderr).on("line", (line) => {
    if (line.startsWith("{") && JSON.parse(line).level !== "error") return
    wrong(`logged: ${line.replace(/"(timestamp|request_id)":"[^"]*",?/g, "").slice(0, 500)}`)
  })
  void ended.then((code) => reject(new Error(`the gateway ended with ${code}`)))
})

const measure = (): Promise<Memory & { readonly files: number }> =>
  new Promise((resolve) => {
    child.once("message", (memory: Memory) =>
      resolve({ ...memory, files: readdirSync(`/proc/${child.pid}/fd`).length })
    )
    child.send("measure")
  })

const caller = async (place: Place, until: number) => {
  while (Date.now() < until) {
    await callOnce(place).catch((error: unknown) => wrong(`a caller failed: ${String(error)}`))
  }
}

const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1).padStart(6)} MiB`
const measured: Array<Awaited<ReturnType<typeof measure>>> = []
console.log(`${minutes} minutes, ${callers} callers, ${rounds} rounds, the first ${warm} to warm up`)
for (let round = 1; round <= rounds; round++) {
  const before = requests
  const startedAt = Date.now()
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const tally = {
    answered: (id: string) => {
      requests++
      meet(id, replies, records)
    },
    unanswered: () => void left++,
    wrong
  }
  const until = startedAt + (minutes * 60_000) / rounds
  await Promise.all(Array.from({ length: callers }, () => caller({ port, agent, tally }, until)))
  agent.destroy()
  const seconds = (Date.now() - startedAt) / 1000
  // Aborted calls have a second to reach the clouds and come to their end.
  await sleep(1500)
  const now = await measure()
  measured.push(now)
  console.log(
    `round ${String(round).padStart(3)}: ${((requests - before) / seconds).toFixed(0).padStart(5)} requests/s; heap ${mib(now.heap)}, external ${mib(now.external)}, resident ${mib(now.rss)}; ${now.files} open files; ${problems.size} problems`
  )
}

child.kill("SIGTERM")
const code = await Promise.race([ended, sleep(40_000).then(() => "no end")])
if (code !== 0) wrong(`SIGTERM gave ${code}`)

/** Later rounds against the first after the warm-up: a quarter and a little more is noise. */
const grows = (what: string, of: (memory: (typeof measured)[number]) => number, slack: number) => {
  const settled = measured.slice(warm).map(of)
  const half = Math.ceil(settled.length / 2)
  const [early, late] = [Math.max(...settled.slice(0, half)), Math.min(...settled.slice(half))]
  if (late > early * 1.1 + slack) wrong(`${what} grows: ${early} at most, then ${late} at least`)
}
grows("the heap", ({ heap, external }) => heap + external, 4 * 2 ** 20)
grows("the number of open files", ({ files }) => files, 16)
if (replies.size > 0) wrong(`${replies.size} replies have no usage record`)
if (records.size > left) wrong(`${records.size} usage records belong to no reply, but only ${left} callers left early`)

console.log(
  `${requests} replies, each with its usage record; ${left} callers left before theirs, with ${records.size} usage records`
)
for (const [what, times] of problems) console.error(`${times} x ${what}`)
process.exit(problems.size === 0 ? 0 : 1)
