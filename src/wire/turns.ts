/**
 * Long work is done in slices, so that no request holds up the others: each turn of the event loop gives such work a few
 * milliseconds in all, however many requests have some, and takes them in order.
 */
import { Effect } from "effect"
import { type Pause, pausing, type Slices } from "./slices.ts"

/** Does one slice of about a millisecond; true when nothing remains to be done. */
export type Step = () => boolean

interface Job {
  /** Undefined once the job was given up. */
  step: Step | undefined
  readonly done: (effect: Effect.Effect<void>) => void
}

/** Milliseconds that slices may take in one turn of the event loop. */
const share = 4

const waiting: Array<Job> = []
/** What slices have taken of this turn; undefined before the first. */
let spent: number | undefined
/** When the slice that runs began. */
let since: number | undefined

/** Its end follows, where jobs that wait go on. */
const beginTurn = (): void => {
  if (spent !== undefined) return
  spent = 0
  setImmediate(endTurn)
}

/** Runs a slice; its time counts. One inside of another is a part of it. */
const run = <A>(slice: () => A): A => {
  if (since !== undefined) return slice()
  beginTurn()
  since = performance.now()
  try {
    return pausing(turnEnds, slice)
  } finally {
    spent = (spent ?? 0) + performance.now() - since
    since = undefined
  }
}

const isSpent = (): boolean => (spent ?? 0) + (since === undefined ? 0 : performance.now() - since) >= share

const endTurn = (): void => {
  spent = undefined
  while (waiting.length > 0 && !isSpent()) {
    const job = waiting.shift()
    if (job?.step === undefined) continue
    try {
      // What follows on it runs here, and counts as well.
      run(() => (job.step?.() === true ? job.done(Effect.void) : waiting.push(job)))
    } catch (defect) {
      job.done(Effect.die(defect))
    }
  }
}

const queued = (step: Step): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const job: Job = { step, done: resume }
    waiting.push(job)
    // The turn in which it was found to be too much may be over: the fiber may have given way to others meanwhile.
    beginTurn()
    return Effect.sync(() => {
      job.step = undefined
    })
  })

const rest: Step = () => true

/** One piece of work that cannot be divided: immediately, or in a turn of its own when this turn's share is used up. */
export const inOneTurn = <A>(work: () => A): Effect.Effect<A> =>
  Effect.suspend(() => Effect.map(isSpent() ? queued(rest) : Effect.void, () => run(work)))

/** What the work of a slice waits for where this turn's share is used up. */
const turnEnds: Pause = () => (isSpent() ? queued(rest) : undefined)

/**
 * The value of sliced work: the first slice immediately, more while this turn's share lasts, the rest in later turns. An interruption
 * ends it.
 */
export const inSlices = <A>(slices: Slices<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    let last = run(() => slices.next())
    const step = (): boolean => {
      last = slices.next()
      return last.done === true
    }
    while (last.done !== true && !isSpent()) run(step)
    return last.done === true ? Effect.succeed(last.value) : Effect.map(queued(step), () => last.value as A)
  })
