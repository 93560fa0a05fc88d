/** What a deployment may ask of its cloud, shared fairly (docs/decisions.md#the-clouds-quota). */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Scope } from "effect"
import { afterEach, beforeEach, vi } from "vitest"
import type { Deployment } from "../../src/catalog/Catalog.ts"
import { GatewayError } from "../../src/catalog/GatewayError.ts"
import { CloudQuota, makeFairBucket } from "../../src/limits/CloudQuota.ts"

/** Takes when it can, every so often, for so long; answers what each team got. */
const play = (limit: number, every: Readonly<Record<string, number>>, forMs: number, from = 0) => {
  const bucket = makeFairBucket(limit, 0)
  const got: Record<string, number> = {}
  for (let now = 0; now < forMs; now += 50) {
    for (const [team, pause] of Object.entries(every)) {
      if (now % pause !== 0 || bucket.wait(team, 1, now) > 0) continue
      bucket.take(team, 1, now)
      if (now >= from) got[team] = (got[team] ?? 0) + 1
    }
  }
  return got
}

describe("a bucket", () => {
  it("gives a minute's worth at once, and then what comes in", () => {
    const bucket = makeFairBucket(60, 0)
    for (let n = 0; n < 60; n++) {
      assert.strictEqual(bucket.wait("a", 1, 0), 0)
      bucket.take("a", 1, 0)
    }
    assert.strictEqual(bucket.wait("a", 1, 0), 1_000)
    assert.strictEqual(bucket.wait("a", 3, 500), 2_500)
    assert.strictEqual(bucket.wait("a", 1, 1_000), 0)
  })

  it("lets through what is larger than itself when it is full", () => {
    const bucket = makeFairBucket(100, 0)
    assert.strictEqual(bucket.wait("a", 1_000, 0), 0)
    bucket.take("a", 1_000, 0)
    assert.strictEqual(bucket.wait("a", 1, 60_000), 480_600)
    bucket.take("a", -1_000, 60_000)
    assert.strictEqual(bucket.wait("a", 100, 60_000), 0)
  })

  it("is used up by one who is alone", () => {
    const { a = 0 } = play(600, { a: 50 }, 300_000, 60_000)
    assert.approximately(a, 600 * 4, 5)
  })

  it("is shared equally by those who ask for more than there is, however often they ask", () => {
    const { a = 0, b = 0 } = play(600, { a: 50, b: 150 }, 600_000, 120_000)
    assert.approximately(a + b, 600 * 8, 10)
    assert.isAbove(b, 0.4 * (a + b))
  })

  it("never keeps a team from less than its share, and gives the rest away", () => {
    const { a = 0, b = 0 } = play(600, { a: 50, b: 1_000 }, 600_000, 120_000)
    assert.isAtLeast(b, 0.98 * 480)
    assert.approximately(a + b, 600 * 8, 10)
  })
})

/** Time passes only when a test says so: how much a quota has again depends on it. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] })
})
afterEach(() => {
  vi.useRealTimers()
})
const pass = (milliseconds: number) => Effect.promise(() => vi.advanceTimersByTimeAsync(milliseconds))

const deployment = { cloud: "vertex", model: "m" } as const

const service = (wait: number, share = 1) =>
  Effect.provide(
    Effect.gen(function* () {
      return yield* CloudQuota
    }),
    CloudQuota.layer({ wait: Duration.millis(wait), share })
  )

/** Takes, and holds until the scope that comes with it closes. */
const take = Effect.fnUntraced(function* (
  { take }: CloudQuota["Service"],
  quota: NonNullable<Deployment["quota"]>,
  id: string,
  tokens = 0,
  used?: number
) {
  const scope = yield* Scope.make()
  const taken = take(deployment, quota, { id }, { requests: 1, tokens }, () => ({ requests: 1, tokens: used }))
  const exit = yield* Effect.exit(Scope.provide(taken, scope))
  yield* Scope.close(scope, Exit.void)
  return exit
})
const failed = (exit: Exit.Exit<void, GatewayError>): GatewayError => {
  const error = Exit.findErrorOption(exit)
  assert.strictEqual(error._tag, "Some")
  assert.instanceOf(error._tag === "Some" ? error.value : undefined, GatewayError)
  return error._tag === "Some" ? error.value : assert.fail()
}

