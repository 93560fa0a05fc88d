/** Whoever watches a stream for silence (`stream/Silence.ts`). */
import { afterEach, assert, beforeEach, it, vi } from "vitest"
import { clock, Silence } from "../../src/stream/Silence.ts"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const watch = (limit: number) => {
  const began = performance.now()
  const noticed: Array<number> = []
  let last = 0
  const lastHeard = () => last
  const silence = new Silence(limit, lastHeard, () => noticed.push(performance.now() - began))
  const hear = () => {
    last = clock()
  }
  return { silence, noticed, hear }
}

it("is noticed each time that nothing was heard for so long", () => {
  const { noticed } = watch(100)
  vi.advanceTimersByTime(350)
  assert.deepStrictEqual(noticed, [100, 200, 300])
})

it("counts from the last that was heard", () => {
  const { hear, noticed } = watch(100)
  vi.advanceTimersByTime(60)
  hear()
  vi.advanceTimersByTime(30)
  hear()
  vi.advanceTimersByTime(99)
  assert.deepStrictEqual(noticed, [])
  vi.advanceTimersByTime(1)
  assert.deepStrictEqual(noticed, [190])
  hear()
  vi.advanceTimersByTime(100)
  assert.deepStrictEqual(noticed, [190, 290])
})

it("is not noticed any more once it is closed, also by whoever notices it", () => {
  const { noticed, silence } = watch(100)
  silence.close()
  vi.advanceTimersByTime(500)
  assert.deepStrictEqual(noticed, [])
  const closing: Silence = new Silence(
    100,
    () => 0,
    () => {
      noticed.push(1)
      closing.close()
    }
  )
  vi.advanceTimersByTime(500)
  assert.deepStrictEqual(noticed, [1])
})
