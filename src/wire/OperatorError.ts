/** Something that the person who runs the gateway can put right. `message` is one line: what is wrong, and what would work. */
import { Data, Effect } from "effect"

export class OperatorError extends Data.TaggedError("OperatorError")<{ readonly message: string }> {}
export const fail = (message: string) => Effect.fail(new OperatorError({ message }))

/** A failure in the words of an operator. */
export const rephrase = <A, E extends { readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>,
  words: (message: string) => string
) => Effect.mapError(effect, ({ message }) => new OperatorError({ message: words(message) }))
