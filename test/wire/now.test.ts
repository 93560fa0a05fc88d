import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { flatMapNow, mapErrorNow, mapNow } from "../../src/wire/now.ts"

/** The same value or failure, there already or still to come. */
interface Way {
  readonly name: string
  readonly as: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
}
const ways: ReadonlyArray<Way> = [
  { name: "there", as: (effect) => effect },
  { name: "to come", as: (effect) => Effect.suspend(() => effect) }
]

describe.each(ways)("what is $name", ({ name, as }) => {
  it.effect("is passed on", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* flatMapNow(as(Effect.succeed(2)), (n) => as(Effect.succeed(n + 1))), 3)
      assert.strictEqual(yield* mapNow(as(Effect.succeed(2)), (n) => n + 1), 3)
      assert.strictEqual(yield* mapErrorNow(as(Effect.succeed(2)), () => "no"), 2)
    })
  )

  it.effect("fails as it did", () =>
    Effect.gen(function* () {
      const failed = as(Effect.fail("no"))
      const never = (): Effect.Effect<never> => assert.fail("there is nothing to go on with")
      assert.strictEqual(yield* Effect.flip(flatMapNow(failed, never)), "no")
      assert.strictEqual(yield* Effect.flip(mapNow(failed, never)), "no")
      assert.strictEqual(yield* Effect.flip(mapErrorNow(failed, (error) => `${error}!`)), "no!")
    })
  )

  it(name === "there" ? "needs no runtime" : "waits for the runtime", () => {
    let seen = 0
    const effect = mapNow(as(Effect.succeed(1)), (n) => {
      seen = n
    })
    assert.strictEqual(seen, name === "there" ? 1 : 0)
    assert.strictEqual(Exit.isExit(effect), name === "there")
  })
})
