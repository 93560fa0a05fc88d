/**
 * Between what reads the upstream and what writes to the caller, one loop: what has come is decoded, said in the surface's words
 * and governed, synchronously, and leaves as one array of frames. The first array is awaited before the status is committed;
 * after it the stream never fails, but ends in-band. Silence is filled with comments.
 *
 * One operator of its own and one fiber, because operators of Effect in its place take 4.7 µs of processor time an event where this
 * takes 1.4 (`npm run bench -- --replaced`), beside some 30 µs that Node and the kernel take. The fiber begins the reply, waits for a
 * slow caller and ends the reply; where the caller takes what comes, it is not woken for it, which would take 2 to 5 µs more.
 */
import { Cause, Effect, Exit, Option, Pull, Stream } from "effect"
import type { Accumulator } from "../governance/accumulate.ts"
import { GatewayError, internal } from "../model/GatewayError.ts"
import { cut, type UpstreamFault } from "../model/UpstreamFault.ts"
import type { Arrived, Reader, Source } from "../wire/Source.ts"
import { keepAlive } from "../wire/sse.ts"
import { inSlices } from "../wire/turns.ts"
import type { Asking } from "./deadlines.ts"
import type { ReplyWriter } from "./encode.ts"
import type { Frame, Item, Progress, Protocol } from "./Frame.ts"
import { collect, governed } from "./governed.ts"
import { once } from "./once.ts"
import { clock, Silence } from "./Silence.ts"

export interface RelayOptions<S extends Progress> {
  readonly protocol: Protocol<S>
  readonly state: S
  readonly calls: Accumulator
  /** Milliseconds of silence that a comment ends. */
  readonly every: number
  /** Passes on what comes while the reader waits; `write` answers false where the reader has to. */
  readonly writer: Pick<ReplyWriter, "drained" | "write">
  /** Told when the first event has come, before it is read. */
  readonly onFirst: () => void
  /** Told how many more characters of the reply are kept; answers why that is too many. */
  readonly onKept: (characters: number) => GatewayError | undefined
  /** Told when nothing more of the upstream is wanted; `complete`: it has said its last word. */
  readonly onEnd: (complete: boolean) => void
  readonly errorOf: (fault: UpstreamFault) => GatewayError
  /** What ends a reply that has begun and fails. */
  readonly lastWords: (error: GatewayError) => ReadonlyArray<Frame>
}

interface Heard {
  readonly frames: ReadonlyArray<Frame>
  /** What has gone wrong, where the surface's own state does not say it. */
  readonly failure: GatewayError | undefined
  /** Nothing comes after it. */
  readonly last: boolean
}

type Filled = readonly [Item, ...Array<Item>]
type Items = Pull.Pull<Filled>
type Said = Exit.Success<Filled>

const none: ReadonlyArray<Frame> = []
const comment: Items = Effect.succeed([keepAlive])

const isSaid = (items: Items): items is Said => Exit.isExit(items) && Exit.isSuccess(items)

const isFilled = (frames: ReadonlyArray<Frame>): frames is readonly [Frame, ...Array<Frame>] => frames.length > 0

export class Relay<S extends Progress> implements Asking, Reader {
  private readonly options: RelayOptions<S>
  private readonly silence: Silence
  /** How many events have come. */
  events = 0
  private source: Source<Arrived<GatewayError>> | undefined
  private reader: ((items: Items) => void) | undefined
  /** Times of `clock`: when anything came last, since when more is asked for, when anything was said last. */
  private heardAt = 0
  askedAt = 0
  private saidAt = 0
  /** Whether anything has been said to the caller. */
  private begun = false
  /** What went wrong before that. */
  private refusal: GatewayError | undefined
  /** What was awaited before the status was committed, and is still to be passed on. */
  private first: Items | undefined
  /** What comes after all that has been said. */
  private end: Items | undefined

  constructor(options: RelayOptions<S>) {
    this.options = options
    this.silence = new Silence(
      options.every,
      () => this.saidAt,
      () => this.answer(comment)
    )
  }

  get waiting(): boolean {
    return this.reader !== undefined
  }

  /** The upstream has answered. */
  readonly opened = (source: Source<Arrived<GatewayError>>): void => {
    this.source = source
    this.answer(this.next)
  }

  /** It has not, or a defect kept it from it. */
  readonly failed = (cause: Cause.Cause<GatewayError>): void => {
    const error = Option.getOrUndefined(Cause.findErrorOption(cause))
    if (error === undefined) this.end = Effect.die(Cause.squash(cause))
    else this.source = { take: () => ({ events: [], end: error }), notify: () => {} }
    this.answer(this.next)
  }

  readonly close = (): void => {
    this.silence.close()
  }

