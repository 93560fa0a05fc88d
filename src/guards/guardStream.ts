/**
 * Guards of a streamed reply (docs/guards.md#streams). Where they may block or redact, its words are held back until they have been
 * seen; where they only flag, words pass as they come, and guards are asked beside them.
 */
import { Cause, Effect, Fiber, Option, Pull, Scope, Stream } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { Enough, type Frame } from "../stream/Frame.ts"
import type { Part } from "./frames.ts"
import { askGuards } from "./Guard.ts"
import { heldReply } from "./heldReply.ts"
import { contextCharacters } from "./markings.ts"
import type { Place, PlacedText } from "./places.ts"
import { type GuardStreamOptions, lastSentenceEnd, longestHeld, makeTexts, reported } from "./streamedTexts.ts"

/** Passes frames as they come, and asks beside them; before the last ones it waits for what was asked. */
const passedReply = (options: GuardStreamOptions) => {
  const { about, acted, guards, reader } = options
  const texts = makeTexts()
  const repeats = about.surface === "responses"
  const pieces = new Map<string, { readonly place: Place; text: string; before: string }>()
  let pending: Array<PlacedText> = []
  let running: Fiber.Fiber<void, GatewayError> | undefined
  let ended = false

  const flush = (key: string, to?: number) => {
    const piece = pieces.get(key)
    if (piece === undefined) return
    const text = piece.text.slice(0, to)
    if (text !== "") pending.push({ place: piece.place, text, before: piece.before })
    const before = (piece.before + text).slice(-contextCharacters)
    pieces.set(key, { place: piece.place, text: piece.text.slice(text.length), before })
  }
  const take = ({ delta, ends, last, repeats: repeated, whole }: Part) => {
    if (delta !== undefined) {
      const { key, place, text } = delta
      if (repeats) texts.came(key, text)
      const known = pieces.get(key) ?? { place, text: "", before: "" }
      const end = place === "arguments" ? undefined : lastSentenceEnd(known.text, text)
      pieces.set(key, { ...known, text: known.text + text })
      if (end !== undefined) flush(key, known.text.length + end)
      else if (place !== "arguments" && known.text.length > longestHeld) flush(key)
    }
    if (ends === true) for (const key of pieces.keys()) flush(key)
    if (repeated !== undefined) texts.complete(repeated)
    for (const text of whole?.texts ?? []) {
      if (texts.isKnown(text.text)) continue
      pending.push(text)
      if (repeats) texts.saidWhole(text.text, text.text)
    }
    if (last === true) ended = true
  }
  const ask: Effect.Effect<void, GatewayError> = Effect.suspend(() => {
    const asked = pending
    pending = []
    if (asked.length === 0 || guards.length === 0) return Effect.void
    return Effect.andThen(
      Effect.map(askGuards(guards, { about, input: "response", texts: asked }), (judged) => acted(judged.actions)),
      ask
    )
  })
  const start = Effect.gen(function* () {
    const scope = yield* Effect.scope
    if (running !== undefined && running.pollUnsafe() === undefined) return
    if (running !== undefined) yield* Fiber.join(running)
    running = pending.length === 0 ? undefined : yield* Effect.forkIn(ask, scope, { startImmediately: true })
  })
  return Effect.fnUntraced(function* (frames: ReadonlyArray<Frame>, isEnd = false) {
    for (const frame of frames) take(reader.read(frame))
    if (!ended && !isEnd) {
      yield* start
      return { frames, over: false }
    }
    for (const key of pieces.keys()) flush(key)
    if (running !== undefined) yield* Fiber.join(running)
    running = undefined
    yield* ask
    return { frames: ended && !isEnd ? reported(options, frames) : frames, over: false }
  })
}

type Failure = GatewayError | Enough
type Frames = readonly [Frame, ...Array<Frame>]

const isFilled = (frames: ReadonlyArray<Frame>): frames is Frames => frames.length > 0

/** After what it ends with where guards block, the cloud is not waited for. */
export const guardStream =
  (options: GuardStreamOptions) =>
  (self: Stream.Stream<Frame, Failure>): Stream.Stream<Frame, Failure> =>
    Stream.transformPull(self, (upstream, scope) =>
      Effect.sync(() => {
        const holders = options.guards.filter(({ action }) => action !== "flag")
        const step =
          holders.length === 0
            ? passedReply(options)
            : heldReply(
                options,
                holders.some(({ hold }) => hold === "whole")
              )
        const run = (frames: ReadonlyArray<Frame>, isEnd = false) =>
          Effect.provideService(step(frames, isEnd), Scope.Scope, scope)
        let end: Pull.Pull<never, Failure> | undefined
        /** What is left when the stream before has ended, then its end. */
        const finish = (after: Pull.Pull<never, Failure>) =>
          Effect.flatMap(run([], true), ({ frames, over }) => {
            end = over ? Effect.fail(new Enough()) : after
            return isFilled(frames) ? Effect.succeed(frames) : end
          })
        const next: Pull.Pull<Frames, Failure> = Pull.matchEffect(upstream, {
          onSuccess: (frames) =>
            Effect.flatMap(run(frames), ({ frames: out, over }) => {
              if (over) end = Effect.fail(new Enough())
              return isFilled(out) ? Effect.succeed(out) : (end ?? next)
            }),
          onFailure: (cause) => {
            const failed = Effect.failCause(cause)
            return Option.isNone(Cause.findErrorOption(cause)) ? failed : finish(failed)
          },
          onDone: () => finish(Cause.done())
        })
        return Effect.suspend(() => end ?? next)
      })
    )
