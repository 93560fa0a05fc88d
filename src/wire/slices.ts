/**
 * Long work is done in slices, so that no request holds up the others: each turn of the event loop has a few milliseconds for the slices
 * of all requests, which take turns.
 */
import { Effect } from "effect"

/** Work as a generator that yields between two slices, each of about a millisecond at most. Run by `runNow` or `inSlices`. */
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

/** Node's. The published client is compiled without Node's types, and never calls it. */
declare const setImmediate: (next: () => void) => unknown

/** Does one slice of about a millisecond; true when nothing remains to be done. */
type Step = () => boolean

interface Job {
  /** Undefined once the job was given up. */
  step: Step | undefined
  readonly done: (effect: Effect.Effect<void>) => void
}

/** Milliseconds that slices may take in one turn of the event loop. */
const turnMillis = 4

const waiting: Array<Job> = []
/** Milliseconds that slices have taken in this turn; undefined before the first. */
let spent: number | undefined
/** When the running slice began. */
let since: number | undefined

/** Begins a turn, unless one has begun. At its end waiting jobs are run. */
const beginTurn = (): void => {
  if (spent !== undefined) return
  spent = 0
  setImmediate(endTurn)
}

/** Runs a slice and counts its time, unless it is inside of another, which counts. */
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

const isTurnUsedUp = (): boolean => (spent ?? 0) + (since === undefined ? 0 : performance.now() - since) >= turnMillis

const endTurn = (): void => {
  spent = undefined
  while (waiting.length > 0 && !isTurnUsedUp()) {
    const job = waiting.shift()
    if (job?.step === undefined) continue
    try {
      // The fiber that waits for the job goes on within this slice, and counts.
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
    // The turn that was used up may be over, because fibers yield.
    beginTurn()
    return Effect.sync(() => {
      job.step = undefined
    })
  })

const nothing: Step = () => true

/** Does work that cannot be divided: immediately, or in a later turn where this turn's time is used up. */
export const inOneTurn = <A>(work: () => A): Effect.Effect<A> =>
  Effect.suspend(() => Effect.map(isTurnUsedUp() ? queued(nothing) : Effect.void, () => run(work)))

/** For places where long work may stop for others: what to wait for, inside of a slice, where this turn's time is used up. */
export const pause = (): Effect.Effect<void> | undefined =>
  since !== undefined && isTurnUsedUp() ? queued(nothing) : undefined

/** Does sliced work: the first slice immediately, more while this turn has time, the rest in later turns. An interruption ends it. */
export const inSlices = <A>(slices: Slices<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    let last = run(() => slices.next())
    const step = (): boolean => {
      last = slices.next()
      return last.done === true
    }
    while (last.done !== true && !isTurnUsedUp()) run(step)
    return last.done === true ? Effect.succeed(last.value) : Effect.map(queued(step), () => last.value as A)
  })
