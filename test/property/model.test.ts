import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Catalog, type Deployment } from "../../src/catalog/Catalog.ts"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { checkCatalog } from "../../src/catalog/checkCatalog.ts"
import { Cloud, clouds } from "../../src/catalog/clouds.ts"
import { authorizedLevels } from "../../src/catalog/Level.ts"
import { type Level, levels, type Purpose } from "../../src/catalog/names.ts"
import { bestSites, forbids, type Site } from "../../src/catalog/Partition.ts"
import { makeIndex, parseModelId } from "../../src/catalog/Resolver.ts"
import { purposePaths } from "../../src/contract/Api.ts"

const purposes: ReadonlyArray<Purpose> = ["chat", "messages", "responses", "embeddings", "count_tokens"]
const AnyLevel = Schema.Literals(levels)
const Active = Schema.Array(Cloud)

/** The decisions' rule, written the slow way. */
const boundTo = (catalog: Catalog, base: string, level: Level) =>
  catalog.models
    .filter(({ id }) => id === base)
    .flatMap(({ deployments }) => deployments)
    .find(({ authorization }) => authorizedLevels(authorization).includes(level))

const listedExactlyWhenResolved = (catalog: Catalog, active: ReadonlySet<Cloud>) => {
  const sites = bestSites(active)
  const index = makeIndex(catalog, sites, purposePaths)
  const served = (deployment: Deployment, level: Level, site: Site | undefined) =>
    site !== undefined && forbids(deployment, level, site) === undefined
  const listed = new Set(index.list.map(({ id }) => id))
  assert.strictEqual(listed.size, index.list.length)
  for (const base of new Set(catalog.models.map(({ id }) => id))) {
    for (const level of levels) {
      const id = `${base}:${level}`
      const expected = boundTo(catalog, base, level)
      assert.strictEqual(listed.has(id), expected !== undefined && served(expected, level, sites[expected.cloud]), id)
      let resolved = false
      for (const purpose of purposes) {
        const result = index.resolve(id, purpose)
        if (Result.isFailure(result)) {
          assert.strictEqual(result.failure.reason, "invalid")
          assert.isBelow(result.failure.message.length, 400 + 21 * (base.length + 30))
          continue
        }
        resolved = true
        assert.strictEqual(result.success.deployment, expected)
        assert.strictEqual(result.success.id, id)
        assert.strictEqual(result.success.level, level)
        assert.ok(authorizedLevels(result.success.deployment.authorization).includes(level))
        assert.ok(active.has(result.success.deployment.cloud))
      }
      assert.strictEqual(resolved, listed.has(id), id)
    }
  }
}

describe("model IDs", () => {
  it.prop("an ID that is formatted is parsed back", { base: Schema.NonEmptyString, level: AnyLevel }, (id) => {
    assert.deepStrictEqual(parseModelId(`${id.base}:${id.level}`), id)
  })

  it.prop("a text that parses is the format of what was parsed", [Schema.String], ([text]) => {
    for (const candidate of [text, `${text}:il5`, `m:${text}`, `:${text}`]) {
      const { base, level } = parseModelId(candidate)
      if (level !== undefined) assert.strictEqual(`${base}:${level}`, candidate)
      else if (base === candidate) assert.notInclude(candidate, ":")
    }
  })
})

describe("the resolver", () => {
  const shipped = Result.getOrThrow(shippedCatalog)

  it("lists an ID exactly when it resolves, and only where it is authorized: the shipped catalog", () => {
    for (let mask = 0; mask < 1 << clouds.length; mask++) {
      listedExactlyWhenResolved(shipped, new Set(clouds.filter((_, bit) => (mask & (1 << bit)) !== 0)))
    }
  })

  it.prop("… and any catalog at all", { catalog: Catalog, active: Active }, ({ catalog, active }) => {
    listedExactlyWhenResolved(catalog, new Set(active))
  })

  it.prop("takes an ID away with its cloud, and never moves it", { catalog: Catalog, active: Active }, (given) => {
    const all = new Map(
      makeIndex(given.catalog, bestSites(clouds), purposePaths).list.map((entry) => [entry.id, entry])
    )
    for (const { id, deployment } of makeIndex(given.catalog, bestSites(given.active), purposePaths).list) {
      assert.strictEqual(deployment, all.get(id)?.deployment)
    }
  })

  it.prop("refuses any text that is not listed, without throwing", [Schema.String], ([text]) => {
    const index = makeIndex(shipped, bestSites(clouds), purposePaths)
    for (const purpose of purposes) {
      for (const id of [text, `${text}:il5`, `claude-opus-5:${text}`, `claude-opus-5${text}:il2`]) {
        if (index.list.some((entry) => entry.id === id)) continue
        const result = index.resolve(id, purpose)
        assert.ok(Result.isFailure(result))
        assert.isBelow(result.failure.message.length, 2000)
        assert.notMatch(result.failure.message, /\p{Cc}/u)
      }
    }
  })
})

describe("checkCatalog", () => {
  it.prop("reads back what it accepts, and reports each problem on one line", [Catalog], ([catalog]) => {
    const result = checkCatalog(JSON.stringify(catalog))
    if (Result.isSuccess(result)) assert.deepStrictEqual(result.success, catalog)
    else assert.ok(result.failure.length > 0 && result.failure.every((line) => /^models\[\d+\]\.[^\n]+$/.test(line)))
  })
})
