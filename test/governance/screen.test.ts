import { assert, describe, it } from "@effect/vitest"
import { forbiddenNames, maxSchemaDepth, type ScreenMode, screenTools } from "../../src/governance/screen.ts"
import { processorTime } from "../support/processorTime.ts"

const screen = (schema: unknown, mode: ScreenMode = "spec") => screenTools([{ name: "send", schema }], mode)
const withName = (name: string) => ({ type: "object", properties: { [name]: { type: "string" } } })
const hit = withName("webhook_url")

describe("screen: names", () => {
  it("are those of the spec", () => assert.strictEqual(new Set(forbiddenNames).size, 24))

  it.each(forbiddenNames)("%s is refused in any case", (name) => {
    for (const spelled of [name, name.toUpperCase(), name[0]?.toUpperCase() + name.slice(1)]) {
      const refusal = screen(withName(spelled))
      assert.strictEqual(refusal?.kind, "destination")
      assert.strictEqual(refusal?.parameter, spelled)
      assert.strictEqual(refusal?.path, `/properties/${spelled}`)
      assert.include(refusal?.message, "'send'")
      assert.include(refusal?.message, `'${spelled}'`)
      assert.include(refusal?.message, "'endpoint'")
    }
  })

  it.each([
    "url",
    "uri",
    "endpoint",
    "host",
    "hostname",
    "URL",
    "target",
    "to",
    "report",
    "forward",
    "my_webhook",
    "webhook_id"
  ])("%s is allowed in both modes", (name) => {
    assert.isUndefined(screen(withName(name)))
    assert.isUndefined(screen(withName(name), "strict"))
  })

  it.each([
    "webhookUrl",
    "WebhookURL",
    "webhook-url",
    "webhook.url",
    "webhook url",
    "_webhook__url_",
    "webhookurl",
    "web\u200bhook",
    "web\u00adhook",
    "web\u3164hook",
    "ｗｅｂｈｏｏｋ＿ｕｒｌ",
    "𝐰𝐞𝐛𝐡𝐨𝐨𝐤",
    "сallback",
    "СALLBACK",
    "cаllbаck",
    "ωebhοοκ",
    "ԝеЬһоок",
    "wébhöok",
    "ᴡᴇʙʜᴏᴏᴋ",
    "sendTo",
    "exfіltrаte"
  ])("%s is refused in strict mode only", (name) => {
    assert.isUndefined(screen(withName(name)))
    const refusal = screen(withName(name), "strict")
    assert.strictEqual(refusal?.parameter, name)
    assert.include(refusal?.message, "reads as")
  })
})

describe("screen: every place of a schema that names a property", () => {
  it.each<[path: string, schema: unknown]>([
    ["/properties/a/properties/webhook_url", { properties: { a: hit } }],
    ["/patternProperties/^x-/properties/webhook_url", { patternProperties: { "^x-": hit } }],
    ["/patternProperties/^webhook_url$", { patternProperties: { "^webhook_url$": {} } }],
    ["/patternProperties/^(?:a|webhook_url)$", { patternProperties: { "^(?:a|webhook_url)$": {} } }],
    ["/additionalProperties/properties/webhook_url", { additionalProperties: hit }],
    ["/propertyNames/enum", { propertyNames: { enum: ["a", "webhook_url"] } }],
    ["/propertyNames/const", { propertyNames: { const: "webhook_url" } }],
    ["/propertyNames/anyOf/1/pattern", { propertyNames: { anyOf: [{}, { pattern: "^webhook_url$" }] } }],
    ["/required", { type: "object", required: ["a", "webhook_url"] }],
    ["/items/properties/webhook_url", { items: hit }],
    ["/items/1/properties/webhook_url", { items: [{}, hit] }],
    ["/prefixItems/0/properties/webhook_url", { prefixItems: [hit] }],
    ["/additionalItems/properties/webhook_url", { additionalItems: hit }],
    ["/contains/properties/webhook_url", { contains: hit }],
    ["/allOf/0/properties/webhook_url", { allOf: [hit] }],
    ["/anyOf/0/properties/webhook_url", { anyOf: [hit] }],
    ["/oneOf/1/properties/webhook_url", { oneOf: [{ type: "null" }, hit] }],
    ["/not/properties/webhook_url", { not: hit }],
    ["/if/properties/webhook_url", { if: hit }],
    ["/then/properties/webhook_url", JSON.parse(`{"then":${JSON.stringify(hit)}}`)],
    ["/else/properties/webhook_url", { else: hit }],
    ["/dependentSchemas/a/properties/webhook_url", { dependentSchemas: { a: hit } }],
    ["/dependentSchemas/webhook_url", { dependentSchemas: { webhook_url: {} } }],
    ["/dependencies/webhook_url", { dependencies: { webhook_url: ["a"] } }],
    ["/dependencies/a", { dependencies: { a: ["webhook_url"] } }],
    ["/dependencies/a/properties/webhook_url", { dependencies: { a: hit } }],
    ["/dependentRequired/a", { dependentRequired: { a: ["webhook_url"] } }],
    ["/$defs/a/properties/webhook_url", { $defs: { a: hit } }],
    ["/definitions/a/properties/webhook_url", { definitions: { a: hit } }],
    ["/unevaluatedItems/properties/webhook_url", { unevaluatedItems: hit }],
    ["/unevaluatedProperties/properties/webhook_url", { unevaluatedProperties: hit }],
    ["/contentSchema/properties/webhook_url", { contentSchema: hit }],
    ["/x-shared/a/properties/webhook_url", { $ref: "#/x-shared/a", "x-shared": { a: hit } }],
    ["/properties/properties/properties/webhook_url", { properties: { properties: hit } }],
    ["/properties/items/properties/webhook_url", { properties: { items: hit } }],
    ["/properties/enum/properties/webhook_url", { properties: { enum: hit } }],
    ["/properties/default/properties/webhook_url", { properties: { default: hit } }],
    ["/properties/a~1b~0c/properties/webhook_url", { properties: { "a/b~c": hit } }],
    ["/properties/__proto__/properties/webhook_url", JSON.parse(`{"properties":{"__proto__":${JSON.stringify(hit)}}}`)],
    ["/__proto__/properties/webhook_url", JSON.parse(`{"__proto__":${JSON.stringify(hit)}}`)]
  ])("%s", (path, schema) => {
    for (const mode of ["spec", "strict"] as const) {
      const refusal = screen(schema, mode)
      assert.deepInclude(refusal, { tool: "send", kind: "destination", parameter: "webhook_url", path })
    }
  })
})

