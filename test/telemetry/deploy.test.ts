import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Yaml } from "effect/encoding"
import { Outcome } from "../../src/catalog/RequestFacts.ts"
import { prometheusName } from "../../src/telemetry/metrics.ts"
import { documentedMetrics } from "../support/metricTable.ts"

type Fields = Readonly<Record<string, ReturnType<typeof JSON.parse>>>

const root = new URL("../..", import.meta.url).pathname
const read = (path: string) => readFileSync(`${root}${path}`, "utf8")
const yaml = (path: string): Fields => {
  const value = Yaml.parse(read(path))
  assert.isObject(value, path)
  return value as Fields
}

describe("otel-collector.yaml", () => {
  const config = yaml("otel-collector.yaml")
  const { receivers, processors, exporters, extensions, service } = config as Record<string, Fields>

  it("has only components of the contrib distribution", () => {
    const known: Fields = {
      receivers: ["otlp"],
      processors: ["memory_limiter", "transform", "batch"],
      exporters: ["otlp_http", "prometheus", "debug"],
      extensions: ["health_check"]
    }
    assert.deepStrictEqual(Object.keys(config).sort(), [...Object.keys(known), "service"].sort())
    for (const kind in known) {
      for (const name in config[kind]) assert.include(known[kind], name.split("/")[0], `${kind}: ${name}`)
    }
  })

  it("uses all that it defines, and defines all that it uses", () => {
    const pipelines: ReadonlyArray<Fields> = Object.values(service?.pipelines)
    assert.deepStrictEqual(Object.keys(service?.pipelines), ["traces", "metrics", "logs"])
    for (const [kind, defined] of Object.entries({ receivers, processors, exporters })) {
      const used = new Set(pipelines.flatMap((pipeline) => pipeline[kind]))
      assert.deepStrictEqual([...used].sort(), Object.keys(defined ?? {}).sort(), kind)
    }
    assert.deepStrictEqual(service?.extensions, Object.keys(extensions ?? {}))
  })

  it("limits memory first, strips before anything is kept, batches last", () => {
    for (const [name, { processors }] of Object.entries<Fields>(service?.pipelines)) {
      assert.deepStrictEqual(processors, ["memory_limiter", "transform/strip", "batch"], name)
    }
    assert.strictEqual(processors?.["transform/strip"].error_mode, "propagate")
  })

  it("receives both protocols, and lets the environment say where", () => {
    const { grpc, http } = receivers?.otlp.protocols ?? {}
    assert.match(grpc.endpoint, /^\$\{env:\w+:-0\.0\.0\.0:4317\}$/)
    assert.match(http.endpoint, /^\$\{env:\w+:-0\.0\.0\.0:4318\}$/)
    assert.match(exporters?.otlp_http.endpoint, /^\$\{env:\w+:-https?:\/\/\S+\}$/)
  })

  const patterns = (kind: string, context: string): ReadonlyArray<RegExp> =>
    processors?.["transform/strip"][kind]
      .filter((group: Fields) => group.context === context)
      .flatMap(({ statements }: Fields) => statements)
      .map((statement: string) => {
        const pattern = /^delete_matching_keys\(attributes, "(.+)"\)$/.exec(statement)?.[1]
        assert.isString(pattern, statement)
        return new RegExp(pattern ?? "")
      })

  const secret = [
    ...["gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"],
    ...["gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.prompt.0.content", "gen_ai.completion"],
    ...["http.request.header.x-api-key", "http.response.header.set-cookie", "url.query", "url.full", "client.address"]
  ]
  const ours = [
    ...["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.finish_reasons"],
    ...["gen_ai.usage.input_tokens", "gen_ai.usage.reasoning.output_tokens", "gen_ai.token.modality", "error.type"],
    ...[
      "http.request.method",
      "http.route",
      "http.response.status_code",
      "url.path",
      "server.address",
      "gateway.level"
    ],
    ...["gateway.request_id", "request_id", "surface", "outcome", "user_agent.original"]
  ]
  it("strips content, headers, queries and callers' addresses, and nothing that the gateway sends", () => {
    for (const [kind, context] of [
      ["trace_statements", "span"],
      ["log_statements", "log"]
    ] as const) {
      const strips = (name: string) => patterns(kind, context).some((pattern) => pattern.test(name))
      for (const name of secret) assert.isTrue(strips(name), `${kind}: ${name}`)
      for (const name of ours) assert.isFalse(strips(name), `${kind}: ${name}`)
    }
    const ofEvents = (name: string) => patterns("trace_statements", "spanevent").some((pattern) => pattern.test(name))
    assert.isTrue(["gen_ai.input.messages", "exception.message"].every(ofEvents))
    const ofPoints = (name: string) => patterns("metric_statements", "datapoint").some((pattern) => pattern.test(name))
    assert.isTrue(["client.address", "url.query"].every(ofPoints))
    assert.isFalse(ours.filter((name) => !name.startsWith("url.")).some(ofPoints))
  })
})

