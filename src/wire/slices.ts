/**
 * Long work is done in slices, so that no request holds up the others: each turn of the event loop gives such work a few
 * milliseconds in all, however many requests have some, and takes them in order.
 */
import { Effect } from "effect"

/**
 * Work that is done in one go or in slices, as a generator that stops between two slices. A slice takes about a millisecond at most
 * (`inSlices` gives each a turn).
 */
export type Slices<A> = Generator<undefined, A, undefined>

/** Does all slices now. */
export const runNow = <A>(slices: Slices<A>): A => {
  for (;;) {
    const { done, value } = slices.next()
    if (done === true) return value
  }
}

/** Bytes of text that the engine parses or prints in about a millisecond. */
export const smallBytes = 256 * 1024

/** Characters, and values of a tree, of one slice. */
export const sliceCharacters = 16 * 1024
export const sliceValues = 4_000

/** Node's; the published client, which is compiled without Node's types, never comes to where it is called. */
declare const setImmediate: (next: () => void) => unknown

/** Does one slice of about a millisecond; true when nothing remains to be done. */
type Step = () => boolean

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
    return slice()
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

/**
 * What to wait for at a place where long synchronous work may stop for others: inside of a slice, where this turn's share is used up.
 */
export const pause = (): Effect.Effect<void> | undefined =>
  since !== undefined && isSpent() ? queued(rest) : undefined

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
