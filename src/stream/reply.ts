/** A streamed reply from the cloud's bytes to the caller's bytes: the pipe, and its stages in their order. */
import { Array as Arr, Cause, Effect, identity, Pull, type Scope, Stream } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { cut, type UpstreamFault } from "../catalog/UpstreamFault.ts"
import type { Governance } from "../contract/Governance.ts"
import type { Accumulator } from "../governance/accumulate.ts"
import { inSlices } from "../wire/slices.ts"
import { type Event, printEvents } from "../wire/sse.ts"
import { type DeadlineOptions, withDeadlines } from "./deadlines.ts"
import { EndedEarly, type Frame, type Frames, type Item, type Protocol } from "./Frame.ts"
import type { Decoded, Decoder, FramingFailure } from "./framing.ts"

interface TranslateOptions {
  readonly protocol: Protocol
  readonly calls: Accumulator
  /** Called with the number of events that have come. */
  readonly onEvents: (count: number) => void
  /** Takes memory for so many more characters that are held, of `all`; returns an error where there is none left. */
  readonly hold: (more: number, all: number) => GatewayError | undefined
  readonly errorOf: (fault: UpstreamFault) => GatewayError
}

export interface ReplyOptions extends TranslateOptions, DeadlineOptions {
  /** The frames that end a reply that failed: the surface's in-band error. */
  readonly lastFrames: (cause: Cause.Cause<GatewayError>) => Frames
  /** The operator's guards. They come after `govern`, because flags quote calls. */
  readonly guard?:
    | ((frames: Stream.Stream<Frame, GatewayError | EndedEarly>) => Stream.Stream<Frame, GatewayError | EndedEarly>)
    | undefined
  /** Called with how many more bytes wait for the caller; a negative number for fewer. */
  readonly onWaiting: (bytes: number) => void
}

/** Fails only before its first array, where the reply has no status yet. */
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

// One stage: an array in, an array out, and how the stream ends where the stage ends it.

/** What one step emits, and how the stream ends after it, if it does. */
export interface Step<B, E> {
  readonly emit: ReadonlyArray<B>
  readonly end?: Pull.Pull<never, E> | undefined
}

/** An effect where the step waits. */
type Stepped<B, E> = Step<B, E> | Effect.Effect<Step<B, E>, E>

/** The steps of one stream, with their own state. */
export interface Stage<A, B, E> {
  readonly onArray: (items: Arr.NonEmptyReadonlyArray<A>) => Stepped<B, E>
  /** The stream before this stage has ended. Default: so does this one. */
  readonly onDone?: () => Stepped<B, E>
  /** The stream before this stage has failed. Default: `failed`. */
  readonly onFailure?: (cause: Cause.Cause<E>) => Stepped<B, E>
}

/** Emits nothing, and fails as the stream before did. */
export const failed = <E>(cause: Cause.Cause<E>): Step<never, E> => ({ emit: [], end: Effect.failCause(cause) })

/**
 * An operator on arrays. Unlike `Stream.mapAccumArray`, a step may end or fail the stream and keep what it emits before that, and the
 * end of the stream before differs from its failure. Each further operator would cost an effect an array.
 */
export const stage =
  <A, B, E>(make: (scope: Scope.Scope) => Stage<A, B, E>) =>
  (self: Stream.Stream<A, E>): Stream.Stream<B, E> =>
    Stream.transformPull(self, (upstream, scope) =>
      Effect.sync(() => {
        type Arrays = Pull.Pull<Arr.NonEmptyReadonlyArray<B>, E>
        const { onArray, onDone = () => ({ emit: [] }), onFailure = failed } = make(scope)
        let end: Pull.Pull<never, E> | undefined
        const pass = (step: Stepped<B, E>, after?: Pull.Pull<never, E>): Arrays => {
          if (Effect.isEffect(step)) return Effect.flatMap(step, (step) => pass(step, after))
          end = step.end ?? after
          return Arr.isReadonlyArrayNonEmpty(step.emit) ? Effect.succeed(step.emit) : (end ?? next)
        }
        const next: Arrays = Pull.matchEffect(upstream, {
          onSuccess: (items) => pass(onArray(items)),
          onFailure: (cause) => pass(onFailure(cause), Cause.done()),
          onDone: () => pass(onDone(), Cause.done())
        })
        return Effect.suspend(() => end ?? next)
      })
    )

