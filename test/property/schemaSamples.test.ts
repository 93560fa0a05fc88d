/** What the sandbox makes of a schema is what the schema takes, as the clouds promise of strict tools and structured output. */
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import fc from "fast-check"
import type { JsonObject } from "../../src/sandbox/json.ts"
import { schemaSample } from "../../src/sandbox/schemaSample.ts"

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
formats.default(ajv)

const insistValid = (schema: JsonObject, prompt: string) => {
  const sample = schemaSample(schema, prompt)
  assert.isTrue(ajv.validate(schema, sample), `${JSON.stringify(sample)} ${ajv.errorsText()}`)
}

const prompts = fc.constantFrom(
  "",
  "Bob Jones is 25, an admin in Main Street 12345; mail bob@example.gov by 2026-03-04.",
  'Set "a" to -3.75, then 0 and 99999 at https://example.gov/x',
  "x".repeat(3000),
  "Grüße an 世界 😀😀😀"
)

const names = fc.constantFrom("name", "query", "date", "url", "email", "kind", "a b", "$ref", "properties")
const patterns = fc.constantFrom(
  "^\\d{5}$",
  "^[A-Z]{2}-\\d{3,}$",
  "^(?:red|green)$",
  "^#[0-9a-fA-F]{6}$",
  "^\\+?[1-9]\\d{1,14}$",
  "^[^\\s@]+@[^\\s@]+\\.[a-z]{2,}$",
  "^v(?<major>\\d+)\\.(\\d+)(?:-(?:rc|beta)\\.\\d)?$",
  "\\p{Lu}\\w*",
  "^\\S+$",
  "^.{3,8}$",
  "[\\]\\\\-]x*?"
)
const texts: fc.Arbitrary<JsonObject> = fc
  .oneof(
    fc.record({ minLength: fc.nat(40), maxLength: fc.integer({ min: 40, max: 60 }) }, { requiredKeys: [] }),
    fc.record({ pattern: patterns, minLength: fc.constantFrom(0, 1) }),
    fc.record({
      format: fc.constantFrom(..."date time date-time duration email hostname uri uuid ipv4 ipv6".split(" "))
    })
  )
  .map((more) => ({ type: "string", ...more }))

const numbers: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.constantFrom("integer", "number"),
    fc.constantFrom("minimum", "exclusiveMinimum", undefined),
    fc.constantFrom("maximum", "exclusiveMaximum", undefined),
    fc.integer({ min: -100, max: 100 }),
    fc.constantFrom(undefined, 5, 0.5)
  )
  .map(([type, low, high, least, multipleOf]) => ({
    type,
    ...(low && { [low]: least }),
    ...(high && { [high]: least + 11 }),
    ...(multipleOf && { multipleOf })
  }))
const fractions = fc.constant({ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 })

const literals: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.constantFrom<JsonObject>(
    { enum: ["a", "b", null] },
    { type: "string", enum: ["admin", "user"] },
    { const: { a: [1] } },
    { const: null },
    { type: "boolean" },
    { type: "null" },
    { type: ["string", "null"] },
    { type: ["null", "integer"], minimum: 3 }
  )
)

const { schema: schemas } = fc.letrec<{ schema: JsonObject; object: JsonObject }>((tie) => ({
  object: fc
    .tuple(
      fc.uniqueArray(fc.tuple(names, tie("schema")), { maxLength: 4, selector: ([name]) => name }),
      fc.constantFrom(true, false, undefined),
      fc.func(fc.boolean())
    )
    .map(([fields, additionalProperties, needed]) => ({
      type: "object",
      properties: Object.fromEntries(fields),
      required: fields.map(([name]) => name).filter((name) => needed(name)),
      ...(additionalProperties !== undefined && { additionalProperties })
    })),
  schema: fc.oneof(
    { depthSize: "small" },
    texts,
    numbers,
    fractions,
    literals,
    fc.constant({ $ref: "#/$defs/tree" }),
    fc.constant({ $ref: "#/$defs/linked" }),
    fc.constant({ $ref: "#/$defs/expression" }),
    tie("object"),
    tie("schema").map((inner) => ({ anyOf: [inner, { type: "null" }] })),
    tie("schema").map((inner) => ({ anyOf: [{ type: "null" }, inner] })),
    fc.tuple(tie("schema"), tie("schema")).map((anyOf) => ({ anyOf })),
    tie("object").map((inner) => ({ allOf: [inner] })),
    tie("object").map((inner) => ({ ...inner, minProperties: Object.keys(Object(inner.properties)).length })),
    fc.tuple(tie("schema"), fc.constantFrom(undefined, 3)).map(([additionalProperties, minProperties]) => ({
      type: "object",
      additionalProperties,
      ...(minProperties && { minProperties })
    })),
    fc
      .tuple(tie("schema"), fc.nat(5), fc.constantFrom(undefined, 5, 30))
      .map(([items, minItems, maxItems]) => ({ type: "array", items, minItems, ...(maxItems && { maxItems }) })),
    fc
      .tuple(tie("schema"), tie("schema"))
      .map((prefixItems) => ({ type: "array", prefixItems, items: false, minItems: 2 }))
  )
}))

const $defs: JsonObject = {
  tree: {
    type: "object",
    properties: { value: { type: "integer" }, children: { type: "array", items: { $ref: "#/$defs/tree" } } },
    required: ["value", "children"]
  },
  linked: {
    type: "object",
    properties: { next: { anyOf: [{ $ref: "#/$defs/linked" }, { type: "null" }] } },
    required: ["next"]
  },
  expression: { anyOf: [{ $ref: "#/$defs/sum" }, { $ref: "#/$defs/number" }] },
  sum: {
    type: "object",
    properties: { left: { $ref: "#/$defs/expression" }, right: { $ref: "#/$defs/expression" } },
    required: ["left", "right"]
  },
  number: { type: "object", properties: { value: { type: "number" } }, required: ["value"] }
}

describe("a sample", () => {
  it("is valid by its schema", () => {
    fc.assert(
      fc.property(schemas, prompts, (schema, prompt) =>
        insistValid({ type: "object", properties: { it: schema }, required: ["it"], $defs }, prompt)
      ),
      { numRuns: 300, seed: 1 }
    )
  })
})
