import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { MetricsPort, prometheusLayer } from "../../src/telemetry/prometheus.ts"
import { raw } from "../support/http.ts"

it.live("of many requests on a connection, the first are answered on the port of metrics, too", () =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logs = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    const given = prometheusLayer({ host: "127.0.0.1", port: 0 }).pipe(Layer.provide(logs))
    const { serve } = Context.get(yield* Layer.build(given), MetricsPort)
    let asked = 0
    yield* serve("/asked", (_, response) => void response.end(String(++asked)))
    const caller = raw(Number(/:(\d+)\/metrics/.exec(lines.join("\n"))?.[1]))
    caller.write("GET /asked HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(1000))
    yield* Effect.promise(() => caller.closed())
    assert.isAtLeast(asked, 1)
    assert.isAtMost(asked, 20)
  }).pipe(Effect.scoped)
)
