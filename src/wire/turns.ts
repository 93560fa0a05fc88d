/**
 * Work that would hold up other requests is done in slices: at most a few milliseconds of it in one turn of the event loop,
 * however many requests have such work, and each in its turn.
 */
import { Effect } from "effect"
import type { Slices } from "./slices.ts"

/** Does a slice; true when nothing is left to do. A slice takes about a millisecond. */
export type Step = () => boolean

interface Job {
  step: Step | undefined
  readonly done: (effect: Effect.Effect<void>) => void
}

/** Milliseconds that all slices of one turn may begin in. */
const share = 4

const waiting: Array<Job> = []
let running = false

const turn = (): void => {
  const until = performance.now() + share
  do {
    const job = waiting.shift()
    if (job === undefined) break
    // One that was given up has no step any more.
    if (job.step === undefined) continue
    try {
      if (job.step()) job.done(Effect.void)
      else waiting.push(job)
    } catch (defect) {
      job.done(Effect.die(defect))
    }
  } while (performance.now() < until)
  running = waiting.length > 0
  if (running) setImmediate(turn)
}

/** Runs the steps, each in a turn; an interruption ends them. */
export const inTurns = (step: Step): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const job: Job = { step, done: resume }
    waiting.push(job)
    if (!running) {
      running = true
      setImmediate(turn)
    }
    return Effect.sync(() => {
      job.step = undefined
    })
  })

/** One step that cannot be divided, in a turn of its own. */
export const inOneTurn = <A>(run: () => A): Effect.Effect<A> =>
  Effect.suspend(() => {
    let value: { readonly of: A } | undefined
    return Effect.map(
      inTurns(() => {
        value = { of: run() }
        return true
      }),
      () => (value as { readonly of: A }).of
    )
  })

/** A slice in each turn. */
export const inSlices = <A>(slices: Slices<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    let last = slices.next()
    if (last.done === true) return Effect.succeed(last.value)
    const step = (): boolean => {
      last = slices.next()
      return last.done === true
    }
    return Effect.map(inTurns(step), () => last.value as A)
  })
