import { assert, describe, it } from "@effect/vitest"
import { forbiddenNames, type ScreenMode } from "../../src/governance/forbiddenNames.ts"
import { maxSchemaDepth, screen as slices } from "../../src/governance/screen.ts"
import { maxText } from "../../src/governance/toolSchema.ts"
import { runNow } from "../../src/wire/slices.ts"
import { superlinear } from "../support/growth.ts"
import { processorTime } from "../support/processorTime.ts"
import { slowness } from "../support/slowness.ts"

const screenTools = (...given: Parameters<typeof slices>) => runNow(slices(...given))
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
      assert.notMatch(refusal?.message ?? "", /rename|'url'|endpoint/)
    }
  })

  it.each(["deſtination", "DEſTINATION", "web\u0068oo\u212a", "ﬆ".replace("ﬆ", "deﬆination"), "poﬆ_to", "exﬁl_url"])(
    "%s is refused in both modes, as case folding reads it",
    (name) => {
      for (const mode of ["spec", "strict"] as const) assert.strictEqual(screen(withName(name), mode)?.parameter, name)
    }
  )

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
    "exfіltrаte",
    "web\u{e0041}hook",
    "web\ufe0fhook",
    "web\u2060\u180b\ufeff\u034fhook",
    "w\u0301eb\u0489hook",
    "🅆🄴🄱🄷🄾🄾🄺",
    "🆆🅴🅱🅷🅾🅾🅺",
    "🅦🅔🅑🅗🅞🅞🅚",
    "🇼🇪🇧🇭🇴🇴🇰",
    "ⓦⓔⓑⓗⓞⓞⓚ",
    "ꓪꓰꓐꓧꓳꓳꓗ",
    "webh00k",
    "ca11back"
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
    ["/dependencies/a", { dependencies: { a: "webhook_url" } }],
    ["/properties/0/webhook_url", { properties: [{ webhook_url: {} }] }],
    ["/type/1/properties/webhook_url", { type: ["string", hit] }],
    ["/components/schemas/a/properties/webhook_url", { components: { schemas: { a: hit } } }],
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
    ["a pointer that begins at no identifier", { properties: { a: { $ref: "#/default", default: hit } } }],
    ["a mapping that is no discriminator's", { mapping: { a: "#/default" }, default: hit }],
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

describe("screen: patterns", () => {
  it.each([
    "^webhook_url$",
    "\\x77ebhook",
    "\\u0077ebhook",
    "\\u0077\\U0065bhook",
    "\\u{77}ebhook",
    "\\u{000077}eb\\x68ook",
    "\\167ebhook",
    "^(web)(hook)(?:_url)?$",
    "^(?<kind>a|web(x|hook))$",
    "[w]eb[h]ook",
    "^[Ww][Ee]bhook$",
    "^[\\x77]ebhook$",
    "^[v-w]ebhook$",
    "^web\\hook$",
    "\\bwebhook\\b",
    "^webhook[0-9]*$",
    "^(?=w)webhook$",
    "^(?!x)webhook$",
    "^(?i:WEBHOOK)$",
    "^x*webhook$",
    "^webx?hook$",
    "^(|x)webhook_ur(l",
    ".*webhook.*",
    "\\p{L}*webhook",
    "^dest(ination)?(_url)?$",
    "^(a|b|c|destination)$",
    "^webho{2}k$",
    "^webho+k$",
    "^webho{1,}k_url$",
    "^cal*back$",
    "^cal[l]?back$",
    "^web(ho{2}k)$",
    "^webh(?:o){2}k$",
    "^webh(?:x|o|y){2}k$",
    "^webh[xo]{2}k$",
    "(?i)^webhook$",
    "(?#no)webhook",
    "(?#(no[)webhook",
    "(?P<n>webhook)",
    "(?>webhook)",
    "\\u{0000000077}ebhook"
  ])("%s spells a listed name", (pattern) => {
    for (const mode of ["spec", "strict"] as const) {
      assert.isDefined(screen({ patternProperties: { [pattern]: {} } }, mode))
      assert.isDefined(screen({ propertyNames: { pattern } }, mode))
    }
  })

  it.each([
    "^web[-_]hook$",
    "^webhook\\.url$",
    "^(web|x)Hook-?Url$",
    "\\ud835\\udc30ebhook",
    "[ｗ]ebhook",
    "w\\u200bebhook"
  ])("%s spells one in strict mode only", (pattern) => {
    assert.isUndefined(screen({ patternProperties: { [pattern]: {} } }))
    assert.isDefined(screen({ patternProperties: { [pattern]: {} } }, "strict"))
  })

  it.each([
    "",
    ".",
    ".*",
    "^[a-z]+$",
    "^[a-zA-Z0-9_-]*$",
    "^\\w+$",
    "^.{7}$",
    "^web.hook$",
    "^(?!webhook$).*$",
    "^(?!.*(?:webhook|callback)).*$",
    "^(?<!webhook)x$",
    "^webhook_[0-9]+$",
    "^[^w]ebhook$",
    "^webho{1}k$",
    "^webho?k$",
    "^cal{0,1}back$",
    "^(?:web|ho)+k$",
    "^\\debhook$",
    "^web$|^hook$",
    "^url|uri|endpoint|host|hostname$",
    "(((",
    ")))|]]{2}[",
    "\\",
    "\\u{ffffffff}"
  ])("%s spells none", (pattern) => {
    for (const mode of ["spec", "strict"] as const) {
      assert.isUndefined(screen({ patternProperties: { [pattern]: {} } }, mode))
      assert.isUndefined(screen({ propertyNames: { pattern } }, mode))
    }
  })
})

