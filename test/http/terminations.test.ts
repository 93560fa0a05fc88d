import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { Drain, makeTerminations } from "../../src/http/Drain.ts"
import { Keys, makeAccess } from "../../src/limits/Keys.ts"

/** Callers by their IDs, and those that are refused. */
const make = Effect.gen(function* () {
  const refused = new Set<string>()
  const access = makeAccess()
  let waiting = 0
  const onEnd = (credential: string, end: () => void) => {
    waiting++
    const stop = access.onEnd(() => !refused.has(credential), end)
    return () => {
      waiting--
      stop()
    }
  }
  const drain = Context.get(yield* Layer.build(Drain.layer), Drain)
  const terminated = yield* makeTerminations.pipe(
    Effect.provideService(
      Keys,
      Keys.of({
        authenticate: () => {
          throw new Error("not asked")
        },
        refusalOf: () => undefined,
        credentialOf: ({ id }) => id,
        onEnd,
        inForce: () => ({ keys: [], teams: [], since: 0 })
      })
    ),
    Effect.provideService(Drain, drain)
  )
  const refuse = (id: string) =>
    Effect.andThen(
      Effect.sync(() => refused.add(id)),
      access.check
    )
  const stream = (id: string) => Effect.forkChild(Effect.flip(terminated({ id, name: id })), { startImmediately: true })
  return { drain, refuse, stream, waiting: () => waiting }
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
    { id: key, message: "the API key of this request no longer gives access" }
  ])("comes to all streams of a caller that is refused, and to no others: $id", ({ id, message }) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { drain, refuse, stream, waiting } = yield* make
        const streams = [yield* stream(id), yield* stream(id)]
        const other = yield* stream("another")
        yield* refuse(id)
        for (const fiber of streams) {
          expect(yield* Fiber.join(fiber)).toMatchObject({ message, reason: "unauthenticated", code: "revoked" })
        }
        expect(other.pollUnsafe()).toBeUndefined()
        expect(waiting()).toBe(1)
        yield* drain.expire
        expect((yield* Fiber.join(other)).message).toContain("shutting down")
        yield* Fiber.join(yield* stream("late"))
        expect(waiting()).toBe(0)
      })
    )
  )
})