describe("screen: places that name no property", () => {
  it.each<[what: string, schema: unknown]>([
    ["enum", { properties: { kind: { enum: ["webhook", "callback"] } } }],
    ["const", { properties: { kind: { const: "webhook" } } }],
    ["default", { properties: { kind: { default: "webhook" } } }],
    ["a default object", { default: { webhook: 1, properties: { webhook: {} } } }],
    ["examples", { examples: [{ webhook: "x" }], example: { webhook: 1 } }],
    ["a const object", { const: { required: ["webhook"] } }],
    ["description and title", { title: "webhook", description: "webhook_url" }],
    ["$ref", { $ref: "#/$defs/webhook", $defs: { webhook: { type: "string" } } }],
    ["a definition's name", { $defs: { callback: {} }, definitions: { destination: {} } }],
    ["a value of a property named enum", { properties: { enum: { enum: ["webhook"] } } }],
    ["a pattern of values", { properties: { a: { pattern: "^webhook$" } } }],
    ["a pattern for many names", { patternProperties: { "^webhook_[0-9]+$": {}, ".*": {} } }],
    ["names that are excluded", { propertyNames: { not: { enum: ["webhook"] } } }],
    ["required in the old sense", { properties: { a: { required: true } } }]
  ])("%s", (_, schema) => {
    assert.isUndefined(screen(schema))
    assert.isUndefined(screen(schema, "strict"))
  })

  it.each([undefined, null, true, "webhook", 1, [], {}])("a schema that is %j", (schema) =>
    assert.isUndefined(screen(schema))
  )
})

describe("screen: references into values", () => {
  it.each<[path: string, schema: object]>([
    ["/examples/0/properties/webhook_url", { $ref: "#/examples/0", examples: [hit] }],
    ["/default/properties/webhook_url", { items: { $ref: "#/default" }, default: hit }],
    ["/const/properties/webhook_url", { properties: { a: { $ref: "#/const" } }, const: hit }],
    ["/enum/1/a~1b/properties/webhook_url", { anyOf: [{ $ref: "#/enum/1/a~1b" }], enum: [1, { "a/b": hit }] }],
    ["/default/a b/properties/webhook_url", { $ref: "#/default/a%20b", default: { "a b": hit } }],
    ["/example/x/allOf/0/properties/webhook_url", { $ref: "#/example/x", example: { x: { allOf: [hit] } } }],
    ["/examples/1/properties/webhook_url", { $ref: "#/examples/0", examples: [{ $ref: "#/examples/1" }, hit] }],
    ["/default/properties/webhook_url", { $id: "urn:x:y", $ref: "urn:x:y#/default", default: hit }],
    ["/$defs/names/enum", { propertyNames: { $ref: "#/$defs/names" }, $defs: { names: { enum: ["webhook_url"] } } }],
    ["/$defs/properties/webhook_url", { $ref: "#/$defs", $defs: hit }]
  ])("%s", (path, schema) => {
    for (const mode of ["spec", "strict"] as const) {
      assert.deepInclude(screen(schema, mode), { kind: "destination", parameter: "webhook_url", path })
    }
  })

  it.each<[what: string, schema: object]>([
    ["to nothing", { $ref: "#/examples/7", examples: [hit] }],
    ["beside the value", { $ref: "#/examples/0", examples: [{}, hit] }],
    ["elsewhere", { $ref: "https://a.example/x#/default", default: hit }],
    ["that are data", { default: { $ref: "#/examples/0" }, examples: [hit] }],
    [
      "in circles",
      { $ref: "#/default", default: { $ref: "#/default", allOf: [{ $ref: "#" }, { $ref: "#/default/allOf" }] } }
    ],
    [
      "misspelt",
      {
        allOf: ["#", "#/", "#/%", "#/~2", "", "x", "#/__proto__", "#/default/constructor"].map((at) => ({ $ref: at })),
        default: {}
      }
    ]
  ])("%s lead nowhere", (_, schema) => assert.isUndefined(screen(schema)))

  it("many into one value are one look at it, in time", () => {
    const deep = JSON.parse(`${'{"allOf":['.repeat(200)}${"1,".repeat(20_000)}1${"]}".repeat(200)}`)
    const at = (depth: number) => `#/default${"/allOf/0".repeat(depth)}`
    const refs = Array.from({ length: 20_000 }, (_, index) => ({ $ref: at(199 - (index % 200)) }))
    assert.isBelow(
      processorTime(() => assert.isUndefined(screen({ anyOf: refs, default: deep }))),
      3000
    )
  })
})

