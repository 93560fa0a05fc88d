/** The machine's clock may be set at any moment: what waits for a time waits no longer for it, and nothing takes less than no time. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Redacted } from "effect"
import { HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { createClient } from "redis"
import { vi } from "vitest"
import { GatewayError } from "../../src/catalog/GatewayError.ts"
import { makeBreaker } from "../../src/cloud/breaker.ts"
import { makeTokenCache } from "../../src/cloud/credentials.ts"
import { RequestRecord } from "../../src/http/RequestRecord.ts"
import { makeGrace } from "../../src/limits/Keys.ts"
import { type Demand, Ledger } from "../../src/limits/Ledger.ts"
import { layerRedis } from "../../src/limits/redisStore.ts"
import { layerMemory } from "../../src/limits/sqliteStore.ts"
import { hasRedis, testRedis } from "./redis.ts"

const week = 7 * 86_400_000

/** Runs with a clock that can be set, which is a week ahead of the test's at first. */
const settable = <A, E, R>(use: (setBack: () => void) => Effect.Effect<A, E, R>) => {
  let ahead = week
  return Effect.updateService(
    use(() => {
      ahead = 0
    }),
    Clock.Clock,
    (clock) => ({
      // The test's own, with what moves it.
      ...clock,
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ahead,
      currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + ahead)
    })
  )
}

const account = { name: `b-${crypto.randomUUID()}`, keep: Duration.minutes(2), drain: 2 / 60_000 }
const one: Demand = { account, limit: 2, amount: 1, least: 1 }

describe("what a minute's limit has spent in the future is free", () => {
  it.effect("in SQLite", () =>
    settable((setBack) =>
      Effect.gen(function* () {
        const { take } = yield* Ledger
        for (const granted of [true, true, false]) assert.strictEqual((yield* take([one])).granted, granted)
        setBack()
        for (const granted of [true, true, false]) assert.strictEqual((yield* take([one])).granted, granted)
        yield* TestClock.adjust("30 seconds")
        assert.isTrue((yield* take([one])).granted)
      })
    ).pipe(Effect.provide(layerMemory))
  )

  it.live.skipIf(!hasRedis)("in Redis", () =>
    Effect.gen(function* () {
      const redis = yield* Effect.acquireRelease(Effect.promise(testRedis), ({ stop }) => Effect.promise(stop))
      const client = yield* Effect.promise(() => createClient({ url: redis.url }).connect())
      const name = `gateway:{${account.name}}`
      yield* Effect.promise(() => client.hSet(name, { spent: "2", at: String(Date.now() + week) }))
      yield* Effect.gen(function* () {
        const { take } = yield* Ledger
        for (const granted of [true, true, false]) assert.strictEqual((yield* take([one])).granted, granted)
      }).pipe(Effect.provide(layerRedis(redis.url)))
      client.destroy()
    }).pipe(Effect.scoped)
  )
})

describe("a clock that is set back", () => {
  it("changes no duration", () => {
    const now = vi.spyOn(Date, "now").mockReturnValue(week)
    const fields = { id: "", startedAt: Date.now(), method: "", path: "", source: undefined, surface: undefined }
    const record = new RequestRecord(fields)
    now.mockReturnValue(0)
    assert.isAtLeast(record.now(), week)
    assert.isBelow(record.now(), week + 60_000)
    now.mockRestore()
  })

  it.effect("does not make a token live longer", () =>
    settable((setBack) =>
      Effect.gen(function* () {
        let calls = 0
        const cache = yield* makeTokenCache(
          Effect.map(Clock.currentTimeMillis, (now) => ({
            token: Redacted.make(`t${++calls}`),
            expiresAt: now + 3_600_000
          }))
        )
        const get = Effect.map(cache.get, Redacted.value)
        assert.strictEqual(yield* get, "t1")
        setBack()
        yield* TestClock.adjust("2 hours")
        assert.strictEqual(yield* get, "t2")
      })
    )
  )

  it.effect("does not keep a circuit open", () =>
    settable((setBack) =>
      Effect.gen(function* () {
        const guarded = yield* makeBreaker
        const call = (outcome: Effect.Effect<HttpClientResponse.HttpClientResponse, GatewayError>) =>
          Effect.exit(Effect.suspend(() => guarded("vertex/x", outcome)))
        const answer = HttpClientResponse.fromWeb(HttpClientRequest.get("http://x"), new Response())
        const fine = call(Effect.succeed(answer))
        for (let n = 0; n < 10; n++) {
          yield* call(Effect.fail(new GatewayError({ reason: "upstream", message: "down" })))
        }
        assert.isTrue(Exit.isFailure(yield* fine))
        setBack()
        yield* TestClock.adjust("5 seconds")
        assert.isTrue(Exit.isSuccess(yield* fine))
      })
    )
  )

  it.effect("does not let keys outlive the grace of their file", () =>
    settable((setBack) =>
      Effect.gen(function* () {
        let ended = false
        const use = (over: boolean) =>
          Effect.sync(() => {
            ended = over
          })
        const looked = makeGrace("keys.json", Duration.minutes(10), use)
        yield* looked(false)
        setBack()
        yield* TestClock.adjust("11 minutes")
        yield* looked(false)
        assert.isTrue(ended)
      })
    )
  )
})

/** Files that ask for the time of day, which is what they need: the rest measures by a clock that is never set. */
const timesOfDay = [
  // Days and months, expiries of keys, leases that processes share.
  ...["limits/Quota.ts", "limits/Keys.ts", "limits/sqliteStore.ts", "http/authenticate.ts"],
  // Lifetimes of tokens and certificates.
  ...["identity/identityLayer.ts", "identity/token.ts"],
  // Since when something is in force, when a request came, what a page shows.
  ...[
    "catalog/CatalogStore.ts",
    "operators/cli/usage.ts",
    "operators/keys/listCommands.ts",
    "operators/status/processState.ts",
    "operators/status/view.ts",
    "http/requestMiddleware.ts",
    "http/groups.ts"
  ],
  "telemetry/spans.ts",
  // When a file was last good, and the days that its certificates have left.
  "watchFile.ts",
  // Signatures, how long a token lives when it comes, and whether the clock is right.
  ...["cloud/bedrock.ts", "cloud/credentials.ts", "operators/doctor/clouds.ts"],
  // What has expired, and how old keys are.
  "operators/doctor/files.ts",
  // How far away a date of `retry-after` is.
  "client/headers.ts"
]

it("only files that need the time of day ask for it", () => {
  const source = join(import.meta.dirname, "../../src")
  const asking = readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.startsWith("sandbox") && file !== "wire/steady.ts")
    .filter((file) => /\bDate\.now\b|currentTimeMillis|currentTimeNanos/.test(readFileSync(join(source, file), "utf8")))
  assert.deepStrictEqual(asking.sort(), timesOfDay.sort())
})
