import { createRequire } from "node:module"
import { assert, describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { shippedCatalog, withOverlay } from "../../src/catalog/CatalogStore.ts"
import { checkCatalogJson } from "../../src/catalog/checkCatalog.ts"
import { clouds } from "../../src/catalog/clouds.ts"
import { bestSites } from "../../src/catalog/Partition.ts"
import { makeIndex } from "../../src/catalog/Resolver.ts"
import { reportCatalog, schemaOf } from "../../src/operators/cli/catalog.ts"
import { paths } from "../catalog/paths.ts"
import { haveTools, toolFile } from "../tools/tools.ts"

const catalog = Result.getOrThrow(shippedCatalog)

it("prints every ID with its cloud, in columns", () => {
  const [opus] = catalog.models.filter(({ id }) => id === "claude-opus-4-8")
  assert.ok(opus)
  expect(reportCatalog({ models: [opus] }, bestSites(clouds))).toMatchInlineSnapshot(`
    "ID                                CLOUD    UPSTREAM MODEL                    COUNTING
    claude-opus-4-8:fedramp-low       vertex   claude-opus-4-8                   yes
    claude-opus-4-8:fedramp-moderate  vertex   claude-opus-4-8                   yes
    claude-opus-4-8:fedramp-high      vertex   claude-opus-4-8                   yes
    claude-opus-4-8:il2               vertex   claude-opus-4-8                   yes
    claude-opus-4-8:itar              bedrock  us-gov.anthropic.claude-opus-4-8  no

    5 IDs of 1 models"
  `)
})

it("counts what it printed", () => {
  const lines = reportCatalog(catalog, bestSites(clouds)).split("\n")
  const ids = makeIndex(catalog, bestSites(clouds), paths).list.map(({ id }) => id)
  assert.deepStrictEqual(
    lines.slice(1, -2).map((line) => line.split(/ +/)[0]),
    ids
  )
  assert.strictEqual(lines.at(-1), `${ids.length} IDs of ${catalog.models.length} models`)
})

it("names what is left out, and why", () => {
  const [titan] = catalog.models.filter(({ id }) => id === "titan-embed-text-v2")
  assert.ok(titan)
  const lines = reportCatalog({ models: [titan] }, { bedrock: { place: "us-east-1" } }).split("\n")
  assert.match(
    lines.at(-2) ?? "",
    /^13 model IDs are not served: Bedrock region us-east-1 is not in the partition table .*titan-embed-text-v2:il5\+itar/
  )
  assert.strictEqual(lines.at(-1), "0 IDs of 1 models")
})

const good = {
  models: {
    "claude-sonnet-4-5": {
      bedrock: {
        quota: { requests: 200 },
        weights: { "us-gov-west-1": 2 },
        regions: ["us-gov-west-1", "us-gov-east-1"]
      },
      vertex: { off: true }
    },
    "gpt-5.6-terra": { off: true }
  }
}
const priced = (prices: object) => ({ models: { "gpt-5.1": { azure: { prices } } } })
const prices = { currency: "USD", date: "2026-11-01", input: 3, output: 15 }

describe.runIf(haveTools())("the JSON Schemas", () => {
  const { default: Ajv } = createRequire(toolFile("package.json"))("ajv/dist/2020.js")
  const judge = (what: "catalog" | "overlay") =>
    new Ajv({ strictTypes: false, strictTuples: false }).compile(schemaOf(what))

  it("of a catalog takes the shipped one", () => {
    const takes = judge("catalog")
    const named = JSON.parse(JSON.stringify({ $schema: "./catalog.schema.json", ...catalog }))
    assert.isTrue(takes(named), JSON.stringify(takes.errors))
    assert.isTrue(Result.isSuccess(checkCatalogJson(named)))
  })

  it.each([good, priced(prices), { $schema: "./overlay.schema.json", ...good }])(
    "of an overlay takes what the gateway takes: %j",
    (overlay) => {
      assert.isTrue(judge("overlay")(overlay))
      assert.isTrue(Result.isSuccess(withOverlay(catalog, JSON.stringify(overlay))))
    }
  )

  it.each([
    {},
    { models: { "gpt-5.1": { azur: {} } } },
    { models: { "gpt-5.1": { off: "yes" } } },
    { models: { "gpt-5.1": { azure: { qota: {} } } } },
    { models: { "gpt-5.1": { azure: { quota: { requests: 0 } } } } },
    { models: { "claude-sonnet-4-5": { bedrock: { regions: [] } } } },
    { models: { "claude-sonnet-4-5": { bedrock: { regions: ["US GOV"] } } } },
    { models: { "claude-sonnet-4-5": { bedrock: { weights: { "us-gov-west-1": -1 } } } } },
    priced({ ...prices, currency: "dollars" }),
    priced({ ...prices, date: "today" }),
    priced({ ...prices, input: -1 }),
    priced({ ...prices, cached: 1 })
  ])("of an overlay refuses what the gateway refuses: %j", (overlay) => {
    assert.isFalse(judge("overlay")(overlay))
    assert.isTrue(Result.isFailure(withOverlay(catalog, JSON.stringify(overlay))))
  })

  it("of a catalog refuses what the gateway refuses", () => {
    const takes = judge("catalog")
    const [model, ...models] = catalog.models
    for (const wrong of [
      { ...model, id: "a b" },
      { ...model, ownedBy: "Vendor" },
      { ...model, extra: 1 }
    ]) {
      assert.isFalse(takes(JSON.parse(JSON.stringify({ models: [wrong, ...models] }))))
      assert.isTrue(Result.isFailure(checkCatalogJson({ models: [wrong, ...models] })))
    }
  })
})
