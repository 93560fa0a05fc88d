import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { parseBook } from "../../src/limits/KeyFile.ts"
import { digestOf } from "../../src/limits/Keys.ts"
import { assertShortTurns } from "../support/shortTurns.ts"

it("10,000 keys are read without holding up others", async () => {
  const created = "2026-11-21T00:00:00.000Z"
  const keys = Array.from({ length: 10_000 }, (_, at) => ({
    id: `key_${at}`,
    name: "x",
    digest: digestOf(`${at}`),
    created,
    acknowledged: created,
    models: ["claude-*"],
    levels: ["il5"]
  }))
  const text = JSON.stringify({ version: 1, keys })
  await assertShortTurns(35, async () => {
    assert.lengthOf((await Effect.runPromise(parseBook("keys.json", text))).keys, keys.length)
  })
})
