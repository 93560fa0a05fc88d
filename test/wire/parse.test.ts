/** JSON read and printed in slices: the same as `JSON.parse` and `JSON.stringify`, within a budget (docs/api.md#limits). */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result, Schema } from "effect"
import {
  type Budget,
  exactNumberOf,
  measure,
  newBudget,
  parse,
  parseExact,
  parseReply,
  parseWritten
} from "../../src/wire/parse.ts"
import { maxDepth, maxFields, maxNameBytes, maxTokens, parseInSlices } from "../../src/wire/parseInSlices.ts"
import { jsonText, print, printPieces } from "../../src/wire/print.ts"

const read = (text: string | Buffer, budget: Budget = newBudget()) => {
  const slices = parseInSlices(Buffer.from(text), { budget, numberOf: exactNumberOf })
  for (let steps = 1; ; steps++) {
    const { done, value } = slices.next()
    if (done !== true) continue
    return Result.isFailure(value)
      ? { refusal: value.failure, value: undefined, steps }
      : { refusal: undefined, value: value.success, steps }
  }
}
const printed = (value: unknown) =>
  Buffer.concat(Array.from(printPieces(value), (piece) => Buffer.from(piece))).toString()
const same = (text: string) => {
  const { refusal, value } = read(text)
  assert.isUndefined(refusal, text.slice(0, 200))
  const expected = parseExact(text)
  const native = jsonText(expected)
  assert.strictEqual(jsonText(value), native)
  assert.strictEqual(printed(expected), native)
}

describe("any JSON", () => {
  it.prop("is read and printed as the engine does", [Schema.Json], ([value]) => {
    same(JSON.stringify(value))
    same(JSON.stringify(value, null, 2))
  })
})

