/** Keywords in the parameters of tools (docs/upstreams.md#arrays-in-parameters). */
import { assert, describe, it } from "@effect/vitest"
import { arrayOf, type JsonObject, objectOf } from "../../src/wire/json.ts"
import { asked, azure, flash, opusBedrock, oss, sonnet, terra, tool } from "./support.ts"

const string = { type: "string" }
/** The properties as they are sent, and what is named of them. */
const sent = (route: typeof sonnet, properties: JsonObject, more: JsonObject = {}) => {
  const messages = [{ role: "user", content: "a" }]
  const { adjusted, body } = asked(route, { messages, tools: [tool("f", { type: "object", properties, ...more })] })
  const [first] = arrayOf(body.tools)
  const { input_schema, function: called, functionDeclarations, parameters } = objectOf(first)
  const declared = objectOf(arrayOf(functionDeclarations)[0]).parametersJsonSchema
  const schema = objectOf(input_schema ?? parameters ?? declared ?? objectOf(called).parameters)
  const required = "required" in schema ? { required: schema.required } : {}
  return { properties: schema.properties, ...required, named: adjusted.filter((entry) => entry.startsWith("tools")) }
}
const claude = [sonnet, opusBedrock]
const gpt = [azure, terra, oss]

const tuples: JsonObject = {
  pair: { type: "array", items: [string, { $ref: "#/properties/pair/items/0" }], minItems: 2 },
  open: { type: "array", items: [{ type: "array", items: [string] }], additionalItems: { type: "array", items: [] } },
  choice: { anyOf: [{ type: "array", items: [string], additionalItems: false }] }
}
const current: JsonObject = {
  pair: { type: "array", prefixItems: [string, { $ref: "#/properties/pair/prefixItems/0" }], minItems: 2 },
  open: { type: "array", prefixItems: [{ type: "array", prefixItems: [string] }], items: { type: "array" } },
  choice: { anyOf: [{ type: "array", prefixItems: [string], items: false }] }
}
/** The same with the items that GPT wants. */
const complete: JsonObject = {
  pair: { ...objectOf(current.pair), items: {} },
  open: {
    type: "array",
    prefixItems: [{ type: "array", prefixItems: [string], items: {} }],
    items: { type: "array", items: {} }
  },
  choice: current.choice ?? null
}
/** Exclusive bounds as draft 4 has them, and as later drafts do. */
const booleans: JsonObject = {
  above: { type: "integer", exclusiveMinimum: true, minimum: 0, maximum: 9 },
  below: {
    anyOf: [
      { exclusiveMaximum: true, maximum: 1 },
      { minimum: 0, exclusiveMinimum: false, exclusiveMaximum: true }
    ]
  },
  exclusiveMinimum: { type: "boolean", default: { exclusiveMinimum: true } }
}
const numbers: JsonObject = {
  above: { type: "integer", exclusiveMinimum: 0, maximum: 9 },
  below: { anyOf: [{ exclusiveMaximum: 1 }, { minimum: 0 }] },
  exclusiveMinimum: { type: "boolean", default: { exclusiveMinimum: true } }
}
/** Names and values that only look like schemas. */
const untouched: JsonObject = {
  items: { type: "object", properties: { items: string, enum: string } },
  values: { enum: [{ type: "array", items: [string] }], default: { type: "array" }, const: { items: [string] } },
  list: { type: "array", items: string },
  any: true
}

describe("Claude", () => {
  it.each(claude)("gets tuples of the current draft, which are named ($model.id)", (route) => {
    const named = ["tools.function.parameters:items->prefixItems"]
    assert.deepStrictEqual(sent(route, tuples), { properties: current, named })
  })
  it.each(claude)("gets arrays without items as they are ($model.id)", (route) => {
    const properties = { list: { type: "array" }, ...untouched }
    assert.deepStrictEqual(sent(route, properties), { properties, named: [] })
  })
})

describe("GPT", () => {
  it.each(gpt)("gets arrays with items, of any kind where none is said ($model.id)", (route) => {
    const properties = {
      ...untouched,
      list: { type: "array" },
      deep: { type: "object", additionalProperties: { anyOf: [{ type: ["array", "null"] }] } }
    }
    const deep = { type: "object", additionalProperties: { anyOf: [{ type: ["array", "null"], items: {} }] } }
    const expected = { ...properties, list: { type: "array", items: {} }, deep }
    assert.deepStrictEqual(sent(route, properties), { properties: expected, named: [] })
    const named = ["tools.function.parameters:items->prefixItems"]
    assert.deepStrictEqual(sent(route, tuples), { properties: complete, named })
  })
})

it.each([...claude, ...gpt])("exclusive bounds are numbers, as draft 2020-12 has them ($model.id)", (route) => {
  const named = ["minimum->exclusiveMinimum", "maximum->exclusiveMaximum"]
  assert.deepStrictEqual(sent(route, booleans), {
    properties: numbers,
    named: named.map((change) => `tools.function.parameters:${change}`)
  })
  assert.deepStrictEqual(sent(route, numbers), { properties: numbers, named: [] })
})

/** Properties that say themselves whether they are required, as draft 3 has them. */
const flagged: JsonObject = {
  to: { ...string, required: true },
  cc: { ...string, required: false },
  all: { type: "array", items: { type: "object", required: true, properties: { a: { required: true } } } },
  required: { type: "boolean", default: { required: true } }
}
const lists: JsonObject = {
  to: string,
  cc: string,
  all: { type: "array", items: { type: "object", required: ["a"], properties: { a: {} } } },
  required: { type: "boolean", default: { required: true } }
}

it.each([...claude, ...gpt])("what is required is a list, as since draft 4 ($model.id)", (route) => {
  const named = ["tools.function.parameters:properties.required->required"]
  assert.deepStrictEqual(sent(route, flagged), { properties: lists, required: ["to"], named })
  const optional = { cc: flagged.cc ?? null }
  assert.deepStrictEqual(sent(route, optional), { properties: { cc: string }, named: [] })
})

it.each([...claude, ...gpt])("keywords that are null are left out ($model.id)", (route) => {
  const inner = { type: "object", const: null, default: null }
  const given = { a: { ...inner, properties: null, required: null, description: null } }
  assert.deepStrictEqual(sent(route, given, { required: null }), { properties: { a: inner }, named: [] })
})

it("Gemini gets them as they are", () => {
  assert.deepStrictEqual(sent(flash, { ...tuples, ...booleans, ...untouched }).properties, {
    ...tuples,
    ...booleans,
    ...untouched
  })
})
