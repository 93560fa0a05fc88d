/**
 * Guards of a streamed reply (docs/guards.md#streams). Where they may block or redact, its words are held back until they have been
 * seen; where they only flag, words pass as they come, and guards are asked beside them.
 */
import { Cause, Effect, Fiber, Option, type Pull, type Scope } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { EndedEarly, type Frame } from "../stream/Frame.ts"
import { failed, stage } from "../stream/reply.ts"
import { type Entry, type GuardStreamOptions, heldReply, makeQueue, reported } from "./heldReply.ts"

/** In the place of a frame that has passed: it would take many times the memory of its words. */
const passed: Frame = { data: "" }

/** Passes frames as they come, and asks beside them; before the last ones it waits for what was asked. */
const passedReply = (options: GuardStreamOptions, scope: Scope.Scope) => {
  const { reader } = options
  const queue = makeQueue(options, false)
  let waiting: Array<Entry> = []
  let running: Fiber.Fiber<void, GatewayError> | undefined

  const ask: Effect.Effect<void, GatewayError> = Effect.suspend(() => {
    const asked = waiting
    waiting = []
    return asked.length === 0 ? Effect.void : Effect.andThen(queue.judged(asked), ask)
  })
  const start = Effect.gen(function* () {
    if (running !== undefined && running.pollUnsafe() === undefined) return
    if (running !== undefined) yield* Fiber.join(running)
    running = waiting.length === 0 ? undefined : yield* Effect.forkIn(ask, scope, { startImmediately: true })
  })
  return Effect.fnUntraced(function* (frames: ReadonlyArray<Frame>, isEnd = false) {
    queue.take(frames.map((frame) => ({ frame: passed, part: reader.read(frame) })))
    for (const entry of queue.judgeable(isEnd)) waiting.push(entry)
    yield* queue.takeMemory
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

/** After what it ends with where guards block, the cloud is not waited for. */
export const guardStream = (options: GuardStreamOptions) =>
  stage<Frame, Frame, GatewayError | EndedEarly>((scope) => {
    const holders = options.guards.filter(({ action }) => action !== "flag")
    const isWhole = holders.some(({ hold }) => hold === "whole")
    const step = holders.length === 0 ? passedReply(options, scope) : heldReply(options, isWhole)
    /** `end`: how the stream before has ended. */
    const run = (frames: ReadonlyArray<Frame>, end?: Pull.Pull<never, GatewayError | EndedEarly>) =>
      Effect.map(step(frames, end !== undefined), ({ frames: emit, over }) => ({
        emit,
        end: over ? Effect.fail(new EndedEarly()) : end
      }))
    return {
      onArray: (frames) => run(frames),
      onFailure: (cause) =>
        Option.isNone(Cause.findErrorOption(cause)) ? failed(cause) : run([], Effect.failCause(cause)),
      onDone: () => run([], Cause.done())
    }
  })
