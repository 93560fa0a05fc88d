/** Gauges of files, certificates, records that wait, and the process. */
import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { TestClock } from "effect/testing"
import { endsIn } from "../../src/identity/certificate.ts"
import { makeUsageLog } from "../../src/limits/UsageLog.ts"
import { processGauges } from "../../src/telemetry/processGauges.ts"
import { watchFile } from "../../src/watchFile.ts"
import { record } from "../usage/records.ts"

/** The value of a gauge with these attributes. */
const gauge = (id: string, attributes: Readonly<Record<string, string>> = {}) =>
  Effect.map(Metric.snapshot, (metrics) => {
    const found = metrics.find(
      (metric) =>
        metric.id === id && Object.entries(attributes).every(([name, value]) => metric.attributes?.[name] === value)
    )
    return found === undefined ? undefined : Number(Object(found.state).value)
  })
const day = 86_400_000

describe("the gauges", () => {
  it.effect("say when a file was last good, and how long its certificates are", () =>
    Effect.gen(function* () {
      let text = "one"
      const read = Effect.suspend(() => (text === "" ? Effect.fail({ message: "gone" }) : Effect.succeed(text)))
      yield* watchFile({
        kind: "certificate",
        path: "p",
        read,
        initial: yield* read,
        version: (read) => read,
        // A chain of two, and a bundle whose first certificate is over on the second day.
        ends: (read) => ({
          certificate: [[(read === "one" ? 10 : 20) * day], [30 * day]],
          "client-ca": [[5 * day, 1.5 * day]],
          identity: read === "none" ? [] : [[1.5 * day], [30 * day]],
          guards: []
        }),
        every: "1 hour",
        take: () => Effect.void,
        complaint: (message) => message
      })
      const all = Effect.all([
        gauge("gateway_file_read_timestamp_seconds", { kind: "certificate" }),
        ...["certificate", "client-ca", "identity", "guards"].map((kind) =>
          gauge("gateway_certificate_expiry_days", { kind })
        )
      ])
      assert.deepStrictEqual(yield* all, [0, 10, 1.5, 1.5, undefined])
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* all, [86_400, 9, 0.5, 0.5, undefined])
      text = "two"
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* all, [2 * 86_400, 18, 3, -0.5, undefined])
      text = ""
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* all, [2 * 86_400, 18, 3, -0.5, undefined])
      text = "none"
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* all, [4 * 86_400, 16, 1, undefined, undefined])
    }).pipe(Effect.scoped)
  )

  it("read the ends of all certificates of a text", () => {
    const made = (days: string) =>
      execFileSync(
        "openssl",
        [
          ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
          ...["-subj", "/CN=x", "-days", days, "-keyout", "/dev/null"]
        ],
        { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }
      )
    const [long = 0, short = 0] = endsIn(made("90") + made("30"))
    assert.closeTo((long - Date.now()) / day, 90, 0.1)
    assert.closeTo((short - Date.now()) / day, 30, 0.1)
    assert.deepStrictEqual(endsIn("x"), [])
  })

  it.effect("say how many records wait for a log that takes none", () =>
    Effect.gen(function* () {
      const log = yield* makeUsageLog(() => Effect.never, { log: "audit", flush: 0 })
      // The first is on its way to the sink before the others come.
      log.record(record(1))
      yield* TestClock.adjust("1 second")
      for (const n of [2, 3, 4]) log.record(record(n))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* gauge("gateway_records_waiting", { log: "audit" }), 3)
    }).pipe(Effect.scoped)
  )

  it.live("say how much memory the process has, and how late its loop is", () =>
    Effect.gen(function* () {
      yield* Layer.build(processGauges)
      yield* Effect.sleep("50 millis")
      for (const kind of ["resident", "heap", "external"]) {
        assert.isAbove((yield* gauge("gateway_memory_bytes", { kind })) ?? 0, 1_000)
      }
      assert.isAtLeast((yield* gauge("gateway_event_loop_lag_seconds")) ?? -1, 0)
    }).pipe(Effect.scoped)
  )
})
