/** JSON objects that recur: each is read as if it had been parsed. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { readObject } from "../../src/wire/json.ts"
import { Recurring } from "../../src/wire/recurring.ts"

const make = () =>
  new Recurring([
    { key: "text", in: (object) => object.delta },
    { key: "padding", in: (object) => object }
  ])

/** What it reads of them, each as it is when it is read; and what `JSON.parse` makes of them. */
const both = (texts: ReadonlyArray<string>) => {
  const recurring = make()
  return {
    read: texts.map((text) => structuredClone(recurring.read(text))),
    parsed: texts.map(readObject)
  }
}

const assertSame = (texts: ReadonlyArray<string>) => {
  const { parsed, read } = both(texts)
  assert.deepStrictEqual(read, parsed)
}

const event = (text: string, padding?: string) => `{"index":0,"delta":{"text":${text}}${padding ?? ""}}`

/** Not even what recurs is looked for. */
const assertForgotten = (recurring: Recurring) => {
  recurring.read(event('"a"'))
  assert.notStrictEqual(recurring.read(event('"b"')), recurring.read(event('"c"')))
}

describe("objects that recur", () => {
  it("are not parsed again", () => {
    const recurring = make()
    const first = recurring.read(event('"a"', ',"padding":"xy"'))
    const second = recurring.read(event('"b"', ',"padding":"z"'))
    const third = recurring.read(event('"c\\n"', ',"padding":""'))
    assert.deepStrictEqual(third, { index: 0, delta: { text: "c\n" }, padding: "" })
    assert.notStrictEqual(second, first)
    assert.strictEqual(third, second)
  })

  it.each([
    ["escapes", ['"a"', '"\\"b\\""', '"\\\\"', '"\\u00e9\\\\\\""', '"é\u2028😀"', '""']],
    ["what is no string", ['"a"', "null", "1", '"b"', '["c"]', '{"text":"d"}', '"e"']],
    ["what is no JSON", ['"a"', '"b', 'b"', '"b"c"', '"\\"', '"\\x"', '"\n"', '"\t"', '"b","b"', "", '"e"']],
    ["what stands in for a string", ['"a"', '"~probe~0"', '"b"', '"~probe~"']],
    ["two of one name", ['"a"', '"b","text":"c"', '"d","text":"e"', '"f"']],
    ["text that looks like a field", ['"a"', '"\\"text\\":\\"b\\""', '"\\"},\\"padding\\":\\"c"', '"d"']]
  ])("%s", (_, texts) => {
    for (const padding of ["", ',"padding":"xyz"', ',"padding":"\\"}"', ',"padding":1']) {
      assertSame(texts.map((text) => event(text, padding)))
    }
    assertSame(texts.map((text, at) => event(text, `,"padding":${JSON.stringify("x".repeat(at))}`)))
    assertSame(texts.map((text, at) => `{"padding":"${"\\\\".repeat(at)}","delta" : { "text" : ${text} }}`))
  })

  it("are looked for no longer where none recurs", () => {
    const texts = Array.from({ length: 40 }, (_, at) => `{"at":${at},"delta":{"text":"a"}}`)
    assertSame([...texts, ...texts.map(() => event('"b"'))])
    const recurring = make()
    for (const text of texts) recurring.read(text)
    assertForgotten(recurring)
  })

  it("are looked for no longer where their strings stay empty", () => {
    const recurring = make()
    for (let at = 0; at < 40; at++) recurring.read(event('""', `,"at":${at}`))
    assertForgotten(recurring)
  })

  it("are read as they are parsed, whatever comes", () => {
    const string = fc.oneof(fc.string({ unit: "binary", maxLength: 6 }), fc.constantFrom('"', "\\", '\\"', "\n"))
    const written = fc.oneof(
      { weight: 8, arbitrary: string.map((text) => JSON.stringify(text)) },
      { weight: 1, arbitrary: string.map((text) => `"${text}"`) },
      { weight: 1, arbitrary: fc.json({ maxDepth: 1 }) }
    )
    const texts = fc.array(
      fc
        .record({ text: written, padding: fc.option(written), index: fc.integer({ min: 0, max: 1 }) })
        .map(({ index, padding, text }) =>
          event(text, padding === null ? `,"index":${index}` : `,"padding":${padding}`)
        ),
      { maxLength: 20 }
    )
    fc.assert(fc.property(texts, assertSame), { numRuns: 500 })
  })

  it("keep what is parsed apart from what recurs", () => {
    const recurring = make()
    const parsed = recurring.read(event('"a"'))
    recurring.read(event('"b"'))
    recurring.read(event('"c"'))
    assert.deepStrictEqual(parsed, { index: 0, delta: { text: "a" } })
  })
})
