import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import type { GatewayError } from "../../src/catalog/GatewayError.ts"
import { Drain, makeTerminations } from "../../src/http/Drain.ts"
import { Keys, makeAccess } from "../../src/limits/Keys.ts"

/** Callers by their IDs, and those that are refused. */
const make = Effect.gen(function* () {
  const refused = new Set<string>()
  const access = makeAccess()
  let waiting = 0
  const ended = (credential: string) =>
    Effect.suspend(() => {
      waiting++
      return Effect.ensuring(
        access.ended(() => !refused.has(credential)),
        Effect.sync(() => waiting--)
      )
    })
  const expired = yield* Deferred.make<GatewayError>()
  const endOf = yield* makeTerminations.pipe(
    Effect.provideService(
      Keys,
      Keys.of({
        authenticate: () => {
          throw new Error("not asked")
        },
        refusalOf: () => undefined,
        credentialOf: ({ id }) => id,
        ended,
        inForce: () => ({ keys: [], teams: [], since: 0 })
      })
    ),
    Effect.provideService(Drain, {
      draining: () => false,
      begin: Effect.void,
      ended: () => undefined,
      expired,
      expire: Effect.void
    })
  )
  const refuse = (id: string) =>
    Effect.andThen(
      Effect.sync(() => refused.add(id)),
      access.check
    )
  const stream = (id: string) => Effect.forkChild(endOf({ id, name: id }), { startImmediately: true })
  return { expired, refuse, stream, waiting: () => waiting }
})

const alice = `jwt_${"a".repeat(24)}`
const key = "0".repeat(64)

describe("the end of a stream", () => {
  it.effect("keeps nothing of callers whose streams are over", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { stream, waiting } = yield* make
        for (const id of [alice, key, `jwt_${"b".repeat(24)}`]) {
          const fibers = [yield* stream(id), yield* stream(id)]
          expect(waiting()).toBeGreaterThan(0)
          for (const fiber of fibers) yield* Fiber.interrupt(fiber)
        }
        expect(waiting()).toBe(0)
      })
    )
  )

  it.effect.each([
    { id: alice, message: "the token or certificate of this request no longer gives access" },
    { id: key, message: "the API key has been revoked or has expired" }
  ])("comes to all streams of a caller that is refused, and to no others: $id", ({ id, message }) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { expired, refuse, stream } = yield* make
        const streams = [yield* stream(id), yield* stream(id)]
        const other = yield* stream("another")
        yield* refuse(id)
        for (const fiber of streams) expect((yield* Fiber.join(fiber)).message).toBe(message)
        expect(other.pollUnsafe()).toBeUndefined()
        const error = yield* Fiber.join(streams[0] ?? other)
        yield* Deferred.succeed(expired, error)
        expect(yield* Fiber.join(other)).toBe(error)
      })
    )
  )
})
