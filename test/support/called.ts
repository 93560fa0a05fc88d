import { Effect } from "effect"

/** Waits until a listener is called; interrupted, it takes the listener away. */
export const called = <A = void>(subscribe: (listener: (value: A) => void) => () => void): Effect.Effect<A> =>
  Effect.callback((resume) => {
    const stop = subscribe((value) => resume(Effect.succeed(value)))
    return Effect.sync(stop)
  })
