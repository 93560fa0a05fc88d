/** A call to a guard, without a gateway: what is sent and read, and what it takes of the request's memory. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { makeDetectors } from "../../src/guards/detector.ts"
import type { PlacedText } from "../../src/guards/places.ts"
import { load, Settings } from "../../src/Settings.ts"
import { usual } from "../support/detector.ts"
import { guardedAlone } from "../support/heldAlone.ts"
import { recordingTracer } from "../support/recordingTracer.ts"
import { sharedDetector } from "../support/shared.ts"

const detector = sharedDetector()
const { about } = guardedAlone("chat")
const texts: ReadonlyArray<PlacedText> = [{ place: "assistant", text: "Seine Nummer ist 123-45-6789, glaub’ ich." }]

interface Call {
  readonly takeMemory?: (bytes: number) => boolean
  readonly url?: string
}

/** Asks about these texts; returns also the attributes of the spans. */
const judged = ({ takeMemory = () => true, url = detector.url }: Call = {}) =>
  Effect.gen(function* () {
    const { spans, tracer } = recordingTracer()
    const { gateway } = yield* load({ BEDROCK_REGION: "us-gov-west-1" })
    const detectorOf = yield* makeDetectors.pipe(Effect.provideService(Settings, gateway), Effect.withTracer(tracer))
    const { judge } = detectorOf({ name: "pii", url, boundary: "il5", when: "after", action: "redact" })
    const verdict = yield* Effect.result(judge({ about: { ...about, takeMemory }, input: "response", texts }))
    return { verdict, again: judge({ about, input: "response", texts }), attributes: spans[0]?.attributes }
  })

it.live("gives back the memory that it and its answer took", () =>
  Effect.gen(function* () {
    detector.use(usual)
    let held = 0
    let most = 0
    const takeMemory = (bytes: number) => {
      held += bytes
      most = Math.max(most, held)
      return true
    }
    const { verdict } = yield* judged({ takeMemory })
    assert.deepStrictEqual(Result.getOrThrow(verdict)?.texts, ["Seine Nummer ist [ssn], glaub’ ich."])
    assert.isAbove(most, 100)
    assert.strictEqual(held, 0)
  }).pipe(Effect.scoped)
)

it.live("is not made where there is no memory for it", () =>
  Effect.gen(function* () {
    detector.use(usual)
    const before = detector.asked.length
    const { attributes, verdict } = yield* judged({ takeMemory: (bytes) => bytes <= 0 })
    assert.strictEqual(Result.isFailure(verdict) && verdict.failure._tag, "GatewayError")
    assert.deepInclude(Object.fromEntries(attributes ?? []), {
      "gateway.guard.outcome": "memory",
      "error.type": "memory"
    })
    assert.lengthOf(detector.asked, before)
  }).pipe(Effect.scoped)
)

it.live("is made on the connection of the one before", () =>
  Effect.gen(function* () {
    detector.use(usual)
    const before = detector.connections()
    const { again } = yield* judged()
    // The connection is free a moment after the answer.
    yield* Effect.delay(again, "20 millis")
    assert.strictEqual(detector.connections(), before + 1)
  }).pipe(Effect.scoped)
)

describe("the category of an answer", () => {
  it.live.each([
    ["a", "a"],
    ["a".repeat(64), "a".repeat(64)],
    ["a".repeat(65), "policy"],
    ["two words", "policy"],
    ["", "policy"],
    [undefined, "policy"]
  ] as const)("with the reason %j is %j", ([reason, category]) =>
    Effect.gen(function* () {
      detector.use(() => ({ action: "BLOCKED", blocked_reason: reason }))
      const { attributes, verdict } = yield* judged()
      assert.deepStrictEqual(Result.getOrThrow(verdict), { category })
      assert.strictEqual(attributes?.get("gateway.guard.outcome"), "blocked")
    }).pipe(Effect.scoped)
  )
})

describe("a span has the port", () => {
  it.live.each([
    ["https://guard.invalid", 443],
    ["http://guard.invalid", 80],
    ["http://guard.invalid:81", 81]
  ] as const)("of %s: %i", ([url, port]) =>
    Effect.map(judged({ url }), ({ attributes }) => assert.strictEqual(attributes?.get("server.port"), port)).pipe(
      Effect.scoped
    )
  )
})