describe("screen: references into values", () => {
  const x = "https://a.example/dir/x"
  it.each<[path: string, schema: object]>([
    ["/examples/0/properties/webhook_url", { $ref: "#/examples/0", examples: [hit] }],
    ["/examples/0/properties/webhook_url", { $ref: "#/examples%2F0", examples: [hit] }],
    ["/examples/0/properties/webhook_url", { $ref: "#%2fexamples%2f0", examples: [hit] }],
    ["/examples/0/properties/webhook_url", { $ref: "#/%65xampl%65s/0", examples: [hit] }],
    ["/default/a~1b/properties/webhook_url", { $ref: "#/default/a%7E1b", default: { "a/b": hit } }],
    ["/default/a/b/properties/webhook_url", { $ref: "#/default/a%2Fb", default: { a: { b: hit } } }],
    ["/default/é/properties/webhook_url", { $ref: "#/default/%C3%A9", default: { é: hit } }],
    ["/default/100%/properties/webhook_url", { $ref: "#%2Fdefault/100%", default: { "100%": hit } }],
    ["/default//properties/webhook_url", { $ref: "#/default/", default: { "": hit } }],
    ["/default/properties/webhook_url", { items: { $ref: "#/default" }, default: hit }],
    ["/const/properties/webhook_url", { properties: { a: { $ref: "#/const" } }, const: hit }],
    ["/enum/1/a~1b/properties/webhook_url", { anyOf: [{ $ref: "#/enum/1/a~1b" }], enum: [1, { "a/b": hit }] }],
    ["/default/a b/properties/webhook_url", { $ref: "#/default/a%20b", default: { "a b": hit } }],
    ["/example/x/allOf/0/properties/webhook_url", { $ref: "#/example/x", example: { x: { allOf: [hit] } } }],
    ["/examples/1/properties/webhook_url", { $ref: "#/examples/0", examples: [{ $ref: "#/examples/1" }, hit] }],
    ["/default/properties/webhook_url", { $id: "urn:x:y", $ref: "urn:x:y#/default", default: hit }],
    ["/$defs/names/enum", { propertyNames: { $ref: "#/$defs/names" }, $defs: { names: { enum: ["webhook_url"] } } }],
    ["/$defs/properties/webhook_url", { $ref: "#/$defs", $defs: hit }],
    ["/default/webhook_url", { properties: { $ref: "#/default" }, default: { webhook_url: {} } }],
    [
      "/default/x/webhook_url",
      { patternProperties: { a: { properties: { $ref: "#/default/x" } } }, default: { x: { webhook_url: 1 } } }
    ],
    ["/x-any/default/properties/webhook_url", { $ref: "#/x-any/default", "x-any": { default: hit } }],
    ["/default/0/properties/webhook_url", { $ref: "#/default/0", $comment: "x", type: "object", default: [hit] }],
    // By anchor, old and new.
    ["/examples/0/properties/webhook_url", { $ref: "#a", examples: [{ $anchor: "a", ...hit }] }],
    ["/enum/0/x/properties/webhook_url", { $ref: "#a", enum: [{ x: { $anchor: "a", ...hit } }] }],
    ["/const/properties/webhook_url", { $dynamicRef: "#a", const: { $dynamicAnchor: "a", ...hit } }],
    ["/const/properties/webhook_url", { $ref: "#%61", const: { $dynamicAnchor: "a", ...hit } }],
    ["/const/properties/webhook_url", { $ref: "#a", const: { $id: "#a", ...hit } }],
    ["/const/properties/webhook_url", { $ref: "#a", const: { id: "#a", ...hit } }],
    ["/const/properties/webhook_url", { $recursiveRef: "#/const", const: hit }],
    ["/const/properties/webhook_url", { $id: x, $ref: `${x}#a`, const: { $anchor: "a", ...hit } }],
    // By identifier, relative and absolute, against any base.
    ["/const/properties/webhook_url", { $ref: "b", const: { $id: "b", ...hit } }],
    ["/const/properties/webhook_url", { $ref: " b\n", const: { $id: "b", ...hit } }],
    ["/$defs/0/properties/webhook_url", { $ref: "#/$defs/0", $defs: [hit] }],
    ["/properties/properties/webhook_url", { $ref: "#/properties", properties: { properties: { webhook_url: {} } } }],
    ["/const/properties/webhook_url", { $ref: "b#", const: { $id: "b", ...hit } }],
    ["/const/properties/webhook_url", { $ref: "b", const: { id: "b", ...hit } }],
    ["/const/properties/webhook_url", { $id: x, $ref: "b", const: { $id: "https://a.example/dir/b", ...hit } }],
    ["/const/properties/webhook_url", { $id: x, $ref: "https://a.example/dir/b", const: { $id: "b", ...hit } }],
    ["/const/properties/webhook_url", { $id: x, $ref: "./../dir/b", const: { $id: "/dir/b", ...hit } }],
    ["/const/properties/webhook_url", { $ref: x, const: { $id: "HTTPS://A.EXAMPLE:443/dir/./x#", ...hit } }],
    ["/const/properties/webhook_url", { $ref: "%62?", const: { $id: "b", ...hit } }],
    ["/const/properties/webhook_url", { $ref: "urn:uuid:1", const: { $id: "urn:uuid:1", ...hit } }],
    [
      "/definitions/a/default/properties/webhook_url",
      { $ref: "b#/default", definitions: { a: { $id: "b", default: hit } } }
    ],
    [
      "/definitions/a/default/x/properties/webhook_url",
      { $ref: "b#a", definitions: { a: { $id: "b", default: { x: { $anchor: "a", ...hit } } } } }
    ],
    [
      "/properties/a/examples/0/properties/webhook_url",
      { properties: { a: { $id: "b", $ref: "#/examples/0", examples: [hit] } } }
    ],
    [
      "/properties/a/default/properties/webhook_url",
      { properties: { a: { $id: "b", default: hit, items: { id: "c", $ref: "#/default" } } } }
    ],
    [
      "/default/properties/webhook_url",
      { properties: { a: { $id: "b", $ref: "#/default", default: {} } }, default: hit }
    ],
    ["/const/default/properties/webhook_url", { $ref: "b", const: { $id: "b", $ref: "#/default", default: hit } }],
    [
      "/const/properties/webhook_url",
      { $ref: "#a", $defs: { q: { $anchor: "a", $ref: "b" } }, const: { $id: "b", ...hit } }
    ],
    // OpenAPI's discriminator refers as well.
    ["/discriminator/propertyName", { discriminator: { propertyName: "webhook_url" } }],
    [
      "/default/properties/webhook_url",
      { discriminator: { propertyName: "a", mapping: { a: "#/default" } }, default: hit }
    ],
    ["/propertyOrdering", { type: "object", propertyOrdering: ["webhook_url"] }]
  ])("%s", (path, schema) => {
    for (const mode of ["spec", "strict"] as const) {
      assert.deepInclude(screen(schema, mode), { kind: "destination", parameter: "webhook_url", path })
    }
  })

  it.each<[what: string, schema: object]>([
    ["to nothing", { $ref: "#/examples/7", examples: [hit] }],
    ["beside the value", { $ref: "#/examples/0", examples: [{}, hit] }],
    ["elsewhere", { $ref: "https://a.example/x#/default", default: hit }],
    ["to another document", { $id: x, $ref: "https://b.example/dir/x#/default", default: hit }],
    ["to another name", { $id: x, $ref: "y#/default", default: { $id: "z", ...hit } }],
    ["to an anchor of another document", { $ref: "https://a.example/x#a", default: { $anchor: "a", ...hit } }],
    ["to another anchor", { $ref: "#b", default: { $anchor: "a", ...hit } }],
    ["that decode twice", { $ref: "#%252Fdefault", default: hit }],
    ["to a key with a slash", { $ref: "#/default/a%2Fb", default: { "a/b": hit } }],
    ["that are data", { default: { $ref: "#/examples/0" }, examples: [hit] }],
    ["that are data with an anchor", { default: { $anchor: "a", $ref: "#/examples/0" }, examples: [hit] }],
    ["that are no texts", { properties: { $ref: { const: 1 } }, $ref: [`#/default`], default: hit }],
    ["to values of a discriminator", { discriminator: { propertyName: "a", mapping: { webhook_url: "#/$defs/a" } } }],
    [
      "in circles",
      { $ref: "#/default", default: { $ref: "#/default", allOf: [{ $ref: "#" }, { $ref: "#/default/allOf" }] } }
    ],
    [
      "in circles of names",
      { $ref: "a", default: { $id: "a", $ref: "b" }, const: { $id: "b", $ref: "#c", $anchor: "c" } }
    ],
    [
      "misspelt",
      {
        allOf: [
          "#",
          "#/",
          "#/%",
          "#/~2",
          "",
          "x",
          "#/__proto__",
          "#/default/constructor",
          "#x",
          "://",
          "https://[",
          "?",
          "%"
        ].map((at) => ({ $ref: at })),
        default: {}
      }
    ]
  ])("%s lead nowhere", (_, schema) => {
    for (const mode of ["spec", "strict"] as const) assert.isUndefined(screen(schema, mode))
  })

  it("are refused where they are too long, or may lead to too many places", () => {
    assert.strictEqual(screen({ $ref: `#/${"a".repeat(20_000)}` })?.kind, "too-large")
    const copies = (count: number) => Array.from({ length: count }, (_, at) => ({ $id: `${at}/a` }))
    assert.isUndefined(screen({ $ref: "a", examples: copies(16) }))
    assert.strictEqual(screen({ $ref: "a", examples: copies(17) })?.kind, "too-large")
    assert.isUndefined(screen({ $ref: "b", examples: copies(1000) }))
  })
})

