import { availableParallelism } from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { load, unknownSettings } from "../src/Settings.ts"

describe("variables that are no settings", () => {
  it("are told from settings, and from what others read", () => {
    const environment = {
      GATEWAY_HARTBEAT: "1",
      GATEWAY_SCREEN_MOD: "strict",
      GATEWAY_HEARTBEAT: "1 second",
      GATEWAY_SCREEN_MODE: "strict",
      GATEWAY_EMBEDDINGS_CONCURRENCY: "8",
      GATEWAY_PORT: "0",
      GATEWAY_DOCS: "off",
      GATEWAY_API_KEY: "sandbox-key",
      PATH: "/usr/bin"
    }
    assert.deepStrictEqual(unknownSettings(environment), ["GATEWAY_HARTBEAT", "GATEWAY_SCREEN_MOD"])
  })
})

describe("GATEWAY_WORKERS", () => {
  it.effect.each([
    [undefined, 1],
    ["3", 3],
    ["auto", availableParallelism()]
  ] as const)("%s is %d processes", ([value, workers]) =>
    Effect.gen(function* () {
      const { gateway } = yield* load({ GATEWAY_WORKERS: value })
      assert.strictEqual(gateway.workers, workers)
    })
  )
})
