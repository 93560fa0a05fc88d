/** The tables of metrics and of record fields are what the source defines. */
import { readdirSync, readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { counters, histograms, unitOf } from "../../src/telemetry/metrics.ts"
import { documentedMetrics } from "../support/metricTable.ts"
import { documentAt } from "../support/readme.ts"
import { recordTable } from "../support/recordTable.ts"

const source = new URL("../../src/", import.meta.url).pathname

it("every metric is in the table, with its kind and unit, and no other", () => {
  const defined = readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => [
      ...readFileSync(source + file, "utf8").matchAll(/\b(counter|gauge|histogram)\(\s*"((?:gateway_|gen_ai\.)[^"]+)"/g)
    ])
    .map(([, kind = "", name = ""]) => [name, `${kind} ${unitOf(name)}`] as const)
    .concat(Object.keys(counters).map((name) => [name, `counter ${unitOf(name)}`]))
    .concat(Object.keys(histograms).map((name) => [name, `histogram ${unitOf(name)}`]))
  const documented = [...documentedMetrics].map(([name, { kind, unit }]) => [name, `${kind} ${unit}`] as const)
  assert.deepStrictEqual(Object.fromEntries(documented), Object.fromEntries(defined))
})

it("the table of record fields is made from their schema", () => {
  const { text } = documentAt("docs/operation.md")
  assert.isTrue(text.includes(recordTable()), `docs/operation.md#usage-records must have:\n${recordTable()}`)
})