  /** The reply from its first array on. Fails with what went wrong before anything was said. */
  readonly begin: Effect.Effect<Stream.Stream<Item>, GatewayError> = Effect.suspend(() =>
    Pull.matchEffect(this.next, {
      onSuccess: (items) => {
        this.begun = true
        this.first = Effect.succeed(items)
        return Effect.succeed(Stream.fromPull(Effect.sync(once(this.next))))
      },
      onFailure: Effect.failCause,
      onDone: () => (this.refusal === undefined ? Effect.succeed(Stream.empty) : Effect.fail(this.refusal))
    })
  )

  private readonly next: Items = Effect.suspend(() => {
    const begun = this.first
    this.first = undefined
    return begun ?? this.there() ?? this.wait
  })

  private readonly wait: Items = Effect.callback((resume) => {
    this.reader = resume
    this.ask(clock())
    return this.left
  })
  /** Nothing is written for a reader that was interrupted. */
  private readonly left: Effect.Effect<void> = Effect.sync(() => {
    this.reader = undefined
  })

  /** A reader that was only told of silence asks still. */
  private ask(now: number): void {
    if (this.heardAt > 0) this.askedAt = now
    this.heardAt = 0
    this.source?.notify(this)
  }

  /** What has come may say nothing: then it is waited on, and whoever waits for it is not disturbed. */
  wake(): void {
    if (this.reader === undefined) return
    const items = this.later() ?? this.there()
    if (items === undefined || this.written(items)) this.ask(this.heardAt)
    else this.answer(items)
  }

  /** A slow caller is waited for before anything more is taken of the upstream; what its connection carried before is not ours. */
  private later(): Items | undefined {
    const drained = this.begun ? this.options.writer.drained() : undefined
    return drained && Effect.andThen(drained, this.next)
  }

  /** Not of the first, before which the status is not committed, nor of the last, which the reader ends with. */
  private written(items: Items): boolean {
    if (!this.begun || this.end !== undefined || !isSaid(items)) return false
    try {
      return this.options.writer.write(items.value)
    } catch {
      // The reader meets the same defect, and ends the reply with it.
      return false
    }
  }

  /** What can be passed on now: what has come, the end of it, or what is said of a defect of ours. */
  private there(): Items | undefined {
    if (this.end !== undefined) return this.end
    try {
      return this.read()
    } catch (defect) {
      return this.broken(defect)
    }
  }

  private answer(items: Items): void {
    const reader = this.reader
    if (reader === undefined) return
    this.reader = undefined
    reader(items)
  }

  /** What has come and says anything; undefined where the upstream must be waited for. */
  private read(): Items | undefined {
    for (;;) {
      const arrived = this.source?.take()
      if (arrived === undefined) return undefined
      this.heardAt = clock()
      const heard = this.hear(arrived)
      if (heard.last && this.options.calls.heavy()) {
        const scanned = Effect.map(inSlices(this.options.calls.scan()), () => this.say(heard))
        return Effect.flatMap(
          Effect.catchDefect(scanned, (defect) => Effect.succeed(this.broken(defect))),
          (items) => items ?? this.next
        )
      }
      const items = this.say(heard)
      if (items !== undefined) return items
    }
  }

  /** What the surface makes of it, and whether the flags of the calls go with it. */
  private hear({ events, end }: Arrived<GatewayError>): Heard {
    const { calls, onKept, protocol, state } = this.options
    let frames = none
    const before = state.kept ?? 0
    if (events.length > 0) {
      if (this.events === 0) this.options.onFirst()
      this.events += events.length
      frames = protocol.step(state, events)[1]
    }
    if (end === "done" && state.end === undefined) {
      frames = [...frames, ...protocol.onHalt(state)]
      state.end ??= cut
    }
    const kept = collect(calls, frames) + (state.kept ?? 0) - before
    const full = kept === 0 || state.end !== undefined ? undefined : onKept(kept)
    const failure = end instanceof GatewayError ? end : full
    return { frames, failure, last: failure !== undefined || state.end !== undefined }
  }

  private say({ failure, frames, last }: Heard): Items | undefined {
    const { calls, errorOf, lastWords, state } = this.options
    let said = governed(calls, frames)
    if (last) {
      this.over(state.end === "complete")
      if (state.end !== "complete") {
        const error = failure !== undefined && state.end === undefined ? failure : errorOf(state.end ?? cut)
        if (this.begun || said.length > 0) said = [...said, ...lastWords(error)]
        else this.refusal = error
      }
    }
    if (!isFilled(said)) return this.end
    this.saidAt = this.heardAt
    return Effect.succeed(said)
  }

  /** What is said of a defect of ours; before anything was said, it fails as it is. */
  private broken(defect: unknown): Items {
    if (!this.begun) return Effect.die(defect)
    this.over(false)
    const words = this.options.lastWords(internal)
    return Effect.andThen(
      Effect.logError("a streamed reply failed", Cause.die(defect)),
      isFilled(words) ? Effect.succeed(words) : Cause.done()
    )
  }

  private over(complete: boolean): void {
    this.end = Cause.done()
    this.close()
    this.options.onEnd(complete)
  }
}
