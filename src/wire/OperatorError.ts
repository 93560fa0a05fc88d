/** An error that the operator can fix. `message` is one line: what is wrong, and what would work. */
import { Data, Effect } from "effect"

export class OperatorError extends Data.TaggedError("OperatorError")<{ readonly message: string }> {}
export const fail = (message: string) => Effect.fail(new OperatorError({ message }))

/** A failure as an `OperatorError`, with another message. */
export const rephrase = <A, E extends { readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>,
  words: (message: string) => string
) => Effect.mapError(effect, ({ message }) => new OperatorError({ message: words(message) }))
