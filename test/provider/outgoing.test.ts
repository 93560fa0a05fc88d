/** A body on its way out, small and large (docs/decisions.md#work-in-slices). */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { digestOf, Outgoing } from "../../src/provider/Outgoing.ts"
import { transportError } from "../../src/provider/transport.ts"

const value = { a: "é".repeat(200_000), list: [1, null, { b: "\ud800" }], long: "x".repeat(10_000) }
const text = JSON.stringify(value)
const bytesOf = (body: ReturnType<Outgoing["forWire"]>["body"]) =>
  typeof body === "string" || body instanceof Uint8Array ? Buffer.from(body) : Buffer.concat([...body])

for (const large of [false, true]) {
  describe(large ? "a large body" : "a small body", () => {
    it.effect("is what the engine prints, as often as it is sent", () =>
      Effect.gen(function* () {
        const outgoing = new Outgoing(value, { large, hashed: true })
        if (outgoing.printing !== undefined) yield* outgoing.printing
        for (const stream of [false, true, true]) {
          const { body, length } = outgoing.forWire(stream)
          assert.strictEqual(bytesOf(body).toString(), text)
          assert.strictEqual(length ?? String(Buffer.byteLength(text)), String(Buffer.byteLength(text)))
        }
        const signed = outgoing.signable()
        if (typeof signed === "string") assert.strictEqual(signed, text)
        else assert.deepStrictEqual(digestOf(signed), createHash("sha256").update(text).digest())
      })
    )

    it.effect("is not held once it is released, by whoever still has an iterator of it", () =>
      Effect.gen(function* () {
        const outgoing = new Outgoing(value, { large })
        if (outgoing.printing !== undefined) yield* outgoing.printing
        const { body } = outgoing.forWire(true)
        outgoing.release()
        assert.strictEqual(bytesOf(body).length, 0)
        assert.isUndefined(outgoing.printing)
        assert.strictEqual(outgoing.signable(), "")
      })
    )
  })
}

it("the small body of a stream has memory of its own", () => {
  const { body } = new Outgoing({ a: 1 }, { large: false }).forWire(true)
  assert.strictEqual(body instanceof Uint8Array ? body.buffer.byteLength : undefined, 7)
})

it("too few descriptors are the gateway's own shortage", () => {
  const error = transportError(Object.assign(new Error("connect EMFILE"), { code: "EMFILE" }))
  assert.deepInclude({ ...error }, { reason: "overloaded", retryAfter: 1 })
})
