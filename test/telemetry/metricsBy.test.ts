import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { RequestRecord } from "../../src/http/RequestRecord.ts"
import { type MetricsBy, recordRequest } from "../../src/telemetry/metrics.ts"

const facts = (surface: "chat" | "messages" | "responses", team: string | undefined) => {
  const fields = { id: "r", startedAt: 0, method: "POST", path: "/", source: undefined, surface }
  const made = new RequestRecord(fields)
  made.status = 200
  made.caller = { id: "key_1", name: "one", team: team === undefined ? undefined : { name: team } }
  return made
}

describe("GATEWAY_METRICS_BY", () => {
  it.effect.each([
    ["team", "chat", { team: "blue" }],
    ["key", "messages", { team: "blue", key: "key_1" }],
    ["none", "responses", {}]
  ] as const)("%s", ([by, surface, labels]: readonly [MetricsBy, "chat" | "messages" | "responses", object]) =>
    Effect.gen(function* () {
      recordRequest(by, facts(surface, "blue"), "ok", 1, { input: 7, output: 3 })
      recordRequest(by, facts(surface, "blue"), "quota", 1, undefined)
      const all = yield* Metric.snapshot
      const found = (id: string) => all.filter((metric) => metric.id === id).map(({ attributes }) => attributes ?? {})
      assert.deepInclude(found("gateway_requests_total"), { surface, status: "200", outcome: "ok", ...labels })
      assert.deepInclude(found("gateway_tokens_total"), { type: "input", ...labels })
      assert.deepInclude(found("gateway_tokens_total"), { type: "output", ...labels })
    })
  )

  it.effect("key, but of callers with tokens and certificates, who may be any number", () =>
    Effect.gen(function* () {
      for (let n = 0; n < 5; n++) {
        const id = `jwt_${String(n).repeat(24)}`
        const refused = facts("chat", undefined)
        refused.caller = undefined
        refused.refusedId = id
        recordRequest("key", refused, "forbidden", 1, undefined)
        const served = facts("chat", undefined)
        served.caller = { id, name: "n", team: undefined }
        recordRequest("key", served, "forbidden", 1, undefined)
      }
      const all = yield* Metric.snapshot
      const found = all.filter(({ attributes }) => attributes?.outcome === "forbidden")
      assert.isNotEmpty(found)
      assert.isEmpty(found.filter(({ attributes }) => attributes?.key?.startsWith("jwt_")))
    })
  )
})