describe("a deployment's quota", () => {
  it.effect("refuses with the seconds until there is room", () =>
    Effect.gen(function* () {
      const quota = yield* service(0)
      const limits = { requests: 2 }
      assert.isTrue(Exit.isSuccess(yield* take(quota, limits, "k")))
      assert.isTrue(Exit.isSuccess(yield* take(quota, limits, "k")))
      const error = failed(yield* take(quota, limits, "k"))
      assert.strictEqual(error.reason, "rate-limit")
      assert.strictEqual(error.code, "cloud-quota")
      assert.approximately(error.retryAfter ?? 0, 30, 1)
      assert.include(error.message, `${error.retryAfter} s`)
    })
  )

  it.effect("counts what the tokens came to", () =>
    Effect.gen(function* () {
      const quota = yield* service(0)
      const limits = { tokens: 1_000 }
      for (let n = 0; n < 10; n++) assert.isTrue(Exit.isSuccess(yield* take(quota, limits, "k", 900, 10)))
      assert.isTrue(Exit.isSuccess(yield* take(quota, limits, "k", 100, 700)))
      assert.approximately(failed(yield* take(quota, limits, "k", 900, 10)).retryAfter ?? 0, 42, 1)
    })
  )

  it.effect("is divided among processes", () =>
    Effect.gen(function* () {
      const quota = yield* service(0, 0.5)
      assert.isTrue(Exit.isSuccess(yield* take(quota, { requests: 2 }, "k")))
      failed(yield* take(quota, { requests: 2 }, "k"))
    })
  )

  it.live("lets requests wait, one of each team in turn, and no longer than they may", () =>
    Effect.gen(function* () {
      const quota = yield* service(450)
      // One comes in every 100 ms.
      const limits = { requests: 600 }
      for (let n = 0; n < 600; n++) yield* take(quota, limits, n % 2 === 0 ? "a" : "b")
      const order: Array<string> = []
      const ask = (id: string) =>
        Effect.forkChild(
          Effect.map(take(quota, limits, id), (exit) => order.push(Exit.isSuccess(exit) ? id : `-${id}`)),
          { startImmediately: true }
        )
      const asked = yield* Effect.forEach([..."aaaaaaaab"], ask)
      yield* pass(440)
      assert.strictEqual(order.join(), "a,b,a")
      yield* pass(20)
      yield* Fiber.joinAll(asked)
      assert.strictEqual(order.join(), "a,b,a,-a,-a,-a,-a,-a,-a")
    })
  )

  it.live("serves one of each team in turn, also of those that have had little", () =>
    Effect.gen(function* () {
      const quota = yield* service(5_000)
      const limits = { requests: 600 }
      for (let n = 0; n < 600; n++) yield* take(quota, limits, "before")
      const order: Array<string> = []
      const ask = (id: string) =>
        Effect.forkChild(
          Effect.map(take(quota, limits, id), () => order.push(id)),
          { startImmediately: true }
        )
      const asked = yield* Effect.forEach(["a", "a", "a", "b"], ask)
      yield* pass(1_000)
      yield* Fiber.joinAll(asked)
      assert.strictEqual(order.join(), "a,b,a,a")
    })
  )

  it.live("has places to wait for every team, however many of one wait", () =>
    Effect.gen(function* () {
      const quota = yield* service(60_000)
      const limits = { requests: 60 }
      for (let n = 0; n < 60; n++) yield* take(quota, limits, "a")
      const waitFor = (id: string) => Effect.forkChild(take(quota, limits, id), { startImmediately: true })
      const many = yield* Effect.forEach(Array.from({ length: 1_001 }), () => waitFor("a"))
      assert.isDefined(many.at(-1)?.pollUnsafe(), "more of the same team are refused")
      const other = yield* waitFor("b")
      assert.isUndefined(other.pollUnsafe())
      yield* Effect.forEach([...many, other], Fiber.interrupt, { concurrency: "unbounded" })
    })
  )

  it.live("looks at each team a few times for a request that waits, however many wait", () =>
    Effect.gen(function* () {
      const quota = yield* service(60_000)
      const waitFor = (id: string) => Effect.forkChild(take(quota, { requests: 60 }, id), { startImmediately: true })
      const teams = 400
      const waiting = yield* Effect.forEach(Array.from({ length: 60 + teams }), (_, n) => waitFor(`${n}`))
      const looked = vi.spyOn(Math, "exp")
      const last = yield* waitFor("last")
      yield* pass(15_000)
      const looks = looked.mock.calls.length
      looked.mockRestore()
      const served = waiting.slice(60).filter((fiber) => fiber.pollUnsafe() !== undefined).length
      assert.isAbove(served, 3)
      assert.isUndefined(last.pollUnsafe())
      assert.isAtMost(looks / (60 + teams), 8 * (1 + served), `${served} served`)
      yield* Effect.forEach([...waiting, last], Fiber.interrupt, { concurrency: "unbounded" })
    })
  )

  it.live("forgets who leaves", () =>
    Effect.gen(function* () {
      const quota = yield* service(5_000)
      const limits = { requests: 600 }
      for (let n = 0; n < 600; n++) yield* take(quota, limits, "a")
      const gone = yield* Effect.forkChild(take(quota, limits, "a"), { startImmediately: true })
      yield* Fiber.interrupt(gone)
      yield* pass(100)
      assert.isTrue(Exit.isSuccess(yield* take(quota, limits, "a")))
    })
  )
})
