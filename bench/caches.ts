/**
 * `npm run bench -- --caches`: how long this machine takes to read memory, by how much of it is in use. The code and data of a request
 * are more than a core's own cache holds; what lies beyond it is shared with the other guests of a host, and so are its times.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { median } from "./quantiles.ts"
import { number, table } from "./table.ts"

const { values: options } = parseArgs({ options: { quick: { type: "boolean", default: false } } })
const sizes = [256, 512, 1024, 2048, 4096, 8192]
const walks = options.quick ? 2 : 20
const steps = options.quick ? 10_000 : 200_000

/** Of a cache's line, in numbers of 32 bits. */
const line = 16

/** Steps from line to line in an order that no processor foresees; answers nanoseconds a step. */
const walkThrough = (kib: number): (() => number) => {
  const lines = (kib * 1024) / (4 * line)
  const order = Uint32Array.from({ length: lines }, (_, i) => i)
  for (let i = lines - 1; i > 0; i--) {
    const other = Math.floor(Math.random() * (i + 1))
    ;[order[i], order[other]] = [order[other] ?? 0, order[i] ?? 0]
  }
  const next = new Int32Array(lines * line)
  for (const [i, from] of order.entries()) next[from * line] = (order[(i + 1) % lines] ?? 0) * line
  let at = 0
  return () => {
    const began = process.hrtime.bigint()
    let here = at
    for (let i = 0; i < steps; i++) here = next[here] ?? 0
    at = here
    return Number(process.hrtime.bigint() - began) / steps
  }
}

const all = sizes.map((kib) => ({ kib, walk: walkThrough(kib), times: [] as Array<number> }))
for (const { walk } of all) walk()
// In turns: what other guests do changes within seconds.
for (let i = 0; i < walks; i++) {
  for (const { walk, times } of all) times.push(walk())
  await sleep(options.quick ? 0 : 500)
}
const rows = all.map(({ kib, times }) => [
  number(kib),
  ...[Math.min(...times), median(times), Math.max(...times)].map((ns) => number(ns, 1))
])
process.stdout.write(`${table(["KiB in use", "least ns a step", "median", "most"], rows, 0)}\n`)
