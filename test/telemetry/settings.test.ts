import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { exportedSignals } from "../../src/telemetry/telemetryLayer.ts"
import { open as post } from "../support/http.ts"
import { type Receiver, startReceiver } from "./receiver.ts"
import { caller, exportTo, message, startProcess } from "./support.ts"

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" }

describe("what is exported", () => {
  const cases: ReadonlyArray<readonly [name: string, env: Record<string, string>, signals: ReadonlyArray<string>]> = [
    ["nothing without an endpoint", {}, []],
    ["everything with one", endpoint, ["traces", "metrics", "logs"]],
    ["an empty variable is an absent one", { OTEL_EXPORTER_OTLP_ENDPOINT: "", OTEL_TRACES_EXPORTER: "" }, []],
    ["so is a blank one", { OTEL_EXPORTER_OTLP_ENDPOINT: " ", OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "\t" }, []],
    ["one signal with its own", { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://127.0.0.1:1" }, ["logs"]],
    ["nothing when the SDK is disabled", { ...endpoint, OTEL_SDK_DISABLED: "true" }, []],
    ["`none` leaves one out", { ...endpoint, OTEL_METRICS_EXPORTER: "none" }, ["traces", "logs"]],
    ["only otlp can be had", { ...endpoint, OTEL_TRACES_EXPORTER: "console" }, ["metrics", "logs"]],
    ["otlp among others", { ...endpoint, OTEL_TRACES_EXPORTER: "console, otlp" }, ["traces", "metrics", "logs"]]
  ]
  for (const [name, env, signals] of cases) {
    it(name, () => assert.deepStrictEqual([...exportedSignals(env)], signals))
  }
})

describe("the process", () => {
  let receiver: Receiver
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.stop())

  it("samples as it is told, says what it cannot do, sends its headers, and flushes when it stops", async () => {
    const gateway = await startProcess({
      ...exportTo(receiver.url),
      // Beyond Node's timers.
      OTEL_BSP_SCHEDULE_DELAY: "3000000000",
      OTEL_BSP_EXPORT_TIMEOUT: "3000000000",
      OTEL_BLRP_SCHEDULE_DELAY: "3000000000",
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0",
      OTEL_SERVICE_NAME: "gateway-two",
      OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=blue",
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_METRICS_EXPORTER: "none"
    })
    const sampled = caller()
    const unsampled = caller(false)
    await (await post(`${gateway.url}/v1/messages`, message("mine"))).text()
    await (await post(`${gateway.url}/v1/messages`, message("no"), unsampled.headers)).text()
    await (await post(`${gateway.url}/v1/messages`, message("yes"), sampled.headers)).text()
    assert.strictEqual(receiver.spans.length, 0)
    assert.strictEqual(await gateway.stop(), 0)
    assert.deepStrictEqual(receiver.spans.map(({ name }) => name).sort(), [
      "POST /v1/messages",
      "chat claude-sonnet-4-5"
    ])
    assert.isTrue(receiver.spans.every(({ traceId }) => traceId === sampled.traceId))
    assert.strictEqual(receiver.spans[0]?.resource["service.name"], "gateway-two")
    assert.isTrue(receiver.headers.every((headers) => headers["x-tenant"] === "blue"))
    assert.strictEqual(receiver.points().length, 0)
    assert.notMatch(gateway.stderr(), /TimeoutOverflowWarning/)
    assert.include(gateway.stderr(), sampled.traceId)
    assert.match(gateway.stderr(), /OTEL_EXPORTER_OTLP_PROTOCOL: traces go by http\/protobuf, not by grpc/)
  })

  it("goes on without its collector, and says so", async () => {
    const gateway = await startProcess({ ...exportTo("http://127.0.0.1:9"), OTEL_EXPORTER_OTLP_TIMEOUT: "300" })
    assert.strictEqual((await post(`${gateway.url}/v1/messages`, message("Hello"))).status, 200)
    const line = /telemetry: an export failed \([^)]*ECONNREFUSED[^)]*\); check the collector and its OTEL_ settings/
    await receiver.until(() => (line.test(gateway.stderr()) ? true : undefined))
    assert.strictEqual(await gateway.stop(), 0)
  })
})
