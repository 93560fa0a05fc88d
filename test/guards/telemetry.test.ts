/** Calls to guards have spans and are counted, and say nothing of what they saw. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { type Detector, guardsFile, startDetector } from "../support/detector.ts"
import { guardedCases } from "../support/guarded.ts"
import { open } from "../support/http.ts"
import { type Receiver, startReceiver } from "../telemetry/receiver.ts"
import { caller, exportTo, type GatewayProcess, startProcess } from "../telemetry/support.ts"

let detector: Detector
let receiver: Receiver
let gateway: GatewayProcess
let file: ReturnType<typeof guardsFile>
beforeAll(async () => {
  detector = await startDetector()
  receiver = await startReceiver()
  file = guardsFile([{ name: "pii", url: detector.url, when: "before", action: "redact" }])
  gateway = await startProcess({
    ...exportTo(receiver.url),
    GATEWAY_GUARDS_FILE: file.path,
    GATEWAY_METRICS_PORT: "0"
  })
})
afterAll(async () => {
  await gateway.stop()
  await receiver.stop()
  await detector.stop()
  file.remove()
})

it("in the caller's trace, with the guard's name and what it answered", async () => {
  const trace = caller()
  const body = guardedCases[0]?.ask("My number is 123-45-6789.")
  const response = await open(`${gateway.url}/v1/chat/completions`, body, trace.headers)
  assert.strictEqual(response.status, 200)
  const span = await receiver.until(() =>
    receiver.spans.find(({ name, traceId }) => traceId === trace.traceId && name === "guard pii")
  )
  assert.deepInclude(span.attributes, {
    "gateway.guard.name": "pii",
    "gateway.guard.input": "request",
    "gateway.guard.outcome": "intervened",
    "gateway.level": "il5",
    "http.response.status_code": 200
  })
  assert.notInclude(JSON.stringify(span), "45-6789")
  const metrics = await (await fetch(gateway.metrics())).text()
  assert.match(
    metrics,
    /gateway_guard_duration_seconds_count\{(?=[^}]*guard="pii")(?=[^}]*input="request")(?=[^}]*outcome="intervened")[^}]*\} 1\b/
  )
})
