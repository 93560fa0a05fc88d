/** A process that sums that many usage records, and checks the chain of that many, without keeping them. */
import { recordLine } from "../../src/limits/UsageRecord.ts"
import { makeChain } from "../../src/limits/usageChain.ts"
import { makeChainChecking } from "../../src/operators/usage/chainCheck.ts"
import { makeLines } from "../../src/operators/usage/readFiles.ts"
import { makeSumming } from "../../src/operators/usage/summary.ts"
import { record } from "./records.ts"

const sums = Number(process.argv[2])
const checks = Number(process.argv[3])
const encoder = new TextEncoder()

const summing = makeSumming({ by: ["key", "surface"] })
const summed = makeLines((line, number) => summing.line(line, { file: "f", line: number }))
const block = encoder.encode(
  Array.from({ length: 1200 }, (_, n) => `${recordLine(record(n, { key_id: `key_${n % 120}` }))}\n`).join("")
)
for (let n = 0; n < sums; n += 1200) summed.push(block)
summed.end()

const checking = makeChainChecking()
const checked = makeLines((line, number) => checking.line(line, { file: "f", line: number }))
const chain = makeChain()
const one = record(1)
for (let n = 0; n < checks; n += 500) {
  checked.push(encoder.encode(Array.from({ length: 500 }, () => chain.link(one)).join("")))
}
checked.end()

const { groups, total } = summing.result()
const { breaks, records } = checking.result()
console.log(JSON.stringify({ sums: total.requests, groups: groups.length, checked: records, breaks }))
