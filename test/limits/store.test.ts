import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Option, Redacted } from "effect"
import { afterAll } from "vitest"
import { Ledger } from "../../src/limits/Ledger.ts"
import { spentIn, storeLayer, tellReplicas } from "../../src/limits/store.ts"
import { hasOwnRedis, startRedis } from "./redis.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-store-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const account = { name: "a:2026-11", keep: Duration.minutes(5) }
/** What a gateway does with these settings. */
const spend = (settings: Parameters<typeof storeLayer>[0]) =>
  Effect.gen(function* () {
    const { hold, settle } = yield* Ledger
    const id = crypto.randomUUID()
    yield* hold({ id, demands: [{ account, limit: 100, amount: 0, least: 0 }], lease: Duration.minutes(1) })
    yield* settle(id, [{ account, amount: 7 }])
  }).pipe(Effect.provide(storeLayer(settings)))

describe("what a command reads beside the gateway", () => {
  it.live.skipIf(!hasOwnRedis)("is what the gateway counted, or why it is not known; never 0 instead", () =>
    Effect.gen(function* () {
      const redis = yield* Effect.acquireRelease(
        Effect.promise(() => startRedis()),
        ({ stop }) => Effect.promise(stop)
      )
      const stateDir = join(directory, "state")
      const here = { redisUrl: Option.none(), stateDir }
      const there = { redisUrl: Option.some(Redacted.make(redis.url)), stateDir }
      const reason = Effect.map(Effect.flip(spentIn(here)([account.name])), ({ message }) => message)

      assert.match(yield* reason, /there is no .*quota\.sqlite\. If the gateway counts in Redis, set GATEWAY_REDIS_URL/)
      yield* spend(there)
      assert.match(yield* reason, /counts in Redis; set GATEWAY_REDIS_URL/)
      assert.strictEqual(yield* tellReplicas(here, ["key_1"], true), "unknown")
      assert.strictEqual(yield* tellReplicas(there, ["key_1"], true), "notified")
      assert.deepStrictEqual(yield* spentIn(there)([account.name]), [7])
      yield* spend(here)
      yield* spend(here)
      assert.strictEqual(yield* tellReplicas(here, ["key_1"], true), "none")
      assert.deepStrictEqual(yield* spentIn(here)([account.name, "none"]), [14, 0])
    })
  )
})
