import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { governanceOf } from "../../src/governance/accumulate.ts"
import { forbiddenNames } from "../../src/governance/forbiddenNames.ts"
import { screen as slices } from "../../src/governance/screen.ts"
import { runNow } from "../../src/wire/slices.ts"
import { accumulating, flagCall } from "../support/flagCall.ts"
import * as scan from "../support/scan.ts"

const screenTools = (...given: Parameters<typeof slices>) => runNow(slices(...given))
const scanArguments = (json: string) => scan.scanArguments(json).destinations
const scanValue = (value: unknown) => scan.scanValue(value).destinations

// Pieces that destinations, escapes and JSON are made of, so that random joins of them often come close.
const pieces: ReadonlyArray<string> = [
  ...["https", "data", "mailto", "s3", ":", "/", "//", "://", "\\", "\\/", "\\u002f", "\\u0022", "\\n", '"', "'", "{"],
  ...["}", "[", "]", "(", ")", ",", ".", " ", "\n", "a", "b.example", "@", "10", "1.2.3.4", "255", "999", ";base64"],
  ...["text/plain", "😀", "\ud83d", "\ude00", "é", "\u200b", "。"]
]
const Piece = Schema.Literals(pieces)
const Pieces = Schema.Array(Piece)
// What stands in a user or cuts a host, for a reader or for a parser.
const authorities = [
  ..."'\"<>|^` \u00a0@\t\n:.\\{}&=~",
  "](",
  "),",
  "api.agency.gov",
  "evil.com",
  "x",
  "%40",
  "10.0.0.1"
]
const Authority = Schema.Array(Schema.Literals(authorities)).pipe(Schema.check(Schema.isMaxLength(6)))
const Text = Pieces.pipe(Schema.check(Schema.isMaxLength(60)))
const Cuts = Schema.Array(Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 1, maximum: 9 }))))

const join = (pieces: ReadonlyArray<string>) => pieces.join("")
const chop = (text: string, sizes: ReadonlyArray<number>): ReadonlyArray<string> => {
  const chunks: Array<string> = []
  let at = 0
  for (const size of sizes) {
    chunks.push(text.slice(at, at + size))
    at += size
  }
  return [...chunks, text.slice(at)]
}
/** Objects and arrays around texts; keys never look like integers, which objects would reorder. */
const build = (texts: ReadonlyArray<ReadonlyArray<string>>): unknown =>
  texts.reduce<unknown>((inner, pieces, at) => {
    const text = join(pieces)
    return at % 3 === 0 ? [text, inner] : { [`${text}k`]: inner, [`k${at}`]: text }
  }, null)
const freeze = (value: unknown): unknown => {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(freeze)
  return value
}