describe("screen: long names", () => {
  it("are not folded", () => {
    const marks = `webhook${"\u0301\u0316\u0327\u0345".repeat(16_000)}`
    assert.isBelow(
      processorTime(() => assert.isUndefined(screen(withName(marks), "strict"))),
      200
    )
    assert.isDefined(screen(withName(`webhook${"\u200b".repeat(121)}`), "strict"))
    assert.isUndefined(screen(withName(`webhook${"\u200b".repeat(122)}`), "strict"))
  })
})

describe("screen: bounds", () => {
  const nested = (levels: number): unknown =>
    JSON.parse(`${'{"properties":{"a":'.repeat(levels)}{}${"}}".repeat(levels)}`)

  it("takes nesting up to the bound and refuses what is deeper, at any depth", () => {
    assert.isUndefined(screen(nested(maxSchemaDepth - 1)))
    for (const levels of [maxSchemaDepth, 200_000]) {
      const refusal = screen(nested(levels))
      assert.strictEqual(refusal?.kind, "too-deep")
      assert.include(refusal?.message, "'send'")
      assert.isBelow(refusal?.message.length ?? 0, 500)
    }
    for (const text of ["[", '{"allOf":[', '{"dependencies":{"a":[']) {
      const close = [...text]
        .reverse()
        .map((c) => (c === "[" ? "]" : c === "{" ? "}" : ""))
        .join("")
      const deep = JSON.parse(`${text.repeat(10_000)}${close.repeat(10_000)}`)
      assert.strictEqual(screen({ x: deep })?.kind, "too-deep")
    }
  })

  const wide = (count: number) => ({
    properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: "string" }]))
  })

  it("takes 10,000 and 99,000 nodes, and still finds the last one", () => {
    assert.isUndefined(screen(wide(10_000)))
    assert.isUndefined(screen(wide(99_000), "strict"))
    assert.strictEqual(screen({ ...wide(10_000), z: { allOf: [hit] } })?.path, "/z/allOf/0/properties/webhook_url")
  })

  it("refuses too many nodes", () => assert.strictEqual(screen(wide(100_001))?.kind, "too-large"))

  it("does not count values", () => {
    assert.isUndefined(screen({ enum: Array.from({ length: 200_000 }, () => ({})) }))
    assert.isUndefined(screen({ default: nested(1000) }))
  })

  it("ends on shared and cyclic references", () => {
    let shared: object = {}
    for (let level = 0; level < 60; level++) shared = { allOf: [shared, shared] }
    assert.strictEqual(screen(shared)?.kind, "too-large")
    const cycle: Record<string, unknown> = {}
    cycle.items = cycle
    assert.strictEqual(screen(cycle)?.kind, "too-deep")
  })

  it("keeps the message short whatever the names are", () => {
    const refusal = screenTools(
      [{ name: "t".repeat(10_000), schema: withName(`web${"\u200b".repeat(120)}hook`) }],
      "strict"
    )
    assert.strictEqual(refusal?.kind, "destination")
    assert.isBelow(refusal?.message.length ?? 0, 1000)
  })
})

describe("screen: several tools", () => {
  it("names the first tool that is refused", () => {
    const tools = [
      { name: "a", schema: withName("url") },
      { name: "b", schema: withName("callback") },
      { name: "c", schema: withName("webhook") }
    ]
    assert.deepInclude(screenTools(tools, "spec"), { tool: "b", parameter: "callback" })
    assert.isUndefined(screenTools(tools.slice(0, 1), "strict"))
    assert.isUndefined(screenTools([], "spec"))
  })

  it("reports the outermost parameter", () =>
    assert.strictEqual(screen({ properties: { a: hit, send_to: {} } })?.path, "/properties/send_to"))
})
