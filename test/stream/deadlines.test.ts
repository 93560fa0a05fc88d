/** How long a streamed reply may take, what fills its silence, and what is left of it when its time is over. */
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Fiber, Queue, Scope, Stream } from "effect"
import { vi } from "vitest"
import { GatewayError } from "../../src/catalog/GatewayError.ts"
import { type DeadlineOptions, withDeadlines } from "../../src/stream/deadlines.ts"
import { EndedEarly } from "../../src/stream/Frame.ts"
import { keepAlive } from "../../src/wire/sse.ts"

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] })
})
afterEach(() => {
  vi.useRealTimers()
})

const turns = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}
/** Lets time pass, a bit at a time, with all that happens meanwhile. */
const pass = async (milliseconds: number) => {
  for (let left = milliseconds; left > 0; left -= 100) {
    vi.advanceTimersByTime(Math.min(100, left))
    await turns()
  }
}

const down = new GatewayError({ reason: "upstream", message: "down", code: "cut" })
const revoked = new GatewayError({ reason: "forbidden", message: "revoked", code: "revoked" })

/** A reply of a cloud that says what it is told to, and a caller that awaits the first of it, and reads the rest when it is told to. */
const running = async (limits: { readonly [L in "heartbeat" | "idle" | "ceiling"]?: number } = {}) => {
  const seen = { closed: undefined as "ended" | "destroyed" | undefined, cutOff: 0, lastBytesAt: 0 }
  const cloud = Effect.runSync(Queue.unbounded<string, GatewayError | EndedEarly | Cause.Done>())
  let end = (_error: GatewayError) => {}
  const options: DeadlineOptions = {
    heartbeat: Duration.millis(limits.heartbeat ?? 60_000),
    idle: Duration.millis(limits.idle ?? 60_000),
    deadline: performance.now() + (limits.ceiling ?? 60_000),
    lastBytesAt: () => seen.lastBytesAt,
    terminated: Effect.callback((resume) => {
      end = (error) => resume(Effect.fail(error))
    }),
    onEnd: () => {},
    destroy: () => {
      seen.cutOff++
    }
  }
  let taken = 0
  const call = Stream.unwrap(
    Effect.as(
      Effect.addFinalizer((exit) =>
        Effect.sync(() => {
          seen.closed = Exit.isSuccess(exit) ? "ended" : "destroyed"
        })
      ),
      Stream.tap(Stream.rechunk(Stream.fromQueue(cloud), 1), () => Effect.sync(() => void taken++))
    )
  )
  const scope = Effect.runSync(Scope.make())
  const pull = await Effect.runPromise(Scope.provide(Stream.toPull(withDeadlines(options)(call)), scope))
  const got: Array<string> = []
  const read = Effect.map(pull, (items) => void got.push(...items))
  const first = Effect.runFork(read)
  /** How the reply ends, for a caller that reads all. */
  const readOn = () => {
    const fiber = Effect.runFork(Effect.andThen(Fiber.join(first), Effect.forever(read)))
    return () => Effect.runPromise(Effect.flip(Fiber.join(fiber)))
  }
  await turns()
  return {
    seen,
    got,
    asked: () => taken,
    say: (...texts: ReadonlyArray<string>) => {
      for (const text of texts) Queue.offerUnsafe(cloud, text)
      return turns()
    },
    finish: () => Effect.runPromise(Queue.end(cloud)).then(turns),
    fail: (error: GatewayError | EndedEarly) => Effect.runPromise(Queue.fail(cloud, error)).then(turns),
    end: () => {
      end(revoked)
      return turns()
    },
    readOnce: () => Effect.runPromise(read),
    readOn,
    leave: (exit: Exit.Exit<unknown, unknown> = Exit.interrupt()) =>
      Effect.runPromise(Scope.close(scope, exit)).then(turns)
  }
}

describe("in silence", () => {
  it("comments are sent, and none where something is said", async () => {
    const { end, finish, got, readOn, say } = await running({ heartbeat: 1_000 })
    const ending = readOn()
    await pass(2_500)
    assert.deepStrictEqual(got, [keepAlive, keepAlive])
    await say("a")
    await pass(900)
    await say("b")
    await pass(900)
    assert.deepStrictEqual(got.slice(2), ["a", "b"])
    await pass(200)
    assert.deepStrictEqual(got.slice(4), [keepAlive])
    await finish()
    assert.isTrue(Cause.isDone(await ending()))
    await end()
  })

  it("comments do not pile up for a caller that does not read", async () => {
    const { got, readOnce, say } = await running({ heartbeat: 1_000 })
    await pass(10_000)
    await say("a")
    await readOnce()
    assert.deepStrictEqual(got, [keepAlive, "a"])
  })
})