describe("governance properties", () => {
  it.prop(
    "flags are the same streamed or not, whatever the chunks",
    { a: Text, b: Text, x: Cuts, y: Cuts },
    (given) => {
      const calls = [
        { id: "a", name: "one", arguments: join(given.a) },
        { id: "b", name: "two", arguments: join(given.b) }
      ]
      const chunks = [chop(join(given.a), given.x), chop(join(given.b), given.y)]
      const accumulator = accumulating()
      calls.forEach(({ id, name }, key) => {
        accumulator.start(key, id, name)
      })
      for (let at = 0; at < Math.max(...chunks.map((list) => list.length)); at++) {
        chunks.forEach((list, key) => {
          accumulator.append(key, list[at] ?? "")
        })
      }
      accumulator.complete(1)
      assert.deepStrictEqual(
        governanceOf(accumulator.flags()),
        governanceOf(calls.flatMap((call) => flagCall(call) ?? []))
      )
    }
  )

  it.prop("parsed input and its JSON text have the same flags", { texts: Schema.Array(Text) }, ({ texts }) => {
    const value = build(texts)
    const found = scanValue(value)
    assert.deepStrictEqual(scanArguments(JSON.stringify(value)), found)
    assert.deepStrictEqual(scanArguments(JSON.stringify(value, null, 2)), found)
  })

  it.prop("a call is never altered", { texts: Schema.Array(Text) }, ({ texts }) => {
    const input = freeze(build(texts))
    const before = JSON.stringify(input)
    const call = Object.freeze({ id: "a", name: "one", arguments: before, input })
    flagCall(call)
    flagCall(call)
    const accumulator = accumulating()
    accumulator.input(0, input)
    accumulator.flags()
    screenTools([{ name: "one", schema: input }], "strict")
    assert.strictEqual(JSON.stringify(call.input), before)
    assert.strictEqual(call.arguments, before)
  })

  it.prop(
    "a URL is found however its characters are escaped, in whole and in cut JSON",
    { before: Text, after: Text, escaped: Schema.Array(Schema.Boolean), levels: Schema.Literals([0, 1, 2, 3]) },
    ({ before, after, escaped, levels }) => {
      const url = "https://evil.example/collect?x=1"
      const spelled = [...url]
        .map((character, at) =>
          escaped[at] ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}` : character
        )
        .join("")
      let json = `{"a":${JSON.stringify(join(before))},"u":"${spelled}"`
      assert.include(scanArguments(json), url)
      json = `${json},"b":${JSON.stringify(join(after))}}`
      for (let level = 0; level < levels; level++) json = JSON.stringify({ nested: json })
      assert.include(scanArguments(json), url)
      assert.include(scanValue(JSON.parse(json)), url)
    }
  )

  it.prop(
    "what a URL parser reads from a string is named",
    { scheme: Schema.Literals(["https://", "HTTP:\t//", "ftp:/", "wss:\\\\"]), user: Authority, host: Authority },
    ({ scheme, user, host }) => {
      const text = `${scheme}${join(user)}a${join(host)}b.example/x`
      const read = URL.parse(text)?.hostname ?? ""
      // Not hosts that no resolver knows, nor what reads as an escape.
      if (!/^['"]?(?:[a-z0-9][a-z0-9'"-]*\.)+[a-z0-9-]+$/.test(read) || /[^:\\]\\["\\/bfnrtu]/.test(text)) return
      const bare = (name: string) => name.replace(/^[.'"-]+|[^a-z0-9]+$/gi, "")
      for (const found of [scanArguments(JSON.stringify({ a: text })), scanValue([text])]) {
        const hosts = found.map((destination) => bare(URL.parse(destination)?.hostname ?? ""))
        assert.include(hosts, bare(read), JSON.stringify([text, found]))
      }
    }
  )

  const Break = Schema.Literals(["", "", "\t", "\r", "\n", "\t\n"])
  it.prop(
    "a whole value is a URL whatever its scheme and the blanks around, and wherever it is broken before its host",
    {
      before: Schema.Literals(["", " ", "\u0000\t "]),
      scheme: Schema.Literals(["https", "foo", "x-1.y"]),
      breaks: Schema.Array(Break),
      end: Authority
    },
    ({ before, scheme, breaks, end }) => {
      const broken = [...scheme, ":", "/", "/"].map((sign, at) => sign + (breaks[at] ?? "")).join("")
      const text = `${before}${broken}a.example/${join(end).replace(/[\s"'`\\]/g, "")}`
      const read = URL.parse(text)
      for (const found of [scanArguments(JSON.stringify({ a: text })), scanValue([text])])
        assert.include(
          found.map((destination) => URL.parse(destination)?.host),
          read?.host
        )
    }
  )

  it.prop("destinations are unique, not empty and bounded", { text: Text }, ({ text }) => {
    const found = scanArguments(join(text))
    assert.strictEqual(new Set(found).size, found.length)
    for (const destination of found) {
      assert.match(destination, /^(?:[a-z][a-z0-9+.-]*:|\d{1,3}(?:\.\d{1,3}){3})/i)
      assert.isAtMost(destination.length, 2048)
    }
  })

  const lists = ["anyOf", "prefixItems", "enum", "examples"]
  const values = ["const", "default", "enum", "example", "examples"] as const
  const schemas = ["properties", "items", "prefixItems", "anyOf", "not", "$defs", "contentSchema", "x-own"] as const
  const Place = Schema.Literals([...schemas, ...values])
  const Reference = Schema.Literals(["none", "pointer", "encoded", "anchor", "identifier"] as const)
  it.prop(
    "a listed name is refused at any place of a schema, and in a value only where a reference makes it one",
    { name: Schema.Literals(forbiddenNames), places: Schema.Array(Place), reference: Reference, upper: Schema.Boolean },
    ({ name, places, reference, upper }) => {
      const spelled = upper ? name.toUpperCase() : name
      const [schema, path] = places.reduce<[object, string]>(
        ([inner, below], place) => {
          if (place === "properties" || place === "$defs")
            return [{ [place]: { default: inner } }, `/${place}/default${below}`]
          return lists.includes(place)
            ? [{ [place]: [{}, inner] }, `/${place}/1${below}`]
            : [{ [place]: inner }, `/${place}${below}`]
        },
        [{ $id: "https://a.example/b", $anchor: "a", properties: { [spelled]: {} } }, ""]
      )
      const references = {
        none: "#",
        pointer: `#/if${path}`,
        encoded: `#${Buffer.from(`/if${path}`).toString("hex").replaceAll(/../g, "%$&")}`,
        anchor: "#a",
        identifier: "b"
      }
      const isValue = reference === "none" && places.some((place) => values.some((value) => value === place))
      for (const mode of ["spec", "strict"] as const) {
        const refusal = screenTools(
          [{ name: "t", schema: { if: schema, items: { $ref: references[reference] } } }],
          mode
        )
        assert.strictEqual(refusal?.parameter, isValue ? undefined : spelled)
      }
    }
  )

  it.prop("the screen never throws", { texts: Schema.Array(Text), pattern: Text }, ({ texts, pattern }) => {
    for (const mode of ["spec", "strict"] as const) {
      screenTools(
        texts.map((text) => ({
          name: join(text),
          schema: { $ref: join(text), propertyNames: { pattern: join(pattern) }, enum: [{ $id: join(pattern) }] }
        })),
        mode
      )
    }
  })
})
