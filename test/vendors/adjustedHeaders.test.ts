/** The printing of `x-gateway-adjusted`. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { maxAdjusted, printAdjusted } from "../../src/vendors/adjustments.ts"

describe("what was adjusted", () => {
  it.each([
    ["nothing", [], undefined],
    ["one", ["web_search:removed"], "web_search:removed"],
    ["several, in order", ["top_p:removed", "max_tokens:unset->12288"], "top_p:removed, max_tokens:unset->12288"],
    ["one twice", ["a:removed", "b:removed", "a:removed"], "a:removed, b:removed"],
    ["what would break the header", ["a\r\nb: c,é:removed"], "a??b:?c??:removed"]
  ] as const)("%s", (_, changes, value) => {
    assert.strictEqual(printAdjusted(changes), value)
  })

  it("counts what finds no room", () => {
    const changes = Array.from({ length: 200 }, (_, at) => `tools.function.field${at}:removed`)
    const value = printAdjusted(changes) ?? ""
    assert.isAtMost(value.length, maxAdjusted)
    const entries = value.split(", ")
    assert.strictEqual(entries.at(-1), `more:${200 - (entries.length - 1)}`)
    assert.deepStrictEqual(entries.slice(0, -1), changes.slice(0, entries.length - 1))
  })

  it.prop("is always a short line of ASCII", { changes: Schema.Array(Schema.String) }, ({ changes }) => {
    const value = printAdjusted([...changes, ...changes.map((change) => change.repeat(50))])
    if (value === undefined) return
    assert.isAtMost(value.length, maxAdjusted)
    assert.match(value, /^[\x20-\x7e]*$/)
    assert.doesNotThrow(() => new Headers({ "x-gateway-adjusted": value }))
  })
})
