/** Upstream events become the surface's frames: one step a network chunk, whatever it holds. */
import { Cause, Effect, Pull, Stream } from "effect"
import type { GatewayError } from "../model/GatewayError.ts"
import { cut, type UpstreamFault } from "../model/UpstreamFault.ts"
import type { Event } from "../wire/Event.ts"
import type { Frame, Progress, Protocol } from "./Frame.ts"

export interface ProtocolOptions<S extends Progress> {
  readonly protocol: Protocol<S>
  readonly state: S
  /** Told how many events have come, before they are read. */
  readonly onEvents: (count: number) => void
  /** Told when the upstream has said its last word. */
  readonly onComplete: () => void
  readonly errorOf: (fault: UpstreamFault) => GatewayError
}

type Chunks = ReadonlyArray<ReadonlyArray<Event>>
type Frames = Pull.Pull<readonly [Frame, ...Array<Frame>], GatewayError>

const isFilled = (frames: ReadonlyArray<Frame>): frames is readonly [Frame, ...Array<Frame>] => frames.length > 0

/**
 * One operator rather than `mapAccumArray` and others for the end: a protocol may end the stream, well or with a fault, in the
 * middle of an array, after frames that still go out.
 */
export const speak =
  <S extends Progress>({ protocol, state, onEvents, onComplete, errorOf }: ProtocolOptions<S>) =>
  (chunks: Stream.Stream<ReadonlyArray<Event>, GatewayError>): Stream.Stream<Frame, GatewayError> =>
    Stream.transformPull(chunks, (pull) => {
      const emit = (frames: ReadonlyArray<Frame>): Frames => {
        if (state.end === "complete") onComplete()
        return isFilled(frames) ? Effect.succeed(frames) : next
      }
      const onSuccess = (arrays: Chunks): Frames => {
        const [only = []] = arrays
        const events = arrays.length === 1 ? only : arrays.flat()
        if (events.length === 0) return next
        onEvents(events.length)
        return emit(protocol.step(state, events)[1])
      }
      const onDone = (): Frames => {
        const frames = protocol.onHalt(state)
        state.end ??= cut
        return emit(frames)
      }
      const step = Pull.matchEffect(pull, { onSuccess, onFailure: Effect.failCause, onDone })
      const next: Frames = Effect.suspend(() => {
        if (state.end === undefined) return step
        return state.end === "complete" ? Cause.done() : Effect.fail(errorOf(state.end))
      })
      return Effect.succeed(next)
    })