/** The metrics that the code defines (tables.test.ts), as Prometheus sees them. */
const metrics: ReadonlySet<string> = new Set(
  [...documentedMetrics].flatMap(([id, { kind }]) => {
    const name = prometheusName(id)
    return kind === "histogram" ? ["bucket", "sum", "count"].map((part) => `${name}_${part}`) : [name]
  })
)

const labels = new Set([
  "le",
  ...[...documentedMetrics.values()].flatMap(({ labels }) => labels.map((label) => label.replaceAll(".", "_")))
])
const outcomes: ReadonlySet<string> = new Set(Outcome.literals)

const checkQuery = (query: string) => {
  const inBraces = [...query.matchAll(/\{([^}]*)\}/g)].map(([, inside = ""]) => inside)
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(/,\s*/))
  const matched = inBraces.flatMap((inside) => [...inside.matchAll(/(\w+)\s*[!=]/g)].map(([, label = ""]) => label))
  for (const label of [...grouped, ...matched]) assert.isTrue(labels.has(label), `label ${label} in ${query}`)
  for (const [, values = ""] of query.matchAll(/outcome(?:=|!=|=~)"([^"]+)"/g)) {
    for (const value of values.split("|")) assert.isTrue(outcomes.has(value), `outcome ${value} in ${query}`)
  }
  const bare = query.replace(/\{[^}]*\}/g, "").replace(/\bby \([^)]*\)/g, "")
  const used = bare.match(/\b(gateway|gen_ai)_\w+/g) ?? []
  assert.isAbove(used.length, 0, query)
  for (const name of used) assert.isTrue(metrics.has(name), `${name} in ${query}`)
  const opened = query.match(/[([{]/g)?.length
  assert.strictEqual(opened, query.match(/[)\]}]/g)?.length, query)
  return used
}

describe("deploy/helm/files", () => {
  it("knows the metrics of the code", () => {
    assert.isTrue(metrics.has("gateway_requests_total"))
    assert.isTrue(metrics.has("gen_ai_client_inference_duration_seconds_bucket"))
    assert.isTrue(metrics.has("gen_ai_client_inference_usage_input_tokens_total"))
  })

  it("the dashboard asks only for what there is, and for all of it", () => {
    const { panels } = JSON.parse(read("deploy/helm/files/dashboard.json"))
    assert.strictEqual(new Set(panels.map(({ id }: Fields) => id)).size, panels.length)
    const queries = panels.flatMap(({ targets = [] }: Fields) => targets.map(({ expr }: Fields) => expr))
    const used = new Set(queries.flatMap((query: string) => checkQuery(query)))
    const unused = [...metrics].filter(
      (name) => !used.has(name) && !used.has(name.replace(/_(sum|count|bucket)$/, "_bucket"))
    )
    assert.deepStrictEqual(unused, [])
  })

  it("the alerts ask only for what there is", () => {
    const { groups } = yaml("deploy/helm/files/alerts.yaml")
    const rules: ReadonlyArray<Fields> = groups.flatMap(({ rules }: Fields) => rules)
    assert.isAbove(rules.length, 5)
    assert.strictEqual(new Set(rules.map(({ alert }) => alert)).size, rules.length)
    for (const { alert, expr, labels, annotations } of rules) {
      checkQuery(expr)
      assert.include(["warning", "critical"], labels.severity, alert)
      assert.isString(annotations.summary)
      assert.isString(annotations.description)
    }
  })
})