describe("the doors", () => {
  const long = (item: string) => `[${item}${`,${item}`.repeat(400_000 / item.length)}]`
  const text = "é日😀".repeat(60_000)
  for (const item of ['{"a":1,"b":[true,null,"é\\n"]}', "9007199254740993", "1.5", JSON.stringify(text)]) {
    it(`read and print what is small and what is large: ${item.slice(0, 30)}`, async () => {
      for (const text of [item, `{"a":${item}}`, long(item)]) {
        const bytes = Buffer.from(text)
        const value = await Effect.runPromise(parse(bytes, { budget: { tokens: Number.POSITIVE_INFINITY } }))
        assert.deepStrictEqual(value, parseExact(text))
        assert.deepStrictEqual(await Effect.runPromise(parseReply(bytes, "exact")), value)
        const printed = await Effect.runPromise(print(value, bytes.length))
        assert.strictEqual(Buffer.from(printed).toString(), JSON.stringify(value))
      }
    })
  }

  it("keep the order of keys, be it small or large, and take turns for it", async () => {
    for (const text of ['{"b":1,"10":[{"2":1,"1":2}]}', `{"b":1,"10":${long('{"a":1,"2":2,"1":3}')}}`]) {
      const budget = { tokens: 1_000_000 }
      for (const read of [parse(Buffer.from(text), { budget }), parseReply(Buffer.from(text), "written")]) {
        const value = await Effect.runPromise(read)
        for (const size of [1, text.length]) {
          assert.strictEqual(Buffer.from(await Effect.runPromise(print(value, size))).toString(), text)
        }
      }
      assert.strictEqual(1_000_000 - budget.tokens, text.replaceAll(/[^,:]/g, "").length)
    }
  })

  // The engine takes a key for the one that came after the same keys before, where that one is how this one begins in its text.
  it.each(["\\n", '\\"', "\\u0041", "b\\n", '\\"c', "\\n\\\\", "\\ud800", "\\\\\\n"])(
    "have the key %s as it is, whatever was read before",
    async (written) => {
      const key: string = JSON.parse(`"${written}"`)
      for (const text of [`{"a":1,"${written}":2}`, `{"a":1,"${written}" :2}`, `[{"a":":","${written}":"\\":"}]`]) {
        JSON.parse(JSON.stringify({ a: 1, [written.slice(0, key.length)]: 2 }))
        const bytes = Buffer.from(text)
        for (const value of [
          parseExact(text),
          parseWritten(text),
          await Effect.runPromise(parse(bytes, { budget: newBudget() })),
          await Effect.runPromise(parseReply(bytes, "written"))
        ]) {
          assert.deepStrictEqual(Object.keys(Array.isArray(value) ? value[0] : Object(value)), ["a", key])
        }
      }
    }
  )

  it("keep the numbers of a reply as they were written where it is printed again", async () => {
    for (const text of [long("1.0"), long("-0"), long("1e3"), "[1.0,-0,1e3]"]) {
      const value = await Effect.runPromise(parseReply(Buffer.from(text), "written"))
      assert.strictEqual(Buffer.from(await Effect.runPromise(print(value, text.length))).toString(), text)
    }
  })

  it("take long names in a reply, be it small or large", async () => {
    const name = "n".repeat(2_000)
    for (const text of [`{"${name}":1}`, `{"1":{"${name}":1}}`, `{"${name}":${long("1")}}`]) {
      const value = await Effect.runPromise(parseReply(Buffer.from(text), "exact"))
      assert.strictEqual(JSON.stringify(value), text)
    }
  })

  it("say where a text is no JSON, be it small or large", async () => {
    for (const text of ['{"a":[1,x]}', `{"a":[1,x],"b":"${"y".repeat(400_000)}"}`]) {
      for (const read of [
        parse(Buffer.from(text), { budget: newBudget() }),
        parseReply(Buffer.from(text), "written")
      ]) {
        const refusal = await Effect.runPromise(Effect.flip(read))
        assert.deepInclude(refusal, { kind: "syntax", path: "a[1]", at: 8 })
      }
    }
  })

  it("take what they read from one budget, be it small or large", async () => {
    const budget = { tokens: 20 }
    const read = (text: string) => Effect.runPromise(Effect.exit(parse(Buffer.from(text), { budget })))
    assert.isTrue(Exit.isSuccess(await read('{"a":[1,2,3]}')))
    assert.strictEqual(budget.tokens, 17)
    assert.isTrue(Exit.isSuccess(await read(`{"a":[1,2,"${"x".repeat(400_000)}"]}`)))
    assert.strictEqual(budget.tokens, 14)
    assert.isTrue(Exit.isFailure(await read(`[${"1,".repeat(15)}1]`)))
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

it("bytes that are no UTF-8 end, too", () => {
  const { value } = read(Buffer.concat([Buffer.from('"a'), Buffer.alloc(300_000, 0x80), Buffer.from('"')]))
  assert.strictEqual(value, `a${"\ufffd".repeat(300_000)}`)
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
  const isWithin = (text: string) =>
    (measure(Buffer.from(text), maxDepth, maxFields) ?? Number.POSITIVE_INFINITY) <= maxTokens
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
    ["values", values, maxTokens, "x[299999]", /too many values.*150,000 in objects, or 300,000 in arrays/],
    ["an integer", (n) => `{"x":${"9".repeat(n)}}`, 1024, "x", /a number of more than 1,024 characters/],
    ["a fraction", (n) => `{"x":0.${"9".repeat(n - 2)}}`, 1024, "x", /a number of more than 1,024 characters/],
    ["an exponent", (n) => `{"x":-1.5E+${"0".repeat(n - 6)}}`, 1024, "x", /a number of more than 1,024 characters/]
  ]
  for (const [what, text, limit, path, words] of rows) {
    it(what, () => {
      assert.isUndefined(read(text(limit)).refusal)
      assert.isTrue(isWithin(text(limit)))
      const { refusal } = read(text(limit + 1))
      assert.match(refusal?.message ?? "", words)
      assert.strictEqual(refusal?.path.slice(0, 9), path.slice(0, 9))
      assert.isFalse(isWithin(text(limit + 1)))
    })
  }
  it("is shared by texts", () => {
    const budget = newBudget()
    assert.isUndefined(read(values(200_000), budget).refusal)
    assert.strictEqual(read(values(200_000), budget).refusal?.kind, "budget")
  })
  it.each(["type", "role", "ttl", "enum", "required"])("has room for a word in %s", (name) => {
    const within = (length: number) => read(`{"a":[{"${name}":"${"x".repeat(length)}"}]}`).refusal
    assert.isUndefined(within(16_383))
    assert.match(within(16_384)?.message ?? "", /a text of more than 16,383 characters/)
    assert.strictEqual(within(16_384)?.path, `a[0].${name}`)
    assert.strictEqual(read(`{"${name}":["a",["${"x".repeat(16_384)}"]]}`).refusal?.kind, "budget")
    assert.isUndefined(read(`{"${name}":{"text":"${"x".repeat(16_384)}"},"text":["${"x".repeat(16_384)}"]}`).refusal)
  })
  it("counts the bytes of a name, not of its escapes", () => {
    assert.isUndefined(read(`{"${"\\u0061".repeat(1024)}":1}`).refusal)
    assert.isDefined(read(`{"${"\\u00e9".repeat(513)}":1}`).refusal)
  })
})
