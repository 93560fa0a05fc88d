/** What calls are told is the same text, printed at once or ahead. */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { inputText, isPrintable, printInputs } from "../../src/vendors/toolCalls.ts"
import { maxNesting } from "../../src/wire/parse.ts"
import { runNow } from "../../src/wire/slices.ts"

const nested = (depth: number): Schema.JsonObject => (depth === 0 ? {} : { a: nested(depth - 1) })
const replies = (input: Schema.JsonObject): ReadonlyArray<Schema.JsonObject> => [
  { content: [{ input }] },
  { candidates: [{ content: { parts: [{ functionCall: { args: input } }] } }] }
]

it.prop("of any input", [Schema.Record(Schema.String, Schema.Json)], ([input]) => {
  const text = inputText(input)
  for (const shape of [0, 1]) {
    const copy = { ...input }
    runNow(printInputs(replies(copy)[shape] ?? {}))
    assert.strictEqual(inputText(copy), text)
  }
})

it("what is nested too deep is neither way", () => {
  for (const depth of [maxNesting, maxNesting + 1]) {
    for (const shape of [0, 1]) {
      const input = nested(depth)
      assert.strictEqual(isPrintable(input), depth === maxNesting)
      runNow(printInputs(replies(input)[shape] ?? {}))
      assert.strictEqual(isPrintable(input), depth === maxNesting)
    }
  }
})
