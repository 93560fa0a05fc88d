/** Parameters of tools that combine schemas at the root (docs/upstreams.md#combined-parameters). */
import { assert, describe, it } from "@effect/vitest"
import { screen } from "../../src/governance/screen.ts"
import { arrayOf, type JsonObject, objectOf } from "../../src/wire/json.ts"
import { runNow } from "../../src/wire/slices.ts"
import { asked, azure, flash, opusBedrock, oss, sonnet, terra, tool } from "./support.ts"

const string = { type: "string" }
const object = (properties: JsonObject, ...required: ReadonlyArray<string>): JsonObject => ({
  type: "object",
  properties,
  required
})
/** The parameters as they are sent, and what is named of them. */
const sent = (route: typeof sonnet, parameters: JsonObject) => {
  const { adjusted, body } = asked(route, {
    messages: [{ role: "user", content: "a" }],
    tools: [tool("f", parameters)]
  })
  const [first] = arrayOf(body.tools)
  const { input_schema, function: called, functionDeclarations, parameters: own } = objectOf(first)
  const [declared] = arrayOf(functionDeclarations)
  return {
    schema: objectOf(input_schema ?? own ?? objectOf(declared).parametersJsonSchema ?? objectOf(called).parameters),
    named: adjusted.filter((entry) => entry.startsWith("tools"))
  }
}

const variants: ReadonlyArray<readonly [what: string, given: JsonObject, schema: JsonObject]> = [
  [
    "conditions on its own properties",
    { ...object({ a: string, b: string }), anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    object({ a: string, b: string })
  ],
  [
    "a union, with what all of its branches require",
    { oneOf: [object({ kind: { const: "x" }, x: string }, "kind", "x"), object({ kind: { const: "y" } }, "kind")] },
    object({ kind: { anyOf: [{ const: "x" }, { const: "y" }] }, x: string }, "kind")
  ],
  [
    "parts, by reference and within each other, round and round",
    {
      allOf: [{ $ref: "#/$defs/p" }, { allOf: [object({ b: string }, "b")] }],
      $defs: { p: { ...object({ a: string }, "a"), allOf: [{ $ref: "#/$defs/p" }, { $ref: "#" }] } }
    },
    {
      ...object({ a: string, b: string }, "a", "b"),
      $defs: { p: { ...object({ a: string }, "a"), allOf: [{ $ref: "#/$defs/p" }, { $ref: "#" }] } }
    }
  ],
  [
    "a property that the root describes, too",
    { ...object({ a: string }, "a"), allOf: [object({ a: { minLength: 1 } }), object({ a: true }, "a")] },
    object({ a: string }, "a")
  ],
  [
    "a union of which every branch has the same part",
    {
      oneOf: ["x", "y"].map((name) => ({ allOf: [{ $ref: "#/$defs/base" }, object({ [name]: string }, name)] })),
      $defs: { base: object({ id: string }, "id") }
    },
    { ...object({ id: string, x: string, y: string }, "id"), $defs: { base: object({ id: string }, "id") } }
  ],
  [
    "a union with references from one branch to another",
    { anyOf: [object({ x: string }), object({ y: { $ref: "#/anyOf/0/properties/x" } })], title: '"$ref":"#/anyOf/0"' },
    {
      ...object({ x: string, y: { $ref: "#/$defs/branches/anyOf/0/properties/x" } }),
      title: '"$ref":"#/anyOf/0"',
      $defs: {
        branches: {
          anyOf: [object({ x: string }), object({ y: { $ref: "#/$defs/branches/anyOf/0/properties/x" } })]
        }
      }
    }
  ],
  [
    "such references beside a definition that has the name of the branches",
    { oneOf: [object({ x: string, y: { $ref: "#/oneOf/0/properties/x" } })], $defs: { branches: {} } },
    {
      ...object({ x: string, y: { $ref: "#/$defs/branches_/oneOf/0/properties/x" } }),
      $defs: {
        branches_: { oneOf: [object({ x: string, y: { $ref: "#/$defs/branches_/oneOf/0/properties/x" } })] },
        branches: {}
      }
    }
  ],
  ["nothing that is a schema", { oneOf: "x", anyOf: [null, 1, []] }, { type: "object", properties: {} }]
]

const keywordsOf = (given: JsonObject) => ["allOf", "anyOf", "oneOf"].filter((keyword) => keyword in given)
/** A list that requires nothing says nothing. */
const withoutEmpty = (schema: JsonObject) =>
  Object.fromEntries(Object.entries(schema).filter(([name, value]) => name !== "required" || arrayOf(value).length > 0))

describe.each([
  ["Claude with a budget", sonnet],
  ["adaptive Claude", opusBedrock],
  ["GPT on Azure", azure],
  ["GPT on Bedrock", terra],
  ["gpt-oss", oss]
])("%s gets one list of properties for", (_, route) => {
  it.each(variants)("%s", (_, given, expected) => {
    const { named, schema } = sent(route, given)
    assert.deepStrictEqual(withoutEmpty(schema), withoutEmpty(expected))
    assert.deepStrictEqual(
      named,
      keywordsOf(given).map((keyword) => `tools.function.parameters:${keyword}->properties`)
    )
  })
})

it("Gemini takes combined parameters as they are", () => {
  for (const [, given] of variants) {
    assert.deepStrictEqual(sent(flash, given).named, [])
    assert.containsSubset(sent(flash, given).schema, given)
  }
})

it("OpenAI's models take neither of these at the root, and Claude does", () => {
  const given = { ...object({ a: string }), not: { required: ["a"] }, enum: [{}] }
  for (const route of [azure, terra, oss]) {
    const { named, schema } = sent(route, given)
    assert.deepStrictEqual(schema, object({ a: string }))
    assert.deepStrictEqual(named, ["tools.function.parameters.enum:removed", "tools.function.parameters.not:removed"])
  }
  assert.deepStrictEqual(sent(sonnet, given), { schema: given, named: [] })
})

describe.each([
  ["Claude", sonnet],
  ["GPT", azure],
  ["Gemini", flash]
] as const)("a reference for %s leads where the screen has looked", (_, route) => {
  const hidden = object({ webhook_url: string })
  it.each([
    ["#/default/x", "x"],
    ["#/default/x ", "x "],
    ["#/default/x\u00a0", "x\u00a0"],
    [" #/default/x", "x"],
    ["#/default/%FF", "\ufffd"],
    ["#/default/%C3a", "\ufffda"],
    ["#/default/%C3%A4", "ä"],
    ["#/default/a%20b", "a b"],
    ["#/default/a~1b", "a/b"]
  ])("%j", ($ref, name) => {
    for (const parameters of [{ type: "object", allOf: [{ $ref }] }, { $ref }]) {
      const schema = { ...parameters, default: { [name]: hidden } }
      const isSeen = runNow(screen([{ name: "f", schema }], "spec")) !== undefined
      const { properties } = sent(route, schema).schema
      assert.isTrue(isSeen || !Object.hasOwn(objectOf(properties), "webhook_url"))
    }
  })
})
