/** Numbers and keys in JSON that is printed again. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { numberOf } from "../../src/wire/json.ts"
import { parseExact, parseWritten, readWrittenObject } from "../../src/wire/parse.ts"
import { jsonText, printPieces } from "../../src/wire/print.ts"

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

describe("keys as they were written", () => {
  const texts = (text: string) =>
    [parseExact, parseWritten].flatMap((parse) => [jsonText(parse(text)), [...printPieces(parse(text))].join("")])

  it.each([
    '{"10":1,"2":2}',
    '{"b":{"10":1},"a":[{"c":0,"1":0,"0":0}],"2":{"1":[],"":{}},"-1":0,"01":0,"1e3":0}',
    '{"z":1,"4294967294":1,"4294967295":1,"9007199254740993":1,"5":1}',
    '{"2":{"__proto__":{"3":1,"2":1}},"__proto__":{},"1":"\\"1\\":"}',
    '{"constructor":{"2":1,"1":1},"toString":1,"0":1}',
    '{"1":0,"-1":0,"2":0}',
    '{"4294967295":0,"4294967294":0}',
    '{"0.5":0,"1.5":0,"1":0}',
    '{"1":0,"2":0,"a":0}'
  ])("%s", (text) => {
    for (const printed of texts(text)) assert.strictEqual(printed, text)
  })

  it("a key that repeats stands where it came first, with what it was last", () => {
    for (const printed of texts('{"2":1,"a":1,"1":1,"2":2}')) assert.strictEqual(printed, '{"2":2,"a":1,"1":1}')
  })

  it("have JavaScript's order in a copy, and where nothing asks for theirs", () => {
    const value = readWrittenObject('{"10":1,"2":2}')
    assert.strictEqual(jsonText({ ...value, a: [value] }), '{"2":2,"10":1,"a":[{"10":1,"2":2}]}')
    assert.strictEqual(JSON.stringify([value]), '[{"2":2,"10":1}]')
  })

  it("take no second print of what stands behind them", () => {
    let reads = 0
    const behind = {
      get a() {
        reads++
        return 1
      }
    }
    assert.strictEqual(jsonText([parseWritten('{"10":1,"2":2}'), behind]), '[{"10":1,"2":2},{"a":1}]')
    assert.strictEqual(reads, 1)
  })

  it("are as deep as any other", () => {
    const deep = `${'{"2":['.repeat(5_000)}${"]}".repeat(5_000)}`
    assert.isUndefined(readWrittenObject(`${deep}]`))
    assert.strictEqual(typeof readWrittenObject(deep), "object")
  })

  const Key = Schema.Union([Schema.Literals(["1", "2", "10", "01", "-1", "1.5", "a", "__proto__"]), Schema.String])
  it.prop("any keys", { pairs: Schema.Array(Schema.Tuple([Key, Schema.Json])) }, ({ pairs }) => {
    const unique = [...new Map(pairs)].map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
    const text = `{${unique.join(",")}}`
    for (const printed of texts(`[${text},{"a":${text}}]`)) assert.strictEqual(printed, `[${text},{"a":${text}}]`)
  })
})

it("a value that is nested too deep for the engine's printer is printed", () => {
  let value: unknown = readWrittenObject('{"a":1.0}')
  for (let depth = 0; depth < 50_000; depth++) value = [value]
  const text = jsonText(value)
  assert.strictEqual(text.length, 2 * 50_000 + '{"a":1.0}'.length)
  assert.isTrue(text.startsWith("[[[") && text.endsWith("]]]"))
})
