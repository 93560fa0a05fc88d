/** Each alert fires when it should, and no other does: judged by Prometheus' own tests of rules. */
import { execFile, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { type Manifest, root, yaml } from "../support/deployFiles.ts"
import { alertScenarios, type Scenario } from "./alertScenarios.ts"

const file = join(root, "deploy/helm/files/alerts.yaml")

/** A gateway runs, where a scenario does not say otherwise. */
const running = (series: Scenario["series"]): Scenario["series"] =>
  Object.keys(series).some((name) => name.startsWith("gateway_requests_in_flight"))
    ? {}
    : { gateway_requests_in_flight: "0x500" }

/** A file of tests by https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/ */
const testsOf = (scenarios: ReadonlyArray<Scenario>, minutes: number, evaluation: number) => ({
  rule_files: [file],
  evaluation_interval: `${evaluation}m`,
  tests: scenarios.map(({ because, end, fires, series }) => ({
    name: `${fires ?? "none"}: ${because}`,
    interval: `${minutes}m`,
    input_series: Object.entries({ ...running(series), ...series }).map(([series, values]) => ({ series, values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${end * minutes}m`,
        exp_samples: fires === undefined ? [] : [{ labels: `{alertname="${fires}"}`, value: 1 }]
      }
    ]
  }))
})

describe("the alerts", () => {
  it("are each tried, and each also with what must not set it off", () => {
    const alerts = yaml("deploy/helm/files/alerts.yaml").groups.flatMap(({ rules }: Manifest) => rules)
    assert.sameMembers(
      [...new Set(alertScenarios.flatMap(({ fires = [] }) => fires))],
      alerts.map(({ alert }: Manifest) => alert)
    )
    const metricsOf = ({ series }: Scenario) => Object.keys(series).map((name) => name.replace(/\{.*/, ""))
    const silent = new Set(alertScenarios.filter(({ fires }) => fires === undefined).flatMap(metricsOf))
    for (const scenario of alertScenarios) assert.includeMembers([...silent], metricsOf(scenario), scenario.fires)
  })

  const there = spawnSync("promtool", ["--version"]).status === 0
  // The rules take most of the time: every second step is enough.
  it.runIf(there).each([
    ["within an hour", 1, 2, false],
    ["compared with the day before", 4, 8, true]
  ] as const)(
    "fire when they should: %s",
    async (_, minutes, evaluation, daily) => {
      const folder = mkdtempSync(join(tmpdir(), "gateway-alerts-"))
      try {
        const scenarios = alertScenarios.filter((scenario) => (scenario.daily ?? false) === daily)
        const tests = join(folder, "tests.yaml")
        writeFileSync(tests, JSON.stringify(testsOf(scenarios, minutes, evaluation)))
        // Most of its time was collecting garbage, beside the evaluation of the rules.
        await promisify(execFile)("promtool", ["test", "rules", tests], { env: { ...process.env, GOGC: "400" } })
      } finally {
        rmSync(folder, { recursive: true })
      }
    },
    60_000
  )
})
