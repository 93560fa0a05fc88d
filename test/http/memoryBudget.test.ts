/** Room in memory: who gets some, and that all of it comes back. */
import { Readable } from "node:stream"
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { noRoom } from "../../src/catalog/GatewayError.ts"
import { bodyReader } from "../../src/http/body.ts"
import { type MemoryBudget, makeMemoryBudget } from "../../src/http/RequestRecord.ts"
import { chat } from "../../src/surfaces/chat.ts"
import { emptyRecord } from "../support/emptyRecord.ts"

const mib = 2 ** 20
const requestIn = (room: MemoryBudget) => emptyRecord(undefined, room)

it("bodies fit up to the bound, and one that is alone up to half of the heap", () => {
  const room = makeMemoryBudget(10 * mib)
  const largest = requestIn(room)
  assert.isTrue(largest.admitBody(40 * mib))
  assert.isFalse(largest.takeMemory(1))
  largest.release()
  const [alone, second, third] = [requestIn(room), requestIn(room), requestIn(room)]
  assert.isTrue(alone.admitBody(20 * mib))
  assert.isFalse(second.admitBody(1))
  second.release()
  alone.release()
  assert.isTrue(second.admitBody(6 * mib))
  assert.isTrue(third.admitBody(4 * mib))
  assert.isFalse(third.admitBody(1))
})

it("large bodies leave a quarter more to small ones", () => {
  const room = makeMemoryBudget(8 * mib)
  const [large, late] = [requestIn(room), requestIn(room)]
  assert.isTrue(large.admitBody(7 * mib))
  assert.isTrue(late.admitBody(1 * mib))
  const small = Array.from({ length: 9 }, () => requestIn(room).admitBody(256 * 1024))
  assert.deepStrictEqual(small, [...Array.from({ length: 8 }, () => true), false])
  assert.isFalse(late.admitBody(1))
})

it("running requests have half as much again, and those that hold little are never given up", () => {
  const room = makeMemoryBudget(10 * mib)
  const [large, other, small] = [requestIn(room), requestIn(room), requestIn(room)]
  assert.isTrue(large.admitBody(9 * mib))
  assert.isTrue(other.admitBody(1 * mib))
  assert.isTrue(other.takeMemory(5 * mib))
  assert.isFalse(other.takeMemory(1))
  assert.isTrue(small.takeMemory(256 * 1024))
  assert.isFalse(small.takeMemory(1))
  for (const request of [large, other, small]) request.release()
  assert.isTrue(small.admitBody(10 * mib))
  assert.isTrue(other.takeMemory(5 * mib))
})

it.effect("the values of a body count beside its bytes, those in texts of JSON too", () =>
  Effect.gen(function* () {
    const read = bodyReader(chat, { bodyTimeout: Duration.seconds(1), maxBodyBytes: 10 * mib, textArrays: false })
    const values = JSON.stringify(Array.from({ length: 20_000 }, () => ({})))
    const call = { id: "c", type: "function", function: { name: "f", arguments: `{"a":${values}}` } }
    const asked = (extra: object, messages: ReadonlyArray<object> = []) =>
      Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }, ...messages], ...extra }))
    const reading = (body: Buffer) => {
      const headers = { "content-type": "application/json", "content-length": String(body.length) }
      const request = { headers, source: Readable.from([body]) } as unknown as HttpServerRequest.HttpServerRequest
      return read(request, requestIn(makeMemoryBudget(200_000)))
    }
    yield* reading(asked({ user: "x".repeat(20_000) }))
    assert.strictEqual(yield* Effect.flip(reading(asked({ zz: JSON.parse(values) }))), noRoom)
    assert.strictEqual(yield* Effect.flip(reading(asked({}, [{ role: "assistant", tool_calls: [call] }]))), noRoom)
  })
)
