/** One stage of a streamed reply: an array in, an array out, and the end where the stage decides it. */
import { Cause, Effect, Exit, Pull, Stream } from "effect"

/** What one step comes to: what it emits, and how the stream ends after it, if it does. */
export interface Step<B, E> {
  readonly emit: ReadonlyArray<B>
  readonly end?: Exit.Exit<void, E> | undefined
}

/** The steps of one stream: pure but for their own state. */
export interface Stage<A, B, E, E2 = E> {
  readonly onArray: (items: ReadonlyArray<A>) => Step<B, E>
  /** The stream before this stage has ended. */
  readonly onDone: () => Step<B, E>
  /** The stream before this stage has failed. */
  readonly onFailure: (cause: Cause.Cause<E2>) => Step<B, E>
}

/** Emits nothing more, and fails as the stream before did. */
export const failed = <E>(cause: Cause.Cause<E>): Step<never, E> => ({ emit: [], end: Exit.failCause(cause) })

type Filled<B> = readonly [B, ...Array<B>]

const isFilled = <B>(items: ReadonlyArray<B>): items is Filled<B> => items.length > 0

/**
 * An operator on arrays. Unlike `Stream.mapAccumArray`, a step may end or fail the stream and keep what it emits before that, and the
 * end of the stream before differs from its failure. What a stage does by steps of its own, an operator more would do at the price of
 * an effect an array.
 */
export const stage =
  <A, B, E, E2 = E>(make: () => Stage<A, B, E, E2>) =>
  (self: Stream.Stream<A, E2>): Stream.Stream<B, E> =>
    Stream.transformPull(self, (upstream) =>
      Effect.sync(() => {
        const { onArray, onDone, onFailure } = make()
        let end: Pull.Pull<never, E> | undefined
        const pass = ({ emit, end: exit }: Step<B, E>) => {
          if (exit !== undefined) end = Exit.isSuccess(exit) ? Cause.done() : Effect.failCause(exit.cause)
          return isFilled(emit) ? Effect.succeed(emit) : end
        }
        const last = (step: Step<B, E>) => {
          end = Cause.done()
          return pass(step) ?? end
        }
        const step: Pull.Pull<Filled<B>, E> = Pull.matchEffect(upstream, {
          onSuccess: (items) => pass(onArray(items)) ?? step,
          onFailure: (cause) => last(onFailure(cause)),
          onDone: () => last(onDone())
        })
        return Effect.suspend(() => end ?? step)
      })
    )
