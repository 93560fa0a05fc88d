/** A streamed reply on its way from the cloud's events to the caller's bytes: the pipe, and its stages in their order. */
import { Cause, Effect, Exit, identity, Pull, Stream } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { cut, type UpstreamFault } from "../catalog/UpstreamFault.ts"
import { type Accumulator, type Governance, governanceOf } from "../governance/accumulate.ts"
import { type Event, printEvents } from "../wire/sse.ts"
import { inSlices } from "../wire/turns.ts"
import { type DeadlineOptions, withDeadlines } from "./deadlines.ts"
import { Enough, type Frame, type Item, type Protocol } from "./Frame.ts"
import { failed, type Step, stage } from "./stage.ts"

interface TranslateOptions {
  readonly protocol: Protocol
  readonly calls: Accumulator
  /** So many events have come. */
  readonly onEvents: (count: number) => void
  /** Takes memory for so many more characters that are kept, `all` with those before; answers why there is none. */
  readonly hold: (more: number, all: number) => GatewayError | undefined
  readonly errorOf: (fault: UpstreamFault) => GatewayError
}

export interface ReplyOptions extends TranslateOptions, DeadlineOptions {
  /** The surface's own in-band error. */
  readonly lastFrames: (cause: Cause.Cause<GatewayError>) => ReadonlyArray<Frame>
  /** What guards of the operator's leave of it; they see flags too, which quote calls. */
  readonly guard?:
    | ((frames: Stream.Stream<Frame, GatewayError | Enough>) => Stream.Stream<Frame, GatewayError | Enough>)
    | undefined
  /** How many more bytes wait for the caller, or fewer. */
  readonly onWaiting: (bytes: number) => void
}

/** Fails only before its first array; what a failure was then is the status of the reply. */
export const reply = (
  events: Stream.Stream<Event, GatewayError>,
  options: ReplyOptions
): Stream.Stream<Uint8Array, GatewayError> =>
  events.pipe(
    translate(options),
    govern(options.calls),
    options.guard ?? identity,
    withDeadlines(options),
    endInBand(options.lastFrames),
    encode(options.onWaiting)
  )

/** Events become the surface's frames, and their tool calls are collected. Ends with the surface's own terminal frame, or fails. */
const translate = (options: TranslateOptions) =>
  stage<Event, Frame, GatewayError | Enough>(() => {
    const { calls, errorOf, hold, onEvents, protocol } = options
    const { progress } = protocol
    let kept = 0

    const endOf = (): Exit.Exit<void, GatewayError | Enough> | undefined => {
      if (progress.end === "complete") return progress.early === true ? Exit.fail(new Enough()) : Exit.void
      if (progress.end !== undefined) return Exit.fail(errorOf(progress.end))
      const all = (progress.kept ?? 0) + calls.kept()
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
        return step(protocol.step(events))
      },
      onDone: () => {
        const last = protocol.onHalt()
        progress.end ??= cut
        return step(last)
      },
      onFailure: failed
    }
  })

type Filled<A> = readonly [A, ...Array<A>]

/** What the calls so far come to; undefined when none is flagged. */
export const governanceSoFar = (calls: Accumulator): Governance | undefined => governanceOf(calls.flags())

/** Scans what is still to be scanned, in slices where it is long. */
export const scanned = (calls: Accumulator): Effect.Effect<void> =>
  Effect.suspend(() => (calls.heavy() ? inSlices(calls.scan()) : Effect.void))

const flagged = (frames: Filled<Frame>, governance: Governance | undefined): Filled<Frame> =>
  governance === undefined
    ? frames
    : (frames.flatMap((frame) => frame.flagged?.(governance) ?? [frame]) as unknown as Filled<Frame>)

/** The flags of the calls go on the last frame. A reply that fails is scanned too: its flags go with the surface's in-band error. */
const govern =
  (calls: Accumulator) =>
  <E>(self: Stream.Stream<Frame, E>): Stream.Stream<Frame, E> =>
    Stream.transformPull(self, (upstream) =>
      Effect.succeed(
        Pull.matchEffect(upstream, {
          onSuccess: (frames) =>
            frames.some((frame) => frame.flagged !== undefined)
              ? Effect.map(scanned(calls), () => flagged(frames, governanceSoFar(calls)))
              : Effect.succeed(frames),
          onFailure: (cause) => Effect.andThen(scanned(calls), Effect.failCause(cause)),
          onDone: () => Cause.done()
        })
      )
    )

/** After its first array a reply never fails: it ends with the surface's own error. */
const endInBand = (lastFrames: ReplyOptions["lastFrames"]) =>
  stage<Item, Item, GatewayError>(() => {
    let begun = false
    return {
      onArray: (emit) => {
        begun = true
        return { emit }
      },
      onDone: () => ({ emit: [] }),
      onFailure: (cause) =>
        !begun || Cause.hasInterruptsOnly(cause) ? failed(cause) : { emit: lastFrames(cause), end: Exit.void }
    }
  })

/**
 * One buffer an array, so one write a network chunk. `onWaiting` is called with how many more bytes wait for the caller, or fewer: an
 * array is asked for when the last one has left.
 */
export const encode =
  (onWaiting: (bytes: number) => void) =>
  <E>(items: Stream.Stream<Item, E>): Stream.Stream<Uint8Array, E> =>
    Stream.transformPull(items, (upstream) =>
      Effect.sync(() => {
        let waiting = 0
        const wait = (bytes: number) => {
          if (bytes !== waiting) onWaiting(bytes - waiting)
          waiting = bytes
        }
        const next = Effect.suspend(() => {
          wait(0)
          return upstream
        })
        return Effect.map(next, (array) => {
          const bytes = Buffer.from(printEvents(array))
          wait(bytes.length)
          return [bytes] as const
        })
      })
    )
