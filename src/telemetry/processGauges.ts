/** Gauges of the process itself: its memory, and how late its event loop is. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Context, Effect, Layer, Metric, Schedule } from "effect"

const memory = Metric.gauge("gateway_memory_bytes", {
  description: "Memory of the process, by kind: resident, heap (used), external (buffers and others outside the heap)"
})
const lag = Metric.gauge("gateway_event_loop_lag_seconds", {
  description: "How late the event loop came to its timers in the last five seconds: the 99th percentile"
})

/** Between two looks at the loop, in milliseconds; its histogram counts them as a part of each. */
const resolution = 20

export const processGauges = Layer.effectDiscard(
  Effect.gen(function* () {
    const delay = monitorEventLoopDelay({ resolution })
    delay.enable()
    yield* Effect.addFinalizer(() => Effect.sync(() => delay.disable()))
    const measure = Effect.sync(() => {
      const { external, heapUsed, rss } = process.memoryUsage()
      for (const [kind, bytes] of Object.entries({ resident: rss, heap: heapUsed, external })) {
        Metric.withAttributes(memory, { kind }).updateUnsafe(bytes, Context.empty())
      }
      // Undefined while nothing was measured, which the histogram says as 0.
      lag.updateUnsafe(Math.max(0, delay.percentile(99) / 1e9 - resolution / 1000), Context.empty())
      delay.reset()
    })
    yield* measure.pipe(Effect.repeat(Schedule.spaced("5 seconds")), Effect.forkScoped)
  })
)
