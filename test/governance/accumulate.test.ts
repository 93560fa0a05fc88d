import { assert, describe, it } from "@effect/vitest"
import { governanceOf, makeAccumulator } from "../../src/governance/accumulate.ts"
import { accumulating, flagCall } from "../support/flagCall.ts"

const flag = (id: string, name: string, ...destinations: ReadonlyArray<string>) => ({
  tool_call_id: id,
  tool_name: name,
  destinations,
  reason: "external_destination" as const
})

describe("flags", () => {
  it("have the shape of the spec", () => {
    const call = { id: "c1", name: "get", arguments: '{"u":"https://a.example"}' }
    assert.deepStrictEqual(flagCall(call), flag("c1", "get", "https://a.example"))
    assert.deepStrictEqual(flagCall({ id: "c1", name: "get", input: { u: "xx://y" } }), flag("c1", "get", "xx://y"))
  })

  it("are absent when nothing is found", () => {
    assert.isUndefined(flagCall({ id: "c1", name: "get", arguments: "{}" }))
    assert.isUndefined(flagCall({ id: "c1", name: "get", input: {} }))
    assert.isUndefined(governanceOf([]))
  })

  it("make up the field", () => {
    const found = flag("c1", "get", "xx://y")
    assert.deepStrictEqual(governanceOf([found]), { flags: [found] })
  })
})

describe("accumulator", () => {
  it("finds a URL that is split at every character", () => {
    const calls = accumulating()
    calls.start(0, "c1", "get")
    for (const character of String.raw`{"u":"\u0068ttps:\/\/a.example/😀"}`.split("")) calls.append(0, character)
    calls.complete(0)
    assert.deepStrictEqual(calls.flags(), [flag("c1", "get", "https://a.example/😀")])
  })

  it("keeps interleaved calls apart, in the order in which they started", () => {
    const calls = accumulating()
    calls.start("b", "c1", "one")
    calls.start("a", "c2", "two")
    calls.append("a", '"https://a')
    calls.append("b", '"https://b')
    calls.append("a", '.example"')
    calls.append("b", '.example"')
    calls.complete("a")
    assert.deepStrictEqual(calls.flags(), [
      flag("c1", "one", "https://b.example"),
      flag("c2", "two", "https://a.example")
    ])
  })

  it("scans calls that never complete", () => {
    const calls = accumulating()
    calls.start(0, "c1", "get")
    calls.append(0, '{"u":"https://a.exam')
    assert.deepStrictEqual(calls.flags(), [flag("c1", "get", "https://a.exam")])
  })

  it("takes ID and name late", () => {
    const calls = accumulating()
    calls.append(0, '"xx://')
    calls.start(0, "c1", "")
    calls.append(0, 'y"')
    calls.start(0, "", "get")
    calls.start(0, "", "")
    assert.deepStrictEqual(calls.flags(), [flag("c1", "get", "xx://y")])
  })

  it("begins a new call when a key comes back with another ID", () => {
    const calls = accumulating()
    calls.start(0, "c1", "get")
    calls.append(0, '"xx://1"')
    calls.start(0, "c2", "get")
    calls.append(0, '"xx://2"')
    assert.deepStrictEqual(calls.flags(), [flag("c1", "get", "xx://1"), flag("c2", "get", "xx://2")])
  })

  it("reads parsed input, together with pieces", () => {
    const calls = accumulating()
    calls.start(0, "c1", "get")
    calls.input(0, { u: "xx://1" })
    calls.append(0, '{"u":"xx://2","v":"xx://1"}')
    assert.deepStrictEqual(calls.flags(), [flag("c1", "get", "xx://1", "xx://2")])
  })

  it.each([
    ['"xx://1"', ["xx://1"]],
    ['"xx://2"', ["xx://1", "xx://2"]]
  ])("counts arguments that are repeated, here as %s, beside pieces that differ", (repeated, all) => {
    const calls = accumulating()
    calls.start(0, "c1", "get")
    calls.append(0, '"xx://1"')
    calls.repeat(0, repeated)
    calls.start(1, "c2", "get")
    calls.repeat(1, repeated)
    calls.repeat(2, repeated)
    const [whole, unnamed] = [flag("c2", "get", JSON.parse(repeated)), flag("", "", JSON.parse(repeated))]
    assert.deepStrictEqual(calls.flags(), [...all.map((each) => flag("c1", "get", each)), whole, unnamed])
  })

  it("sees a piece that comes after the completion", () => {
    const calls = accumulating()
    calls.start(0, "c1", "get")
    calls.append(0, '"xx://')
    calls.complete(0)
    assert.deepStrictEqual(calls.flags(), [])
    calls.append(0, 'y"')
    assert.deepStrictEqual(calls.flags(), [flag("c1", "get", "xx://y")])
    assert.deepStrictEqual(calls.flags(), calls.flags())
  })

  it.each([
    [4_000, 1],
    [5_000, 2]
  ])("a call of %i characters leaves %i slices to the end of the stream", (length, slices) => {
    const calls = makeAccumulator("strict")
    calls.add({ type: "start", key: 0, id: "c1", name: "get" }, 0)
    calls.add({ type: "append", key: 0, text: "x".repeat(length) }, 0)
    calls.add({ type: "end", key: 0 }, 0)
    assert.lengthOf([...calls.scan(), "last"], slices)
  })

  it("has no flags when there is nothing", () => {
    const calls = accumulating()
    calls.complete(7)
    assert.deepStrictEqual(calls.flags(), [])
    calls.start(0, "c1", "get")
    calls.append(0, "")
    assert.deepStrictEqual(calls.flags(), [])
  })
})
