/** A refusal whose body never ends holds its caller no longer than a moment, and keeps no connection. */
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { createClient } from "../../src/Client.ts"
import { GatewayClient } from "../../src/EffectClient.ts"
import { type Answer, type FakeGateway, fakeGateway, json } from "./fakeGateway.ts"

const endless: Answer = (response) =>
  void response.writeHead(429, { "content-type": "application/json", "retry-after": "0" }).write('{"error":')
const list = json(200, { object: "list", data: [] })

let fake: FakeGateway | undefined
afterEach(() => {
  vi.restoreAllMocks()
  return fake?.stop()
})
const started = async (...answers: ReadonlyArray<Answer>) => {
  fake = await fakeGateway(...answers)
  return fake
}
const abandoned = async (gateway: FakeGateway, count: number) => {
  while (gateway.abandoned() < count) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe("the promise client", () => {
  it("sends again, and fails with the status after the last attempt", async () => {
    const timeout = AbortSignal.timeout
    const asked = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => timeout.call(AbortSignal, 50))
    const gateway = await started(endless, list, endless)
    const client = createClient({ baseUrl: gateway.url, apiKey: "k", retries: 1 })
    assert.isEmpty((await client.models.list()).data)
    await abandoned(gateway, 1)
    const failure: unknown = await client.models.list().catch((error: unknown) => error)
    assert.deepInclude(failure, { _tag: "ConnectionError", message: "the reply did not come whole (status 429)" })
    await abandoned(gateway, 3)
    assert.lengthOf(gateway.requests, 4)
    assert.deepStrictEqual(asked.mock.calls, [[10_000], [10_000], [10_000]])
  })
})

describe("the Effect client", () => {
  it.effect("sends again, and fails with the status after the last attempt", () =>
    Effect.gen(function* () {
      const gateway = yield* Effect.promise(() => started(endless, list, endless))
      const client = GatewayClient.layer({ baseUrl: gateway.url, apiKey: "k", retries: 1 })
      const listed = Effect.flatMap(GatewayClient, ({ models }) => models.list()).pipe(
        Effect.provide(client),
        Effect.provide(FetchHttpClient.layer)
      )
      /** Lets time pass while sockets do their work. */
      const inTime = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
          while (fiber.pollUnsafe() === undefined) {
            yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
            yield* TestClock.adjust("1 second")
          }
          return yield* Fiber.join(fiber)
        })
      assert.isEmpty((yield* inTime(listed)).body.data)
      yield* Effect.promise(() => abandoned(gateway, 1))
      const failure = yield* inTime(Effect.flip(listed))
      assert.include(String(failure), "the reply did not come whole (status 429)")
      yield* Effect.promise(() => abandoned(gateway, 3))
      assert.lengthOf(gateway.requests, 4)
    })
  )
})
