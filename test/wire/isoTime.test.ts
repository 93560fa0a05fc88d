import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { isoTime } from "../../src/wire/isoTime.ts"

const At = Schema.Int.check(Schema.isBetween({ minimum: -62_167_219_200_000, maximum: 253_402_300_799_999 }))

describe("a time", () => {
  it.prop("is printed as Date prints it, whatever was printed before", { at: At }, ({ at }) => {
    for (const near of [at, at + 1, at + 999, at, at - 1000]) {
      assert.strictEqual(isoTime(near), new Date(near).toISOString())
    }
  })

  it("has whole milliseconds", () => {
    assert.strictEqual(isoTime(1_700_000_000_007.9), "2023-11-14T22:13:20.007Z")
  })
})
