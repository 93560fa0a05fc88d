/**
 * `node bench/guards.ts`: the time that a guard on loopback adds. One caller asks gateways with and without guards in turn, so that
 * what disturbs one disturbs all; medians count.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { messages } from "./calls.ts"
import { createKey, startGateway } from "./gateway.ts"
import { end, makeDirectory, start } from "./processes.ts"
import { median } from "./quantiles.ts"
import { startCloud } from "./subjects.ts"
import { number, table } from "./table.ts"

const rounds = Number(process.argv[2] ?? 600)
const warm = Number(process.argv[3] ?? 1_500)
const directory = makeDirectory()
const cloud = await startCloud()
await cloud.pace({ events: 20, burst: 20, every: 0 })
const detector = await start("detector.ts")

const withGuard = (when: string) => {
  const file = join(directory, `${when}.json`)
  const guard = { name: "bench", url: `http://127.0.0.1:${detector.port}`, when, action: "redact" }
  writeFileSync(file, JSON.stringify({ version: 1, guards: [guard] }), { mode: 0o600 })
  return { GATEWAY_GUARDS_FILE: file }
}
const key = createKey(directory)
const variants = {
  "no guard": {},
  "of requests": withGuard("before"),
  "of replies": withGuard("after"),
  "of both": withGuard("both")
}
const running: Array<{ readonly name: string } & Awaited<ReturnType<typeof startGateway>>> = []
for (const [name, env] of Object.entries(variants)) {
  const gateway = await startGateway({ name: name.replaceAll(" ", "-"), directory, cloud: cloud.port, env })
  running.push({ name, ...gateway })
}

const ask = async (port: number, stream: boolean): Promise<number> => {
  const { body, path } = messages("claude-sonnet-4-5:il5")(stream)
  const at = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status}: ${text.slice(0, 500)}`)
  return performance.now() - at
}

const rows: Array<ReadonlyArray<string>> = []
for (const stream of [false, true]) {
  const times = new Map(running.map(({ name }) => [name, [] as Array<number>]))
  for (let round = -warm; round < rounds; round++) {
    for (const { name, port } of running) {
      const time = await ask(port, stream)
      if (round >= 0) times.get(name)?.push(time)
    }
  }
  const without = median(times.get("no guard") ?? [])
  for (const [name, own] of times) {
    rows.push([
      stream ? "stream of 20 events" : "whole reply",
      name,
      number(median(own), 2),
      number(median(own) - without, 2)
    ])
  }
}
process.stdout.write(`${table(["reply", "guard", "ms", "added ms"], rows)}\n`)
await end(cloud.child, detector.child, ...running.map(({ child }) => child))
