/** Takes things one by one, and gives them on several together. */
import { Effect, type Scope } from "effect"

export interface GatherOptions<A> {
  /** Longest time that a thing waits for more, in milliseconds. */
  readonly patience: number
  /** So many do not wait for more. */
  readonly most: number
  /** Never given none. */
  readonly take: (things: ReadonlyArray<A>) => void
}

export interface Gathering<A> {
  /** What is urgent does not wait, nor does what waits before it. */
  readonly add: (thing: A, urgent?: boolean) => void
  /** Gives on what waits. */
  readonly flush: () => void
}

/** When the scope closes or the process ends, what waits is given on; what comes later does not wait. */
export const gather = <A>({
  most,
  patience,
  take
}: GatherOptions<A>): Effect.Effect<Gathering<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    let waiting: Array<A> = []
    let timer: NodeJS.Timeout | undefined
    let open = true
    const flush = () => {
      clearTimeout(timer)
      timer = undefined
      const things = waiting
      waiting = []
      if (things.length > 0) take(things)
    }
    const close = () => {
      open = false
      process.off("exit", close)
      flush()
    }
    process.on("exit", close)
    yield* Effect.addFinalizer(() => Effect.sync(close))
    const add = (thing: A, urgent = false) => {
      waiting.push(thing)
      if (!open || urgent || waiting.length >= most) flush()
      else timer ??= setTimeout(flush, patience)
    }
    return { add, flush }
  })
