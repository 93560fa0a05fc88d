/**
 * Steps that are taken at once where what they wait for is there already: a credential that is known, a body that is read. The
 * runtime is asked only where something must be waited for; each of its operations takes about a quarter of a microsecond.
 */
import { Effect, Exit } from "effect"

const exitOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Exit.Exit<A, E> | undefined =>
  Exit.isExit(effect) ? (effect as Exit.Exit<A, E>) : undefined

/** `Effect.flatMap`, for an effect that is about to be run: what is there is passed on now. */
export const flatMapNow = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  next: (value: A) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E | E2, R | R2> => {
  const exit = exitOf(effect)
  if (exit === undefined) return Effect.flatMap(effect, next)
  return Exit.isSuccess(exit) ? next(exit.value) : Effect.failCause(exit.cause)
}

/** `Effect.map`, in the same way. */
export const mapNow = <A, E, R, B>(effect: Effect.Effect<A, E, R>, f: (value: A) => B): Effect.Effect<B, E, R> =>
  flatMapNow(effect, (value) => Effect.succeed(f(value)))

/** `Effect.mapError`, in the same way. */
export const mapErrorNow = <A, E, R, E2>(
  effect: Effect.Effect<A, E, R>,
  f: (error: E) => E2
): Effect.Effect<A, E2, R> => {
  const exit = exitOf(effect)
  return exit !== undefined && Exit.isSuccess(exit) ? Effect.succeed(exit.value) : Effect.mapError(effect, f)
}