describe("a cloud", () => {
  it("that is silent for too long is not waited for, and its call is ended", async () => {
    const { got, readOn, say, seen } = await running({ idle: 1_000 })
    const ending = readOn()
    await pass(900)
    await say("a")
    await pass(900)
    assert.isUndefined(seen.closed)
    await pass(200)
    assert.propertyVal(await ending(), "code", "idle")
    assert.deepStrictEqual(got, ["a"])
    assert.strictEqual(seen.closed, "destroyed")
  })

  it("that sends what is no whole event yet is not silent", async () => {
    const { readOn, seen } = await running({ idle: 1_000 })
    const ending = readOn()
    for (let n = 0; n < 5; n++) {
      await pass(800)
      seen.lastBytesAt = performance.now()
    }
    assert.isUndefined(seen.closed)
    await pass(1_100)
    assert.propertyVal(await ending(), "code", "idle")
  })

  it("is not silent while the caller does not read", async () => {
    const { finish, got, readOn, say, seen } = await running({ idle: 1_000 })
    await say("a", "b", "c")
    await pass(5_000)
    assert.isUndefined(seen.closed)
    const ending = readOn()
    await say("d")
    await finish()
    assert.isTrue(Cause.isDone(await ending()))
    assert.deepStrictEqual(got, ["a", "b", "c", "d"])
  })

  it("is read at most one array ahead of the caller", async () => {
    const { asked, got, leave, readOnce, say, seen } = await running()
    await say("a", "b", "c", "d", "e")
    assert.strictEqual(asked(), 2, "one is read, and one waits")
    for (let n = 0; n < 3; n++) await readOnce()
    assert.deepStrictEqual(got, ["a", "b", "c", "d"])
    assert.isUndefined(seen.closed)
    await leave()
    assert.strictEqual(seen.closed, "destroyed")
  })
})

describe("a reply", () => {
  it("that is over late says what was over first", async () => {
    const { readOn, say } = await running({ ceiling: 1_000, idle: 500 })
    await say("a")
    const ending = readOn()
    const late = performance.now() + 2_000
    const clock = vi.spyOn(performance, "now").mockReturnValue(late)
    await pass(600)
    assert.propertyVal(await ending(), "code", "idle")
    clock.mockRestore()
  })

  it("that takes too long ends, however much is said", async () => {
    const { got, readOn, say, seen } = await running({ ceiling: 1_000, idle: 500 })
    const ending = readOn()
    for (let n = 0; n < 12; n++) {
      await say(String(n))
      await pass(100)
    }
    assert.propertyVal(await ending(), "code", "ceiling")
    assert.deepStrictEqual(got, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"])
    assert.strictEqual(seen.closed, "destroyed")
  })

  it("ends when it must for another reason", async () => {
    const { end, got, readOn, say, seen } = await running()
    const ending = readOn()
    await say("a")
    await end()
    assert.strictEqual(await ending(), revoked)
    assert.deepStrictEqual(got, ["a"])
    assert.strictEqual(seen.closed, "destroyed")
  })

  it("ends when the cloud does, with all that it said before", async () => {
    for (const isRead of [true, false]) {
      const { finish, got, readOn, say, seen } = await running()
      const early = isRead ? readOn() : undefined
      await say("a", "b")
      await finish()
      assert.isTrue(Cause.isDone(await (early ?? readOn())()))
      assert.deepStrictEqual(got, ["a", "b"])
      assert.strictEqual(seen.closed, "ended")
    }
  })

  it("fails as the cloud does, with all that it said before", async () => {
    const { fail, got, readOn, say, seen } = await running()
    await say("a", "b")
    await fail(down)
    assert.strictEqual(await readOn()(), down)
    assert.deepStrictEqual(got, ["a", "b"])
    assert.strictEqual(seen.closed, "destroyed")
  })

  it("that is complete before its cloud is ends well, and the call is ended", async () => {
    const { fail, got, readOn, say, seen } = await running()
    await say("a")
    await fail(new EndedEarly())
    assert.isTrue(Cause.isDone(await readOn()()))
    assert.deepStrictEqual(got, ["a"])
    assert.strictEqual(seen.closed, "destroyed")
  })
})

describe("a caller that does not read", () => {
  for (const why of ["the ceiling", "another reason"]) {
    it(`holds no call of a cloud beyond ${why}, and loses its connection two seconds later`, async () => {
      const { end, say, seen } = await running({ ceiling: why === "the ceiling" ? 1_000 : 60_000 })
      await say("a", "b", "c")
      await pass(900)
      assert.isUndefined(seen.closed)
      if (why === "another reason") await end()
      else await pass(200)
      assert.strictEqual(seen.closed, "destroyed")
      await pass(1_700)
      assert.strictEqual(seen.cutOff, 0)
      await pass(400)
      assert.strictEqual(seen.cutOff, 1)
    })
  }

  it("keeps it where it takes the last words in time", async () => {
    const { got, leave, readOn, say, seen } = await running({ ceiling: 1_000 })
    await say("a", "b", "c")
    await pass(2_000)
    assert.propertyVal(await readOn()(), "code", "ceiling")
    assert.strictEqual(got[0], "a")
    await leave(Exit.void)
    await pass(5_000)
    assert.strictEqual(seen.cutOff, 0)
  })

  it("loses it also where the cloud has long ended", async () => {
    const { finish, say, seen } = await running({ ceiling: 1_000 })
    await say("a")
    await finish()
    assert.strictEqual(seen.closed, "ended")
    await pass(3_200)
    assert.strictEqual(seen.cutOff, 1)
  })
})

describe("nothing is left running", () => {
  it("after the end", async () => {
    const { finish, leave, readOn, say } = await running({ heartbeat: 1_000 })
    const ending = readOn()
    await say("a")
    await finish()
    await ending()
    await leave(Exit.void)
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("after a caller has left, whatever the stream was about to do", async () => {
    for (const wait of [0, 900, 1_500, 2_500]) {
      const { leave, say, seen } = await running({ heartbeat: 700, ceiling: 1_000 })
      await say("a", "b", "c")
      await pass(wait)
      await leave()
      assert.strictEqual(seen.closed, "destroyed")
      assert.strictEqual(vi.getTimerCount(), 0)
      await pass(5_000)
      assert.strictEqual(seen.cutOff, 0)
    }
  })
})
