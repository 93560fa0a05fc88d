/** Room in memory: who gets some, and that all of it comes back. */
import { assert, it } from "@effect/vitest"
import { type MemoryBudget, makeMemoryBudget, RequestRecord } from "../../src/http/RequestRecord.ts"

const mib = 2 ** 20
const requestIn = (room: MemoryBudget) =>
  new RequestRecord({ id: "", startedAt: 0, method: "", path: "", source: undefined, surface: undefined }, room)

it("bodies fit up to the bound, and one that is alone always", () => {
  const room = makeMemoryBudget(10 * mib)
  const [alone, second, third] = [requestIn(room), requestIn(room), requestIn(room)]
  assert.isTrue(alone.admit(20 * mib))
  assert.isFalse(second.admit(1))
  second.release()
  alone.release()
  assert.isTrue(second.admit(6 * mib))
  assert.isTrue(third.admit(4 * mib))
  assert.isFalse(third.admit(1))
})

it("large bodies leave a quarter more to small ones", () => {
  const room = makeMemoryBudget(8 * mib)
  const [large, late] = [requestIn(room), requestIn(room)]
  assert.isTrue(large.admit(7 * mib))
  assert.isTrue(late.admit(1 * mib))
  const small = Array.from({ length: 9 }, () => requestIn(room).admit(256 * 1024))
  assert.deepStrictEqual(small, [...Array.from({ length: 8 }, () => true), false])
  assert.isFalse(late.admit(1))
})

it("running requests have half as much again, and those that hold little are never given up", () => {
  const room = makeMemoryBudget(10 * mib)
  const [large, other, small] = [requestIn(room), requestIn(room), requestIn(room)]
  assert.isTrue(large.admit(9 * mib))
  assert.isTrue(other.admit(1 * mib))
  assert.isTrue(other.take(5 * mib))
  assert.isFalse(other.take(1))
  assert.isTrue(small.take(256 * 1024))
  assert.isFalse(small.take(1))
  for (const request of [large, other, small]) request.release()
  assert.isTrue(small.admit(10 * mib))
  assert.isTrue(other.take(5 * mib))
})
