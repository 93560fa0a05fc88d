/** Passes values from one fiber to another, each when the one before it has been taken. */
import { Effect, type Exit } from "effect"

export interface Handoff<A, E> {
  /** Waits until the value has been taken. */
  readonly give: (value: A) => Effect.Effect<void>
  /** Gives the value if it is waited for. */
  readonly offer: (value: A) => void
  /** What is taken after the values; the first end counts. */
  readonly end: (exit: Exit.Exit<never, E>) => void
  readonly take: Effect.Effect<A, E>
}

export const makeHandoff = <A, E>(): Handoff<A, E> => {
  let waiting: { readonly value: A } | undefined
  let ended: Exit.Exit<never, E> | undefined
  let taker: ((taken: Effect.Effect<A, E>) => void) | undefined
  let giver: (() => void) | undefined

  const answer = (taken: Effect.Effect<A, E>) => {
    const resume = taker
    taker = undefined
    resume?.(taken)
    return resume !== undefined
  }
  const taken = Effect.callback<void>((resume) => {
    giver = () => resume(Effect.void)
    return Effect.sync(() => {
      giver = undefined
    })
  })
  const given = Effect.callback<A, E>((resume) => {
    taker = resume
    return Effect.sync(() => {
      taker = undefined
    })
  })

  return {
    give: (value) =>
      Effect.suspend(() => {
        if (answer(Effect.succeed(value))) return Effect.void
        waiting = { value }
        return taken
      }),
    offer: (value) => {
      answer(Effect.succeed(value))
    },
    end: (exit) => {
      ended ??= exit
      answer(ended)
    },
    take: Effect.suspend(() => {
      if (waiting === undefined) return ended ?? given
      const { value } = waiting
      waiting = undefined
      const resume = giver
      giver = undefined
      resume?.()
      return Effect.succeed(value)
    })
  }
}
