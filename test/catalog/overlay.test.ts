/** What an operator changes of a catalog without a copy of it. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Catalog } from "../../src/catalog/Catalog.ts"
import { shippedCatalog, withOverlay } from "../../src/catalog/CatalogStore.ts"
import { clouds } from "../../src/catalog/clouds.ts"
import { bestSites } from "../../src/catalog/Partition.ts"
import { requestable } from "../../src/catalog/Resolver.ts"

const catalog = Result.getOrThrow(shippedCatalog)
const over = (models: object) => withOverlay(catalog, JSON.stringify({ models }))
const problems = (models: object) => Result.getOrThrow(Result.flip(over(models)))
const modelIn = ({ models }: Catalog, id: string) => models.find((model) => model.id === id)
/** A model that two clouds serve. */
const shared = catalog.models.find(({ deployments }) => new Set(deployments.map(({ cloud }) => cloud)).size === 2)
const id = shared?.id ?? ""
const [first, second] = [...new Set(shared?.deployments.map(({ cloud }) => cloud))]

describe("an overlay", () => {
  it("changes only what it names", () => {
    assert.deepStrictEqual(Result.getOrThrow(over({})), catalog)
    const prices = { currency: "USD", date: "2026-11-01", input: 3, output: 15 }
    const change = { prices, quota: { requests: 60 } }
    const made = Result.getOrThrow(over({ [id]: { [first ?? ""]: change } }))
    assert.deepStrictEqual(
      modelIn(made, id)?.deployments.slice(),
      shared?.deployments.map((one) => (one.cloud === first ? { ...one, ...change } : one))
    )
    assert.deepStrictEqual(
      made.models.filter((model) => model.id !== id),
      catalog.models.filter((model) => model.id !== id)
    )
  })

  it("says the regions, in which a weight must be", () => {
    const { models } = Result.getOrThrow(
      over({ [id]: { bedrock: { regions: ["us-gov-west-1", "us-gov-east-1"], weights: { "us-gov-east-1": 3 } } } })
    )
    assert.deepInclude(
      modelIn({ models }, id)?.deployments.find(({ cloud }) => cloud === "bedrock"),
      { weights: { "us-gov-east-1": 3 } }
    )
    const [problem = ""] = problems({
      [id]: { bedrock: { regions: ["us-gov-west-1"], weights: { "us-gov-east-1": 3 } } }
    })
    assert.match(
      problem,
      /^of the catalog that it makes: models\[\d+\]\.deployments\[\d+\]\.weights: us-gov-east-1 is not/
    )
  })

  it("widens no boundary: a region that may not serve a level serves none", () => {
    const made = Result.getOrThrow(over({ [id]: { bedrock: { regions: ["us-east-1"] } } }))
    const served = (from: Catalog) =>
      requestable(from, bestSites(clouds)).list.filter(
        ({ model, deployment }) => model.id === id && deployment.cloud === "bedrock"
      )
    assert.isNotEmpty(served(catalog))
    assert.isEmpty(served(made))
  })

  it("switches off a model, or one cloud of it", () => {
    assert.isUndefined(modelIn(Result.getOrThrow(over({ [id]: { off: true } })), id))
    const one = Result.getOrThrow(over({ [id]: { [first ?? ""]: { off: true } } }))
    assert.deepStrictEqual([...new Set(modelIn(one, id)?.deployments.map(({ cloud }) => cloud))], [second])
    const all = over({ [id]: { [first ?? ""]: { off: true }, [second ?? ""]: { off: true } } })
    assert.isUndefined(modelIn(Result.getOrThrow(all), id))
    const none = problems(Object.fromEntries(catalog.models.map(({ id }) => [id, { off: true }])))
    assert.match(none.join(), /models/)
  })

  it("names everything that is wrong, with its place", () => {
    assert.sameMembers(
      [...problems({ other: {}, "gpt-5.2": {}, [id]: { azure: { off: true } } })],
      [
        `models.${id}.azure: the model has no deployment there, only on ${first}, ${second}`,
        "models.gpt-5.2: the catalog has no such model (is gpt-5.1 meant?)",
        "models.other: the catalog has no such model"
      ]
    )
    assert.deepStrictEqual(problems({ "gpt-0": { bedrock: { price: {} } } }), [
      'models["gpt-0"].bedrock.price: unknown key'
    ])
    const [currency = ""] = problems({
      [id]: {
        [first ?? ""]: { prices: { currency: "USD", date: "2026-11-01", input: 1, output: 1 } },
        [second ?? ""]: { prices: { currency: "EUR", date: "2026-11-01", input: 1, output: 1 } }
      }
    })
    assert.include(currency, "one catalog has one currency")
    const twice = withOverlay(catalog, `{"models":{"${id}":{"off":true},"${id}":{}}}`)
    assert.include(Result.getOrThrow(Result.flip(twice))[0], `models.${id}: stands twice, at line 1, column`)
    assert.match(Result.getOrThrow(Result.flip(withOverlay(catalog, "{")))[0] ?? "", /^overlay: not JSON/)
  })
})
