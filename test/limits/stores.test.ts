import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, type Layer, Result } from "effect"
import { afterAll, beforeAll } from "vitest"
import type { CallerIdentity } from "../../src/contract/Security.ts"
import { type Account, type Demand, Ledger, type LedgerError } from "../../src/limits/Ledger.ts"
import { Quota } from "../../src/limits/Quota.ts"
import { RateLimit } from "../../src/limits/RateLimit.ts"
import { layerRedis } from "../../src/limits/redisStore.ts"
import { StatusBoard } from "../../src/limits/replicas.ts"
import { layerFile, layerMemory } from "../../src/limits/sqliteStore.ts"
import { usageTotalsOf } from "../../src/limits/usageTotals.ts"
import { hasRedis, type TestRedis, testRedis } from "./redis.ts"
import { callerWith, usedBy, whole } from "./support.ts"

type Store = Layer.Layer<Ledger | StatusBoard, LedgerError>

const lease = Duration.minutes(20)
const account = (): Account => ({ name: crypto.randomUUID(), keep: Duration.minutes(5) })

/** What every store must do alike. */
const conforms = (store: () => Store) => {
  const run = <A, E>(effect: Effect.Effect<A, E, Ledger | StatusBoard>) =>
    Effect.suspend(() => Effect.provide(effect, store()))

  it.live("keeps the last state of each process while a status page is open", () =>
    run(
      Effect.gen(function* () {
        const board = yield* StatusBoard
        assert.isFalse(yield* board.post("a", () => assert.fail("nobody looks")))
        assert.deepStrictEqual(yield* board.read, [])
        for (const [id, text] of [
          ["a", "1"],
          ["b", "2"],
          ["a", "3"]
        ] as const) {
          assert.isTrue(yield* board.post(id, () => text))
        }
        assert.deepStrictEqual([...(yield* board.read)].sort(), ["2", "3"])
      })
    )
  )

  it.live("holds all or nothing, settles once, and tells how the accounts stand", () =>
    run(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const [a, b] = [account(), account()]
        const demand = (of: Account, amount: number, least = amount) => ({ account: of, amount, least, limit: 100 })
        const hold = (id: string, ...demands: ReadonlyArray<Demand>) =>
          ledger.hold({ id: `${a.name}-${id}`, demands, lease })
        const settle = (id: string, ...amounts: ReadonlyArray<number>) =>
          ledger.settle(
            `${a.name}-${id}`,
            amounts.map((amount, n) => ({ account: n === 0 ? a : b, amount }))
          )
        const spent = Effect.suspend(() => ledger.spent([a.name, b.name, account().name]))
        const standing = { spent: 0, held: 0, amount: 0 }

        assert.deepStrictEqual(yield* hold("1", demand(a, 60), demand(b, 20)), {
          granted: true,
          shares: [
            { ...standing, amount: 60 },
            { ...standing, amount: 20 }
          ]
        })
        assert.deepStrictEqual(yield* hold("2", demand(a, 41), demand(b, 1)), {
          granted: false,
          shares: [
            { spent: 0, held: 60, amount: 40 },
            { spent: 0, held: 20, amount: 1 }
          ]
        })
        assert.deepStrictEqual(yield* hold("3", demand(a, 90, 40), demand(b, 90, 0)), {
          granted: true,
          shares: [
            { spent: 0, held: 60, amount: 40 },
            { spent: 0, held: 20, amount: 80 }
          ]
        })
        yield* settle("1", 10, 5)
        yield* settle("1", 10, 5)
        assert.deepStrictEqual(yield* spent, [10, 5, 0])
        yield* settle("3", 0, 0)
        yield* settle("never held", 50, 50)
        assert.deepStrictEqual(yield* spent, [10, 5, 0])
        yield* hold("4", demand(a, 90), demand(b, 95))
        yield* settle("4", 95, 0)
        assert.deepStrictEqual(yield* hold("5", demand(a, 1)), {
          granted: false,
          shares: [{ spent: 105, held: 0, amount: -5 }]
        })
        assert.deepStrictEqual(yield* spent, [105, 5, 0])
      })
    )
  )

  it.live("charges more than was held, once, however often it is settled", () =>
    run(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const [a, b] = [account(), account()]
        const charges = [
          { account: a, amount: 7 },
          { account: b, amount: 3_000_000_000_000 }
        ]
        const demands = charges.map(({ account }) => ({ account, limit: 2 ** 53 - 1, amount: 0, least: 0 }))
        for (const id of [a.name, b.name]) yield* ledger.hold({ id, demands, lease })
        for (const id of [a.name, a.name, b.name]) yield* ledger.settle(id, charges)
        assert.deepStrictEqual(yield* ledger.spent([a.name, b.name]), [14, 6_000_000_000_000])
      })
    )
  )

  it.live("a hold comes back at the end of its lease, and a late settlement still counts, once", () =>
    run(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const a = account()
        const hold = (id: string, amount: number, lasts: Duration.Duration) =>
          ledger.hold({ id, demands: [{ account: a, amount, least: amount, limit: 100 }], lease: lasts })
        const short = crypto.randomUUID()
        assert.isTrue((yield* hold(short, 100, Duration.millis(400))).granted)
        assert.isFalse((yield* hold(crypto.randomUUID(), 100, lease)).granted)
        yield* Effect.sleep("500 millis")
        assert.isTrue((yield* hold(crypto.randomUUID(), 30, lease)).granted)
        const late = ledger.settle(short, [{ account: a, amount: 70 }])
        yield* Effect.andThen(late, late)
        assert.deepStrictEqual(yield* ledger.spent([a.name]), [70])
        assert.isFalse((yield* hold(crypto.randomUUID(), 1, lease)).granted)
      })
    )
  )

  it.live(
    "1,000 requests at once never pass the quota, none is turned away for the store, and what is not used comes back",
    () =>
      run(
        Effect.gen(function* () {
          const quota = yield* Quota
          const key = callerWith({ monthlyTokens: 1000 })
          let running = 0
          let most = 0
          const request = Effect.gen(function* () {
            const reservation = yield* quota.reserve(key, whole(100))
            // A process that is busy is no reason to take the store for lost.
            const until = performance.now() + (running === 0 ? 1200 : 0)
            running += 100
            most = Math.max(most, running)
            while (performance.now() < until);
            yield* Effect.sleep("300 millis")
            running -= 100
            reservation.use(7)
          }).pipe(Effect.scoped, Effect.result)
          const results = yield* Effect.all(
            Array.from({ length: 1000 }, () => request),
            { concurrency: "unbounded" }
          )
          const reasons = new Set(results.map((result) => (Result.isFailure(result) ? result.failure.reason : "ok")))
          assert.deepStrictEqual([...reasons].sort(), ["ok", "quota"])
          const served = results.filter(Result.isSuccess).length
          assert.deepStrictEqual([served, most], [10, 1000])
          assert.strictEqual(yield* usedBy(key), 70)
        }).pipe(Effect.provide(Quota.layer(lease)))
      )
  )

  it.live("a request fits its key and its team, in every limit or in none, also under races", () =>
    run(
      Effect.gen(function* () {
        const quota = yield* Quota
        const team = { name: crypto.randomUUID(), monthlyTokens: 1000, monthlyCost: 1 }
        const prices = { currency: "USD", date: "2026-11-01", input: 800, output: 0 }
        const keys = Array.from({ length: 5 }, () => callerWith({ monthlyTokens: 500, dailyTokens: 400, team }))
        const request = (key: CallerIdentity) =>
          Effect.gen(function* () {
            const reservation = yield* quota.reserve(key, { ...whole(100), prices })
            yield* Effect.sleep("300 millis")
            reservation.use(90, 72_000)
          }).pipe(Effect.scoped, Effect.result)
        const results = yield* Effect.all(
          Array.from({ length: 200 }, (_, n) => request(keys[n % 5] ?? assert.fail())),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(results.filter(Result.isSuccess).length, 10)
        const { keys: used, teams } = yield* quota.usageTotals({ keys, teams: [team] })
        for (const use of used) {
          assert.isAtMost(use.monthlyTokens, 4 * 90)
          assert.strictEqual(use.dailyTokens, use.monthlyTokens)
        }
        assert.deepStrictEqual(teams[0], {
          monthlyTokens: 900,
          monthlyCost: 720_000,
          dailyTokens: 0,
          dailyCost: 0,
          lastUse: 0
        })
        const refusal = (key: CallerIdentity, tokens: number) =>
          Effect.map(Effect.flip(Effect.scoped(quota.reserve(key, { ...whole(tokens), prices }))), (error) => error)
        const other = callerWith({ team })
        assert.match(
          (yield* refusal(other, 101)).message,
          /100 of the team [\w-]+'s 1000 tokens of this month are left/
        )
        yield* Effect.scoped(
          Effect.map(quota.reserve(other, { ...whole(1), prices }), (reservation) => reservation.use(1, 999_999))
        )
        assert.match((yield* refusal(other, 1)).message, /^The team [\w-]+ has used its 1 USD of this month\. The next/)
        const free = yield* Effect.flip(Effect.scoped(quota.reserve(other, whole(1))))
        assert.deepStrictEqual([free.reason, free.retryAfter], ["forbidden", undefined])
        assert.include(free.message, "no price")
        const daily = callerWith({ monthlyTokens: 1000, dailyTokens: 50 })
        yield* Effect.scoped(Effect.map(quota.reserve(daily, whole(50)), (reservation) => reservation.use(50)))
        const today = yield* refusal(daily, 1)
        assert.match(today.message, /This API key has used its 50 tokens of today\. The next day starts on/)
        assert.isAtMost(today.retryAfter ?? Number.POSITIVE_INFINITY, 86_400)
      }).pipe(Effect.provide(Quota.layer(lease)))
    )
  )

  it.live("raises counts, and lowers none", () =>
    run(
      Effect.gen(function* () {
        const { raise, spent } = yield* Ledger
        const [a, b] = [account(), account()]
        const raised = (...amounts: ReadonlyArray<number>) =>
          Effect.andThen(
            raise([a, b].map((of, n) => ({ account: of, amount: amounts[n] ?? 0 }))),
            spent([a.name, b.name])
          )
        assert.deepStrictEqual(yield* raised(5, 3_000_000_000_000), [5, 3_000_000_000_000])
        assert.deepStrictEqual(yield* raised(7, 1), [7, 3_000_000_000_000])
        assert.deepStrictEqual(yield* Effect.andThen(raise([]), spent([a.name])), [7])
      })
    )
  )

  it.live("what no limit counts is added up and written beside the requests", () =>
    run(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const team = { name: crypto.randomUUID(), monthlyTokens: 10 }
        const caller = callerWith({ team })
        const startedAt = Date.now()
        yield* Effect.gen(function* () {
          const { note, usageTotals } = yield* Quota
          for (let n = 0; n < 10; n++) note(caller, startedAt - n, 7, 3)
          yield* Effect.repeat(Effect.delay(usageTotals({ keys: [caller], teams: [team] }), "50 millis"), {
            until: ({ keys }) => keys[0]?.monthlyTokens === 70
          })
          note(caller, startedAt - 1000, 1, 0)
        }).pipe(Effect.provide(Quota.layer(lease)))
        const { keys, teams } = yield* usageTotalsOf(ledger, { keys: [caller], teams: [team] }, Date.now())
        assert.deepStrictEqual(keys[0], {
          ...{ monthlyTokens: 71, monthlyCost: 30, dailyTokens: 0, dailyCost: 0 },
          lastUse: startedAt
        })
        // The team's tokens have a limit: they are settled by each request.
        assert.deepStrictEqual(teams[0], {
          monthlyTokens: 0,
          monthlyCost: 30,
          dailyTokens: 0,
          dailyCost: 0,
          lastUse: 0
        })
      })
    )
  )

  it.live("what a minute's limit spends is free again evenly, and a settlement corrects it, once", () =>
    run(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const [fast, slow] = [account(), account()].map((of, n): Account => ({ ...of, drain: n === 0 ? 1 : 1e-9 }))
        const demand = (of: Account = assert.fail(), amount: number, least = amount) => ({
          ...{ account: of, amount, least, limit: 100 }
        })
        const id = crypto.randomUUID()
        const held = yield* ledger.hold({ id, demands: [demand(slow, 60)], lease })
        assert.deepStrictEqual(held, { granted: true, shares: [{ spent: 0, held: 0, amount: 60 }] })
        const more = yield* ledger.hold({ id: `${id}-2`, demands: [demand(slow, 90, 30)], lease })
        assert.deepStrictEqual([more.granted, more.shares[0]?.amount], [true, 40])
        assert.isFalse((yield* ledger.take([demand(slow, 1)])).granted)
        // It used 90 of the 60 that it took, the other nothing.
        for (const _ of [1, 2]) yield* ledger.settle(id, [{ account: slow ?? assert.fail(), amount: 90 }])
        for (const _ of [1, 2]) yield* ledger.settle(`${id}-2`, [{ account: slow ?? assert.fail(), amount: 0 }])
        const after = yield* ledger.take([demand(slow, 10)])
        assert.deepStrictEqual([after.granted, Math.round(after.shares[0]?.spent ?? 0)], [true, 90])
        assert.isFalse((yield* ledger.take([demand(slow, 1), demand(fast, 1)])).granted)
        assert.isTrue((yield* ledger.take([demand(fast, 100)])).granted)
        yield* Effect.sleep("60 millis")
        const drained = yield* ledger.take([demand(fast, 50)])
        assert.isTrue(drained.granted)
        assert.isBelow(drained.shares[0]?.spent ?? 100, 50)
      })
    )
  )

  it.live("tokens a minute: a request holds what it may use, and gives back what it did not", () =>
    run(
      Effect.gen(function* () {
        const quota = yield* Quota
        const team = { name: crypto.randomUUID(), tokensPerMinute: 1500 }
        const key = callerWith({ tokensPerMinute: 1000, monthlyTokens: 100_000, team })
        const use = (tokens: number, used: number, caller: CallerIdentity = key) =>
          Effect.scoped(
            Effect.map(quota.reserve(caller, whole(tokens)), (reservation) => {
              reservation.use(used)
              return reservation.headers
            })
          )
        const headers = yield* use(900, 400)
        assert.deepStrictEqual(headers, {
          "x-ratelimit-limit-tokens": "1000",
          "x-ratelimit-remaining-tokens": "100",
          "x-ratelimit-reset-tokens": "54s"
        })
        yield* use(500, 600)
        const full = yield* Effect.flip(use(500, 0))
        assert.strictEqual(full.reason, "rate-limit")
        assert.match(
          full.message,
          /^This API key may use 1000 tokens a minute\. This request needs at least 500, and \d+ are/
        )
        assert.isTrue((full.retryAfter ?? 0) >= 28 && (full.retryAfter ?? 0) <= 30, String(full.retryAfter))
        assert.strictEqual(full.headers?.["x-ratelimit-limit-tokens"], "1000")
        const never = yield* Effect.flip(use(1001, 0))
        assert.deepStrictEqual([never.reason, never.retryAfter], ["quota", undefined])
        assert.match(
          never.message,
          /at least 1001 tokens, more than this API key's 1000 tokens a minute\. Shorten it\./
        )
        const ofTeam = yield* Effect.flip(use(900, 0, callerWith({ team })))
        assert.match(ofTeam.message, /^The team [\w-]+ may use 1500 tokens a minute/)
        assert.strictEqual(yield* usedBy(key), 1000)
      }).pipe(Effect.provide(Quota.layer(lease)))
    )
  )

  it.live("money a day and a month, of a key as of a team", () =>
    run(
      Effect.gen(function* () {
        const quota = yield* Quota
        const team = { name: crypto.randomUUID(), dailyCost: 3 }
        const prices = { currency: "USD", date: "2026-11-01", input: 1_000_000, output: 0 }
        const key = callerWith({ dailyCost: 2, monthlyCost: 10, team })
        const use = (caller: CallerIdentity, cost: number) =>
          Effect.scoped(
            Effect.map(quota.reserve(caller, { ...whole(1), prices }), (reservation) => reservation.use(1, cost))
          )
        yield* use(key, 1_500_000)
        assert.match(
          (yield* Effect.flip(use(key, 0))).message,
          /at least 1 USD, and 0\.5 of this API key's 2 USD of today/
        )
        const cheap = Effect.scoped(
          Effect.map(quota.reserve(key, { ...whole(1), prices: { ...prices, input: 2500 } }), (reservation) =>
            reservation.use(1, 499_000)
          )
        )
        yield* cheap
        assert.match(
          (yield* Effect.flip(cheap)).message,
          /at least 0\.0025 USD, and 0\.001 of this API key's 2 USD of today/
        )
        yield* use(callerWith({ team }), 1_500_000)
        assert.match(
          (yield* Effect.flip(use(callerWith({ team }), 0))).message,
          /^The team [\w-]+ has used its 3 USD of today/
        )
        const free = yield* Effect.flip(Effect.scoped(quota.reserve(callerWith({ monthlyCost: 1 }), whole(1))))
        assert.strictEqual(free.reason, "forbidden")
        assert.match(free.message, /^This API key has a limit on its cost, and this model has no price at this level/)
        const { keys, teams } = yield* quota.usageTotals({ keys: [key], teams: [team] })
        assert.deepStrictEqual([keys[0]?.dailyCost, keys[0]?.monthlyCost], [1_999_000, 1_999_000])
        assert.strictEqual(teams[0]?.dailyCost, 3_499_000)
      }).pipe(Effect.provide(Quota.layer(lease)))
    )
  )

  it.live("requests a minute and streams at a time", () =>
    run(
      Effect.gen(function* () {
        const limit = yield* RateLimit
        const key = callerWith({ requestsPerMinute: 2, streams: 2 })
        const headers = yield* limit.take(key)
        assert.deepStrictEqual(headers, {
          "x-ratelimit-limit-requests": "2",
          "x-ratelimit-remaining-requests": "1",
          "x-ratelimit-reset-requests": "30s"
        })
        yield* limit.take(key)
        const error = yield* Effect.flip(limit.take(key))
        assert.strictEqual(error.reason, "rate-limit")
        assert.isTrue(error.retryAfter !== undefined && error.retryAfter >= 29 && error.retryAfter <= 30)
        assert.strictEqual(error.headers?.["x-ratelimit-remaining-requests"], "0")
        const other = yield* limit.take(callerWith({ requestsPerMinute: 5 }))
        assert.strictEqual(other["x-ratelimit-remaining-requests"], "4")

        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Effect.scoped(limit.stream(key))
            const end = yield* limit.stream(key)
            yield* Effect.scoped(
              Effect.gen(function* () {
                yield* limit.stream(key)
                yield* end
                yield* limit.stream(key)
              })
            )
            yield* limit.stream(key)
            yield* limit.stream(key)
            // It is given back once.
            yield* end
            const error = yield* Effect.flip(Effect.scoped(limit.stream(key)))
            assert.strictEqual(error.reason, "rate-limit")
            assert.include(error.message, "2 streams at a time")
          })
        )
        yield* Effect.scoped(limit.stream(key))

        const team = { name: crypto.randomUUID(), requestsPerMinute: 3, streams: 1 }
        const first = callerWith({ requestsPerMinute: 2, team })
        const second = callerWith({ requestsPerMinute: 2, team })
        yield* limit.take(first)
        yield* limit.take(first)
        assert.match((yield* Effect.flip(limit.take(first))).message, /^This API key may send 2 requests a minute/)
        // A request that the key refuses is not counted for the team.
        assert.strictEqual((yield* limit.take(second))["x-ratelimit-remaining-requests"], "0")
        const full = yield* Effect.flip(limit.take(second))
        assert.match(full.message, /^The team [\w-]+ may send 3 requests a minute/)
        assert.strictEqual(
          (yield* limit.take(callerWith({ requestsPerMinute: 2 })))["x-ratelimit-remaining-requests"],
          "1"
        )
        const busy = yield* Effect.scoped(
          Effect.andThen(limit.stream(first), Effect.flip(Effect.scoped(limit.stream(second))))
        )
        assert.match(busy.message, /^The team [\w-]+ may run 1 stream at a time/)
      }).pipe(Effect.provide(RateLimit.layer("15 minutes")))
    )
  )
}

describe("in memory", () => conforms(() => layerMemory))

describe("in a file", () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-state-"))
  afterAll(() => rmSync(directory, { recursive: true }))
  conforms(() => layerFile(join(directory, "state")))
})

describe.skipIf(!hasRedis)("in Redis", () => {
  let redis: TestRedis
  beforeAll(async () => {
    redis = await testRedis()
  })
  afterAll(() => redis.stop())
  conforms(() => layerRedis(redis.url))

  it.live("shows all processes, however their clocks differ", () =>
    Effect.gen(function* () {
      const board = yield* StatusBoard
      yield* board.read
      for (const [id, off] of [
        ["on time", 0],
        ["ahead", 60_000],
        ["behind", -60_000]
      ] as const) {
        const clock: Clock.Clock = Object.assign(Object.create(yield* Clock.Clock), {
          currentTimeMillis: Effect.sync(() => Date.now() + off),
          currentTimeMillisUnsafe: () => Date.now() + off
        })
        yield* Effect.provideService(
          board.post(id, () => id),
          Clock.Clock,
          clock
        )
      }
      assert.includeMembers([...(yield* board.read)], ["ahead", "behind", "on time"])
    }).pipe(Effect.provide(layerRedis(redis.url)))
  )
})