describe("screen: long names", () => {
  it("are folded whole", () => {
    for (const filler of ["\u200b", "\u0301", "\u{e0100}", "_", "😀"]) {
      const name = `web${filler.repeat(1000)}hook`
      assert.isUndefined(screen(withName(name)))
      assert.isDefined(screen(withName(name), "strict"), filler)
      assert.isUndefined(screen(withName(`${name}s_`.repeat(2)), "strict"))
    }
  })

  it("are refused where they are longer than any property", () => {
    assert.strictEqual(screen({ required: ["a".repeat(maxText + 1)] })?.kind, "too-large")
    assert.isUndefined(screen({ required: ["a".repeat(maxText)] }, "strict"))
  })
})

describe("screen: slices", () => {
  /** Slices, which take as long each, of a schema for each mode. */
  const slicesOf = (schema: object): ReadonlyArray<number> =>
    (["spec", "strict"] as const).map((mode) => {
      const running = slices([{ name: "send", schema }], mode)
      let count = 1
      while (running.next().done !== true) count++
      return count
    })
  const list = <A>(count: number, make: (at: number) => A) => Array.from({ length: count }, (_, at) => make(at))
  const record = (count: number, name: (at: number) => string) =>
    Object.fromEntries(list(count, (at) => [name(at), {}]))
  const deep = (levels: number) => JSON.parse(`${'{"allOf":['.repeat(levels)}1${"]}".repeat(levels)}`)

  it.each<[what: string, schema: (size: number) => object]>([
    ["names that expand", (size) => ({ properties: record(size, (at) => "ﷺ".repeat(40) + at) })],
    ["invisible names", (size) => ({ properties: record(size, (at) => `w${"\u200b".repeat(340)}${at}`) })],
    ["names of symbols", (size) => ({ required: list(size, (at) => `w${"∑".repeat(340)}${at}`) })],
    ["patterns", (size) => ({ patternProperties: record(size / 8, (at) => `^(?:d?e?s?t?)*${"(a|".repeat(80)}${at}`) })],
    ["one pattern", (size) => ({ propertyNames: { pattern: "d?(e[".repeat(size / 2) } })],
    [
      "references",
      (size) => ({
        anyOf: list(size, (at) => ({ $ref: `#/default${"/allOf/0".repeat(199 - (at % 200))}` })),
        default: deep(200)
      })
    ],
    ["encoded references", (size) => ({ anyOf: list(size, (at) => ({ $ref: `#/${"%41a".repeat(100)}${at}` })) })],
    [
      "identifiers",
      (size) => ({
        anyOf: list(size, (at) => ({ $ref: `a/${at}` })),
        examples: list(size, (at) => ({ $id: `b/${at}` }))
      })
    ],
    [
      "anchors",
      (size) => ({
        anyOf: list(size, (at) => ({ $ref: `#a${at}` })),
        enum: list(size, (at) => ({ $anchor: `a${at}` }))
      })
    ],
    ["values", (size) => ({ $ref: "x", enum: list(size * 10, () => ({})) })],
    ["required", (size) => ({ required: list(size * 10, (at) => `destination${100_000 + at}`) })]
  ])("of %s are as many as it is long", (_, make) => {
    const slicesOfMany = slicesOf(make(1200))
    for (const [at, few] of slicesOf(make(300)).entries()) {
      const many = slicesOfMany[at] ?? 0
      assert.isAbove(many, 1)
      assert.isAtMost(many, few * 4 + 4)
    }
  })

  it("of a class of many characters are many", () => {
    const [few = 0, many = 0] = ["x", "x".repeat(250)].map(
      (characters) => slicesOf({ patternProperties: record(8, (at) => `${`[${characters}]`.repeat(60)}${at}`) })[0]
    )
    assert.isAbove(many, 10 * few)
  })

  it("of references are as many at any depth", () => {
    const at = (depth: number) => {
      let schema: object = { x: list(2000, () => ({ $ref: "#" })) }
      for (let level = 1; level < depth; level++) schema = { a: schema }
      return slicesOf(schema)
    }
    assert.deepStrictEqual(at(200), at(2))
  })

  it.each<[what: string, size: number, schema: (size: number) => object]>([
    [
      "identifiers that end alike",
      2000,
      (size) => ({
        anyOf: list(size, () => ({ $ref: "https://a.example/b" })),
        examples: list(size, (at) => ({ $id: `https://${at}.example/b` }))
      })
    ],
    [
      "identifiers without a place of their own",
      2500,
      (size) => ({
        anyOf: list(size, () => ({ $ref: "https://a.example/b#c" })),
        examples: list(size, () => ({ $id: "b" }))
      })
    ],
    [
      "comments in patterns that do not end",
      650,
      (size) => ({ patternProperties: record(5, (at) => `${"(?#".repeat(size)}${at}`) })
    ]
  ])("of %s take no longer each", async (_, size, schema) => {
    const wrong = await superlinear((size) => {
      const made = schema(size)
      return (step) => void step("screen", () => assert.isUndefined(screen(made)))
    }, size)
    assert.deepStrictEqual(wrong, [])
  })

  it("are one for a usual request", () => {
    const usual = {
      properties: record(50, (at) => `destination_of_${at}`),
      required: list(50, (at) => `destination_of_${at}`)
    }
    assert.deepStrictEqual(slicesOf(usual), [1, 1])
  })

  it("are short", () => {
    const tools = [{ name: "t", schema: { required: list(1000, (at) => `w${"∑".repeat(340)}${at}`) } }]
    const longest = () => {
      const running = slices(tools, "strict")
      let most = 0
      for (let done = false; !done; )
        most = Math.max(
          most,
          processorTime(() => (done = running.next().done === true))
        )
      return most
    }
    let shortest = Number.POSITIVE_INFINITY
    for (let run = 0; run < 3 && shortest >= 50; run++) shortest = Math.min(shortest, longest() / slowness())
    assert.isBelow(shortest, 50)
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

  it("refuses references that go too many steps, in all tools together", () => {
    // From fourteen places each.
    const far = (count: number) => {
      let path: object = {}
      for (let level = 0; level < 160; level++) path = { a: path }
      let schema: object = { a: path, x: Array.from({ length: count }, () => ({ $ref: `#${"/a".repeat(160)}` })) }
      for (let level = 0; level < 14; level++) schema = { $id: `${level}`, a: schema }
      return schema
    }
    assert.isUndefined(screen(far(400)))
    const refusal = screen(far(500))
    assert.strictEqual(refusal?.kind, "too-large")
    assert.match(refusal?.path ?? "", /\/x\/\d+\/\$ref$/)
    assert.deepInclude(
      screenTools(
        ["a", "b"].map((name) => ({ name, schema: far(300) })),
        "spec"
      ),
      { tool: "b", kind: "too-large" }
    )
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
