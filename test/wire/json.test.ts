/** Numbers in JSON that is printed again. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { numberOf, readWrittenObject } from "../../src/wire/json.ts"

describe("numbers as they were written", () => {
  it.each([
    "1.0",
    "1e3",
    "-0",
    "-0.0",
    "1E+2",
    "0.10",
    "9007199254740993",
    "0.1234567890123456789",
    "1e999",
    "1.50e-7",
    "0.0000001",
    "-1.50",
    "12.345678901234567",
    "1234567890.12345678",
    "1234567890123456789.5"
  ])("%s", (number) => {
    for (const spaced of [`{"a" :\n${number} }`, `{"\\\\": [ ${number}\t]}`]) {
      assert.strictEqual(JSON.stringify(readWrittenObject(spaced)), spaced.replace(/\s/g, ""))
    }
    for (const text of [`{"a":${number}}`, `{"a":[1,${number}]}`, `{"a":{"b":${number},"c":"1.0"}}`]) {
      assert.strictEqual(JSON.stringify(readWrittenObject(text)), text)
    }
  })

  it("are JavaScript's where that makes no difference", () => {
    const read = readWrittenObject('{"a":1.0,"b":12,"c":-1.5,"d":"1.0"}')
    assert.deepStrictEqual([numberOf(read?.b), numberOf(read?.c), read?.d], [12, -1.5, "1.0"])
  })

  it.prop("any number", { value: Schema.Finite }, ({ value }) => {
    const text = `{"a":${JSON.stringify(value)}}`
    assert.strictEqual(JSON.stringify(readWrittenObject(text)), text)
  })

  const digits = (most: number) => Schema.Array(Schema.Literals([..."00123456789"])).check(Schema.isMaxLength(most))
  const parts = Schema.Struct({
    sign: Schema.Literals(["", "-"]),
    whole: digits(20),
    fraction: digits(20),
    power: Schema.Literals(["", "", "e1", "E-7", "e+20"])
  })
  it.prop("any text of a number", { parts }, ({ parts: { fraction, power, sign, whole } }) => {
    const before = whole.join("").replace(/^0+/, "") || "0"
    const number = `${sign}${before}${fraction.length === 0 ? "" : `.${fraction.join("")}`}${power}`
    const text = `{"a":[${number},${number}],"b":${number}}`
    assert.strictEqual(JSON.stringify(readWrittenObject(text)), text)
  })
})
