/** A reader that is slower than its cloud gets everything, however much of it is here when the connection is taken up again. */

import type { Dispatcher } from "@effect/platform-node/Undici"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { dispatchOpen } from "../../src/provider/dispatch.ts"
import { Stopper } from "../../src/provider/Stopper.ts"

/** As undici does: what was read already is delivered within `resume`, until the handler pauses again. */
const bursts = (pieces: number, size: number) => {
  let left = pieces
  let paused = false
  let handler: Dispatcher.DispatchHandler | undefined
  const deliver = () => {
    while (left > 0 && !paused) {
      left--
      handler?.onResponseData?.(controller, Buffer.alloc(size))
    }
    if (left === 0 && !paused) {
      left = -1
      handler?.onResponseEnd?.(controller, {})
    }
  }
  const controller = {
    pause: () => {
      paused = true
    },
    resume: () => {
      if (!paused) return
      paused = false
      deliver()
    },
    abort: () => undefined
  } as unknown as Dispatcher.DispatchController
  return {
    dispatch: (_: unknown, given: Dispatcher.DispatchHandler) => {
      handler = given
      given.onRequestStart?.(controller, {})
      given.onResponseStart?.(controller, 200, {}, "")
      setImmediate(deliver)
      return true
    }
  } as unknown as Dispatcher
}

describe("a slow reader of an open reply", () => {
  it.each([1_000, 40_000, 65_536, 200_000])("gets every piece of %i bytes", async (size) => {
    const pieces = Math.ceil(1_000_000 / size)
    const reply = await Effect.runPromise(
      dispatchOpen(bursts(pieces, size), { method: "POST", path: "/" }, new Stopper())
    )
    let read = 0
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      const next = await Effect.runPromiseExit(reply.next as Effect.Effect<Uint8Array, unknown>)
      if (Exit.isFailure(next)) {
        assert.isTrue(Cause.isDone(Cause.squash(next.cause)))
        break
      }
      read += next.value.length
    }
    assert.strictEqual(read, pieces * size)
  })
})

describe("what one read of the connection brings", () => {
  const piece = 1_000
  const open = (pieces: number) =>
    Effect.runPromise(dispatchOpen(bursts(pieces, piece), { method: "POST", path: "/" }, new Stopper()))
  const sizeOf = (chunk: unknown) => (chunk instanceof Uint8Array ? chunk.length : undefined)

  it("is taken whole by a reader that waits", async () => {
    const reply = await open(64)
    const taken = await new Promise((resolve) => reply.notify({ wake: () => resolve(reply.take()) }))
    assert.strictEqual(sizeOf(taken), 64 * piece)
    assert.strictEqual(reply.take(), "done")
  })

  it("is another's memory once the next is taken, but not where it was asked for as a copy", async () => {
    const [one, other] = await Promise.all([open(64), open(64)])
    const copy = await Effect.runPromise(one.next as Effect.Effect<Uint8Array, unknown>)
    const before = Buffer.from(copy)
    const taken = await new Promise((resolve) => other.notify({ wake: () => resolve(other.take()) }))
    assert.instanceOf(taken, Uint8Array)
    taken.fill(7)
    assert.isTrue(before.equals(copy))
  })

  it("is held back where the reader is busy", async () => {
    const reply = await open(1_000)
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve))
    assert.strictEqual(sizeOf(reply.take()), 17 * piece)
    assert.strictEqual(sizeOf(reply.take()), 17 * piece)
  })
})
