import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { escapeControls, escapeJson } from "../../src/wire/print.ts"

describe("text in a line", () => {
  it.prop("is the same, of JSON, with the short look and with the long one", { text: Schema.String }, ({ text }) => {
    const json = JSON.stringify({ text })
    assert.strictEqual(escapeJson(json), escapeControls(json))
    assert.deepStrictEqual(JSON.parse(escapeJson(json)), { text })
  })

  it("holds no control or format character of any plane, and no half of a pair", () => {
    for (const character of ["\u007f", "\u0085", "\u009b", "\u00ad", "\u200e", "\u2028", "\u{e0001}", "\ud800"]) {
      const json = JSON.stringify(`a${character}é`)
      assert.match(escapeJson(json), /^"a[\\\w]+é"$/)
      assert.strictEqual(JSON.parse(escapeJson(json)), `a${character}é`)
    }
    assert.strictEqual(escapeJson('"é \\n"'), '"é \\n"')
  })
})
