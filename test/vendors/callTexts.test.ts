/** The text of a call's input, which some vendors answer as a value. */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { inputText } from "../../src/vendors/toolCalls.ts"
import { maxNesting } from "../../src/wire/parse.ts"
import { runNow } from "../../src/wire/slices.ts"

const nested = (depth: number): Schema.JsonObject => (depth === 0 ? {} : { a: nested(depth - 1) })

it.prop("is that of any input", [Schema.Json], ([input]) => {
  assert.strictEqual(runNow(inputText(input)), JSON.stringify(input ?? {}))
})

it("is none of what is nested too deep", () => {
  assert.isString(runNow(inputText(nested(maxNesting))))
  assert.isUndefined(runNow(inputText(nested(maxNesting + 1))))
})
