/** More records than the memory holds are summed and checked: nothing is kept of each. */
import { assert, it } from "@effect/vitest"
import { recordLine } from "../../src/limits/UsageRecord.ts"
import { makeChain } from "../../src/limits/usageChain.ts"
import { makeChainChecking } from "../../src/operators/usage/chainCheck.ts"
import { makeLines, type Place } from "../../src/operators/usage/readFiles.ts"
import { makeSumming } from "../../src/operators/usage/summary.ts"
import { heap } from "../support/heap.ts"
import { record } from "./records.ts"

type Take = (line: string | undefined, place: Place) => void

/** What stays in the heap of each of many lines, in bytes. */
const keptOfEach = (take: Take, lineOf: (n: number) => string): number => {
  const lines = makeLines((line, number) => take(line, { file: "f", line: number }))
  const push = (from: number, to: number) => {
    for (let n = from; n < to; n++) lines.push(Buffer.from(lineOf(n)))
  }
  push(0, 4000)
  const before = heap()
  push(4000, 24_000)
  const kept = (heap() - before) / 20_000
  lines.end()
  return kept
}

it("are summed", () => {
  const summing = makeSumming({ by: ["key", "surface"] })
  assert.isBelow(
    keptOfEach(summing.line, (n) => `${recordLine(record(n, { key_id: `key_${n % 120}` }))}\n`),
    8
  )
  const { groups, total } = summing.result()
  assert.deepEqual([total.requests, groups.length], [24_000, 120])
})

it("are checked", () => {
  const checking = makeChainChecking()
  const chain = makeChain()
  assert.isBelow(
    keptOfEach(checking.line, (n) => chain.link(record(n))),
    8
  )
  const { breaks, records } = checking.result()
  assert.deepEqual([breaks, records], [0, 24_000])
})
