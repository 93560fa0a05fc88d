/**
 * Guards of a streamed reply (docs/guards.md#streams). Where they may block or redact, its words are held back until they have been
 * seen; where they only flag, words pass as they come, and guards are asked beside them.
 */
import { Array as Arr, Cause, Effect, Fiber, Option, Pull, Scope, Stream } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { EndedEarly, type Frame, type Frames } from "../stream/Frame.ts"
import { type Entry, type GuardStreamOptions, heldReply, makeQueue, reported } from "./heldReply.ts"

/** In the place of a frame that has passed: it would take many times the memory of its words. */
const passed: Frame = { data: "" }

/** Passes frames as they come, and asks beside them; before the last ones it waits for what was asked. */
const passedReply = (options: GuardStreamOptions) => {
  const { hold, reader } = options
  const queue = makeQueue(options, false)
  let waiting: Array<Entry> = []
  let taken = 0
  let running: Fiber.Fiber<void, GatewayError> | undefined

  const ask: Effect.Effect<void, GatewayError> = Effect.suspend(() => {
    const asked = waiting
    waiting = []
    return asked.length === 0 ? Effect.void : Effect.andThen(queue.judged(asked), ask)
  })
  const start = Effect.gen(function* () {
    const scope = yield* Effect.scope
    if (running !== undefined && running.pollUnsafe() === undefined) return
    if (running !== undefined) yield* Fiber.join(running)
    running = waiting.length === 0 ? undefined : yield* Effect.forkIn(ask, scope, { startImmediately: true })
  })
  return Effect.fnUntraced(function* (frames: ReadonlyArray<Frame>, isEnd = false) {
    queue.take(frames.map((frame) => ({ frame: passed, part: reader.read(frame) })))
    for (const entry of queue.judgeable(isEnd)) waiting.push(entry)
    const held = queue.held()
    const refused = held === taken ? undefined : hold(held - taken, queue.size())
    taken = held
    if (refused !== undefined) return yield* refused
    const isComplete = queue.isComplete()
    if (!isComplete && !isEnd) {
      yield* start
      return { frames, over: false }
    }
    if (running !== undefined) yield* Fiber.join(running)
    running = undefined
    yield* ask
    return { frames: isComplete && !isEnd ? reported(options, frames) : frames, over: false }
  })
}

type Failure = GatewayError | EndedEarly
/** After what it ends with where guards block, the cloud is not waited for. */
export const guardStream =
  (options: GuardStreamOptions) =>
  (self: Stream.Stream<Frame, Failure>): Stream.Stream<Frame, Failure> =>
    Stream.transformPull(self, (upstream, scope) =>
      Effect.sync(() => {
        const holders = options.guards.filter(({ action }) => action !== "flag")
        const isWhole = holders.some(({ hold }) => hold === "whole")
        const step = holders.length === 0 ? passedReply(options) : heldReply(options, isWhole)
        const run = (frames: ReadonlyArray<Frame>, isEnd = false) =>
          Effect.provideService(step(frames, isEnd), Scope.Scope, scope)
        let end: Pull.Pull<never, Failure> | undefined
        /** What is left when the stream before has ended, then its end. */
        const finish = (after: Pull.Pull<never, Failure>) =>
          Effect.flatMap(run([], true), ({ frames, over }) => {
            end = over ? Effect.fail(new EndedEarly()) : after
            return Arr.isReadonlyArrayNonEmpty(frames) ? Effect.succeed(frames) : end
          })
        const next: Pull.Pull<Frames, Failure> = Pull.matchEffect(upstream, {
          onSuccess: (frames) =>
            Effect.flatMap(run(frames), ({ frames: out, over }) => {
              if (over) end = Effect.fail(new EndedEarly())
              return Arr.isReadonlyArrayNonEmpty(out) ? Effect.succeed(out) : (end ?? next)
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
