/** An error that the operator can fix. `message` is one line: what is wrong, and what would work. */
import { Data, Effect, Runtime } from "effect"

export class OperatorError extends Data.TaggedError("OperatorError")<{ readonly message: string }> {}

/** A failure that has been printed or logged already. */
export class Reported extends Data.TaggedError("Reported")<{ readonly message: string }> {
  override readonly [Runtime.errorReported] = false
}

export const fail = (message: string) => Effect.fail(new OperatorError({ message }))

/** What a thrown value says. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** What is wrong with what a setting names. */
export const inSetting = (setting: string) => (why: string) => `${setting}: ${why}`

/** A failure as an `OperatorError`, with another message. */
export const rephrase = <A, E extends { readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>,
  words: (message: string) => string
) => Effect.mapError(effect, ({ message }) => new OperatorError({ message: words(message) }))
