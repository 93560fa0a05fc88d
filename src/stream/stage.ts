/** One stage of a streamed reply: an array in, an array out, and how the stream ends where the stage ends it. */
import { Array as Arr, Cause, Effect, Pull, Stream } from "effect"

/** What one step emits, and how the stream ends after it, if it does. */
export interface Step<B, E> {
  readonly emit: ReadonlyArray<B>
  readonly end?: Pull.Pull<never, E> | undefined
}

/** The steps of one stream: pure but for their own state. */
export interface Stage<A, B, E, E2 = E> {
  readonly onArray: (items: ReadonlyArray<A>) => Step<B, E>
  /** The stream before this stage has ended. */
  readonly onDone: () => Step<B, E>
  /** The stream before this stage has failed. */
  readonly onFailure: (cause: Cause.Cause<E2>) => Step<B, E>
}

/** Emits nothing, and fails as the stream before did. */
export const failed = <E>(cause: Cause.Cause<E>): Step<never, E> => ({ emit: [], end: Effect.failCause(cause) })

/**
 * An operator on arrays. Unlike `Stream.mapAccumArray`, a step may end or fail the stream and keep what it emits before that, and the
 * end of the stream before differs from its failure. Each further operator would cost an effect an array.
 */
export const stage =
  <A, B, E, E2 = E>(make: () => Stage<A, B, E, E2>) =>
  (self: Stream.Stream<A, E2>): Stream.Stream<B, E> =>
    Stream.transformPull(self, (upstream) =>
      Effect.sync(() => {
        const { onArray, onDone, onFailure } = make()
        const done = Cause.done()
        let end: Pull.Pull<never, E> | undefined
        const pass = (step: Step<B, E>, next: Pull.Pull<Arr.NonEmptyReadonlyArray<B>, E>) => {
          end = step.end
          return Arr.isReadonlyArrayNonEmpty(step.emit) ? Effect.succeed(step.emit) : (end ?? next)
        }
        const last = ({ emit, end = done }: Step<B, E>) => pass({ emit, end }, done)
        const step: Pull.Pull<Arr.NonEmptyReadonlyArray<B>, E> = Pull.matchEffect(upstream, {
          onSuccess: (items) => pass(onArray(items), step),
          onFailure: (cause) => last(onFailure(cause)),
          onDone: () => last(onDone())
        })
        return Effect.suspend(() => end ?? step)
      })
    )
