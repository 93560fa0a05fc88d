/** What a process does once it serves, for the next start and for its memory. */
import { flushCompileCache } from "node:module"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { type Duration, Effect, Option } from "effect"

/** A collection that gives memory back to the system; only this kind does, and V8 has no other way to ask for it. */
const collect = () => {
  setFlagsFromString("--expose-gc")
  const gc: NodeJS.GCFunction = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  gc({ type: "major", execution: "sync", flavor: "last-resort" })
}

/** Waits until so long a time had the share of work that is looked for. */
const until = (length: Duration.Input, found: (share: number) => boolean) =>
  Effect.suspend(() => {
    const before = performance.eventLoopUtilization()
    return Effect.sync(() => found(performance.eventLoopUtilization(before).utilization)).pipe(Effect.delay(length))
  }).pipe(Effect.repeat({ until: (is) => is }))

/**
 * The compile cache is written now, as a process that is killed writes none. In the first quiet second the garbage of the
 * start is collected, which took 60 ms and brought an idle gateway from 146 to 112 MiB; one that is loaded at once goes without.
 * Later, what a load has left is collected in a quiet minute: no sooner, as compiled code is dropped with it (`installed.js`).
 */
export const settle = Effect.gen(function* () {
  flushCompileCache()
  const firstSecond = until("1 second", (share) => share < 0.05)
  if (Option.isSome(yield* Effect.timeoutOption(firstSecond, "10 seconds"))) collect()
  while (true) {
    yield* until("1 minute", (share) => share >= 0.01)
    yield* until("1 minute", (share) => share < 0.01)
    collect()
  }
})
