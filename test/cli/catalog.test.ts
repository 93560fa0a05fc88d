import { assert, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { clouds } from "../../src/catalog/clouds.ts"
import { bestSites } from "../../src/catalog/Partition.ts"
import { makeIndex } from "../../src/catalog/Resolver.ts"
import { reportCatalog } from "../../src/operators/cli/catalog.ts"
import { paths } from "../catalog/paths.ts"

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
