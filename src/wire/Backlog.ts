/**
 * What is left to do for something that is over, such as counting it: put off for some milliseconds, and then done for several
 * together. Done for each alone, nothing that it needs is in the processor's cache any more, and whoever comes next waits for it.
 */
import { Cause, Context, Effect, Layer } from "effect"
import { gather } from "./gather.ts"

export interface Work {
  /** Puts work off. A defect is logged, and the work after it is done all the same. */
  readonly add: (work: () => void) => void
  /** Does now what was put off. */
  readonly clear: () => void
}

/** Without its layer, nothing is put off. */
export const Backlog = Context.Reference<Work>("gateway/wire/Backlog", {
  defaultValue: () => ({ add: (work) => work(), clear: () => {} })
})

/** When the layer is closed or the process ends, it does what is left; what comes later is done at once. */
export const backlogLayer: Layer.Layer<never> = Layer.effect(
  Backlog,
  Effect.gen(function* () {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const { add, flush } = yield* gather<() => void>({
      patience: 30,
      most: 16,
      take: (all) => {
        for (const work of all) {
          try {
            work()
          } catch (defect) {
            run(Effect.logError("what was left to do failed", Cause.die(defect)))
          }
        }
      }
    })
    return { add, clear: flush }
  })
)
