/** What a call to a guard takes of the request's memory. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeDetectors } from "../../src/guards/detector.ts"
import { load, Settings } from "../../src/Settings.ts"
import { guardedAlone } from "../support/heldAlone.ts"
import { sharedDetector } from "../support/shared.ts"

const detector = sharedDetector()

it.live("is given back when it has answered, with that of the answer", () =>
  Effect.gen(function* () {
    const { gateway } = yield* load({ BEDROCK_REGION: "us-gov-west-1" })
    let held = 0
    let most = 0
    const takeMemory = (bytes: number) => {
      held += bytes
      most = Math.max(most, held)
      return true
    }
    const detectorOf = yield* Effect.provideService(makeDetectors, Settings, gateway)
    const { judge } = detectorOf({ name: "pii", url: detector.url, when: "after", action: "redact" })
    const { about } = guardedAlone("chat")
    const texts = [{ place: "assistant", text: "His number is 123-45-6789." }] as const
    const verdict = yield* judge({ about: { ...about, takeMemory }, input: "response", texts })
    assert.deepStrictEqual(verdict?.texts, ["His number is [ssn]."])
    assert.isAbove(most, 100)
    assert.strictEqual(held, 0)
  }).pipe(Effect.scoped)
)