// The stages, in their order.

export interface DecodeOptions<E> {
  readonly decoder: Decoder
  /** Called for each read of the network, with the events that it completed. */
  readonly onRead: (events: ReadonlyArray<Event>) => void
  /** Takes memory for bytes of an incomplete event; a negative number gives it back. Returns an error where there is none left. */
  readonly hold: (bytes: number) => E | undefined
  readonly framingError: (failure: FramingFailure) => E
}

/** All events of a network chunk come in one array. Events before a failure are kept. */
export const decode = <E>({ decoder, framingError, hold, onRead }: DecodeOptions<E>) =>
  stage<Uint8Array, Event, E>(() => {
    let pending = 0
    const step = ({ events, failure }: Decoded) => ({
      emit: events,
      end: failure === undefined ? undefined : Effect.fail(framingError(failure))
    })
    return {
      onArray: (chunks) => {
        const bytes = Buffer.concat(chunks)
        const decoded = decoder.feed(bytes)
        const { events } = decoded
        onRead(events)
        if (decoded.failure !== undefined) return step(decoded)
        const before = pending
        pending = events.length > 0 ? 0 : pending + bytes.length
        const refused = pending === before ? undefined : hold(pending - before)
        return { emit: events, end: refused === undefined ? undefined : Effect.fail(refused) }
      },
      onDone: () => step(decoder.end())
    }
  })

/** Events become the surface's frames, and their tool calls are collected. Ends with the surface's own terminal frame, or fails. */
const translate = (options: TranslateOptions) =>
  stage<Event, Frame, GatewayError | EndedEarly>(() => {
    const { calls, errorOf, hold, onEvents, protocol } = options
    const { progress } = protocol
    let held = 0

    const endOf = (): Pull.Pull<never, GatewayError | EndedEarly> | undefined => {
      if (progress.end === "complete") return progress.early === true ? Effect.fail(new EndedEarly()) : Cause.done()
      if (progress.end !== undefined) return Effect.fail(errorOf(progress.end))
      const all = (progress.held ?? 0) + calls.held()
      const refused = all === held ? undefined : hold(all - held, all)
      held = all
      return refused === undefined ? undefined : Effect.fail(refused)
    }
    const step = (emit: ReadonlyArray<Frame>): Step<Frame, GatewayError | EndedEarly> => {
      for (const { calls: pieces, data } of emit) for (const piece of pieces ?? []) calls.add(piece, data.length)
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
      }
    }
  })

const flagged = (frames: Frames, governance: Governance | undefined): Frames =>
  governance === undefined ? frames : Arr.flatMap(frames, (frame) => frame.flagged?.(governance) ?? [frame])

/** The flags of the calls go on the last frame. A reply that fails is scanned too: its flags go with the surface's in-band error. */
const govern = (calls: Accumulator) =>
  stage<Frame, Frame, GatewayError | EndedEarly>(() => ({
    onArray: (frames) =>
      frames.some((frame) => frame.flagged !== undefined)
        ? Effect.map(inSlices(calls.scan()), () => ({ emit: flagged(frames, calls.governance()) }))
        : { emit: frames },
    onFailure: (cause) => Effect.as(inSlices(calls.scan()), failed(cause))
  }))

/** After its first array a reply never fails: it ends with the surface's own error. */
const endInBand = (lastFrames: ReplyOptions["lastFrames"]) =>
  stage<Item, Item, GatewayError>(() => {
    let begun = false
    return {
      onArray: (emit) => {
        begun = true
        return { emit }
      },
      onFailure: (cause) => (begun && !Cause.hasInterruptsOnly(cause) ? { emit: lastFrames(cause) } : failed(cause))
    }
  })

/** One buffer an array, so one write a network chunk. The next array is asked for when the last one has been written. */
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
