import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { makeHistogram } from "../../src/operators/histogram.ts"

describe.each([1.01 ** 2, 2 ** 0.25])("a histogram by a factor of %d", (factor) => {
  const { add, addPairs, empty, pairs, percentile } = makeHistogram({ smallest: 0.05, largest: 1e7, factor })
  const filled = (values: ReadonlyArray<number>) => {
    const counts = empty()
    for (const value of values) add(counts, value)
    return counts
  }

  it.prop(
    "has percentiles near the true ones, also when it was added up from parts",
    {
      values: Schema.Array(Schema.Finite.check(Schema.isBetween({ minimum: 0.1, maximum: 1e7 }))).check(
        Schema.isMinLength(1)
      ),
      share: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
    },
    ({ share, values }) => {
      const sorted = [...values].sort((left, right) => left - right)
      const exact = sorted[Math.max(1, Math.ceil(share * values.length)) - 1] ?? assert.fail()
      const counts = filled(values.slice(1))
      addPairs(counts, pairs(filled(values.slice(0, 1))))
      assert.deepStrictEqual(counts, filled(values))
      const got = percentile(counts, share) ?? assert.fail()
      assert.isAtMost(Math.abs(got - exact) / exact, Math.sqrt(factor) - 1 + 1e-9)
    }
  )

  it("has none of nothing, and its ends hold what lies beyond", () => {
    assert.isUndefined(percentile(empty(), 0.5))
    assert.strictEqual(percentile(filled([0, -5]), 1), 0)
    assert.approximately(percentile(filled([1e30]), 1) ?? 0, 1e7, 1e6)
  })

  it("counts by rank", () => {
    const counts = filled([...Array.from({ length: 95 }, () => 64), ...Array.from({ length: 5 }, () => 4096)])
    const near = (share: number, value: number) =>
      assert.approximately(percentile(counts, share) ?? 0, value, value / 10)
    near(0.5, 64)
    near(0.95, 64)
    near(0.96, 4096)
  })
})
