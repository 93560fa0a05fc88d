/** JSON read and printed in slices: the same as `JSON.parse` and `JSON.stringify`, within a budget (docs/api.md#limits). */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Budget, maxFields, maxNameBytes, maxTokens, newBudget } from "../../src/wire/budget.ts"
import { parseExact } from "../../src/wire/json.ts"
import { measure } from "../../src/wire/measure.ts"
import { Parse } from "../../src/wire/parse.ts"
import { base64Json, Print } from "../../src/wire/print.ts"

const read = (text: string | Buffer, budget: Budget = newBudget()) => {
  const parse = new Parse(Buffer.from(text), { budget })
  let steps = 1
  while (!parse.step()) steps++
  return { ...parse, steps }
}
const printed = (value: unknown) => {
  const print = new Print(value)
  while (!print.step());
  const bytes = Buffer.concat(print.pieces)
  assert.strictEqual(print.size, bytes.length)
  return bytes.toString()
}
const same = (text: string) => {
  const { refusal, value } = read(text)
  assert.isUndefined(refusal, text.slice(0, 200))
  const expected = parseExact(text)
  const native = JSON.stringify(expected)
  assert.strictEqual(JSON.stringify(value), native)
  assert.strictEqual(printed(expected), native)
  assert.strictEqual(printed({ a: base64Json([expected]) }), `{"a":"${Buffer.from(`[${native}]`).toString("base64")}"}`)
}

describe("any JSON", () => {
  it.prop("is read and printed as the engine does", [Schema.Json], ([value]) => {
    same(JSON.stringify(value))
    same(JSON.stringify(value, null, 2))
  })
})

describe("is read as the engine does", () => {
  const long = 140_000
  for (const text of [
    ..."0 -0 1 -1 0.5 1e5 1E-7 1e400 -1e400 9007199254740991 9007199254740993 123456789012345678901234567890".split(
      " "
    ),
    ...['""', '"\\u0000\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\ud83d\\ude00\\ud800"', '"é日😀\u2028"', " [ ] ", "\t{ }\r\n"],
    '{"__proto__":{"a":1},"constructor":{"prototype":{}},"":{"":""},"2":1,"1":2,"a":1,"a":2}',
    ...["true", "false", "null", '[true,false,null,[],{},[[]],{"a":{}}]']
  ]) {
    it(text, () => same(text))
  }
  // Whatever stands where a slice ends: characters of several bytes, escapes, pairs of surrogates.
  for (const unit of [
    "a",
    "é",
    "日",
    "😀",
    "\\n",
    "\\\\",
    '\\"',
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud800",
    'a\\\\\\"é'
  ]) {
    it(`long strings of ${unit}`, () => {
      for (const shift of [0, 1, 2, 3]) {
        const text = `"${"p".repeat(shift)}${unit.repeat(Math.ceil(long / unit.length))}"`
        assert.isAbove(read(`[${text},${text}]`).steps, 2)
        same(`[${text},1]`)
      }
    })
  }
})

describe("what is no JSON is refused", () => {
  const escapes = "\\n".repeat(100_000)
  for (const text of [
    ..."{ [ ] } , : tru nul truex 01 1. .5 1e +1 - -a NaN Infinity 'a' [1,] [,1] [1 {a:1} 1,2 []] {}{}".split(" "),
    ...['{"a"}', '{"a":}', '{"a":1,}', '{"a" 1}', '{"a":1 "b":2}', '{,"a":1}', '{"a":1]', "[1}", "{1:2}", "[1 2]", ""],
    ...['"', '"a', '"\\"', '"\\x"', '"\\u12"', '"\\u12g4"', '"\n"', '"\u0000"', '"a\tb"', "/**/1", "1//", "\u00a01"],
    ...[`"${escapes}`, `"${escapes}\\"`, `"${escapes}\n"`, `"${"a".repeat(200_000)}\u0001"`, `"${escapes}\\u12"`]
  ]) {
    it(JSON.stringify(text.slice(0, 30)), () => {
      assert.throws(() => JSON.parse(text))
      assert.strictEqual(read(text).refusal?.kind, "syntax")
    })
  }
})

describe("budget", () => {
  const name = (bytes: number) => `{"a":[{"${"n".repeat(bytes)}":1}]}`
  const fields = (count: number) => `{${Array.from({ length: count }, (_, n) => `"k${n}":1`).join(",")}}`
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth)
  const values = (count: number) => `{"x":[1${",1".repeat(count - 1)}]}`
  const rows: ReadonlyArray<
    readonly [what: string, text: (n: number) => string, limit: number, path: string, words: RegExp]
  > = [
    ["bytes of a name", name, maxNameBytes, "a[0]", /name of a property is longer than 1,024 bytes/],
    ["fields of a request", fields, maxFields, "", /more than 1,024 fields/],
    ["depth", nested, 256, "[0]".repeat(103), /nested deeper than 256 levels/],
    ["values", values, maxTokens, "x[149999]", /too many values/],
    ["digits", (n) => `{"x":${"9".repeat(n)}}`, 1024, "x", /a number of more than 1,024 characters/]
  ]
  for (const [what, text, limit, path, words] of rows) {
    it(what, () => {
      assert.isUndefined(read(text(limit)).refusal)
      assert.isFalse(measure(Buffer.from(text(limit))).over)
      const { refusal } = read(text(limit + 1))
      assert.match(refusal?.message ?? "", words)
      assert.strictEqual(refusal?.path.slice(0, 9), path.slice(0, 9))
      assert.isTrue(measure(Buffer.from(text(limit + 1))).over)
    })
  }
  it("is shared by texts", () => {
    const budget = newBudget()
    assert.isUndefined(read(values(100_000), budget).refusal)
    assert.strictEqual(read(values(100_000), budget).refusal?.kind, "budget")
  })
  it("counts the bytes of a name, not of its escapes", () => {
    assert.isUndefined(read(`{"${"\\u0061".repeat(1024)}":1}`).refusal)
    assert.isDefined(read(`{"${"\\u00e9".repeat(513)}":1}`).refusal)
  })
})
