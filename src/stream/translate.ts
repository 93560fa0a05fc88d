/** A cloud's events become a surface's frames, and their tool calls are collected. */
import { Data, Exit } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { cut, type UpstreamFault } from "../catalog/UpstreamFault.ts"
import type { Accumulator } from "../governance/accumulate.ts"
import type { Event } from "../wire/Event.ts"
import type { Frame, Progress, Protocol } from "./Frame.ts"
import { type Step, stage } from "./stage.ts"

/** The reply is complete and the cloud is not: its call is ended. */
export class Enough extends Data.TaggedError("Enough") {}

export interface TranslateOptions<S extends Progress> {
  readonly protocol: Protocol<S>
  readonly state: S
  readonly calls: Accumulator
  /** So many events have come. */
  readonly onEvents: (count: number) => void
  /** Takes memory for so many more characters that are kept, `all` with those before; answers why there is none. */
  readonly hold: (more: number, all: number) => GatewayError | undefined
  readonly errorOf: (fault: UpstreamFault) => GatewayError
}

/** Ends with the surface's own terminal frame, or fails. */
export const translate = <S extends Progress>(options: TranslateOptions<S>) =>
  stage<Event, Frame, GatewayError, GatewayError | Enough>(() => {
    const { calls, errorOf, hold, onEvents, protocol, state } = options
    let kept = 0

    const endOf = (): Exit.Exit<void, GatewayError | Enough> | undefined => {
      if (state.end === "complete") return state.early === true ? Exit.fail(new Enough()) : Exit.void
      if (state.end !== undefined) return Exit.fail(errorOf(state.end))
      const all = (state.kept ?? 0) + calls.kept()
      const refused = all === kept ? undefined : hold(all - kept, all)
      kept = all
      return refused === undefined ? undefined : Exit.fail(refused)
    }
    const step = (emit: ReadonlyArray<Frame>): Step<Frame, GatewayError | Enough> => {
      for (const { calls: pieces, data } of emit) for (const piece of pieces ?? []) calls.take(piece, data.length)
      return { emit, end: endOf() }
    }
    return {
      onArray: (events) => {
        onEvents(events.length)
        return step(protocol.step(state, events)[1])
      },
      onDone: () => {
        const last = protocol.onHalt(state)
        state.end ??= cut
        return step(last)
      },
      onError: (error) => error
    }
  })
