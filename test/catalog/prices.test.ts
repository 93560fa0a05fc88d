import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { checkCatalogJson } from "../../src/catalog/checkCatalog.ts"
import { costOf } from "../../src/catalog/Tokens.ts"

const usd = { currency: "USD", date: "2026-11-01", input: 3, output: 15 }
const cached = { ...usd, cacheRead: 0.3, cacheWrite: 3.75 }

describe("the cost of tokens, in millionths", () => {
  it.each([
    ["input and output", usd, { input: 1000, output: 200 }, 6000],
    ["a cache without prices of its own", usd, { input: 1000, cached: 500, cacheWrites: 100, output: 0 }, 3000],
    ["a cache with prices", cached, { input: 1000, cached: 500, cacheWrites: 100, output: 0 }, 1200 + 150 + 375],
    [
      "an hour of a cache at twice the input",
      cached,
      { input: 1000, cacheWrites: 300, cacheWrites1h: 200, output: 0 },
      2100 + 375 + 1200
    ],
    [
      "an hour of a cache at a price of its own",
      { ...cached, cacheWrite1h: 5 },
      { input: 1000, cacheWrites: 300, cacheWrites1h: 200, output: 0 },
      2100 + 375 + 1000
    ],
    ["an hour that is more than was written", cached, { input: 10, cacheWrites: 10, cacheWrites1h: 50, output: 0 }, 60],
    ["half up", cached, { input: 5, cached: 5, output: 0 }, 2],
    ["half up, of the sum alone", { ...usd, input: 0.25, output: 0.25 }, { input: 1, output: 1 }, 1],
    ["less than half", { ...usd, input: 0.4 }, { input: 1, output: 0 }, 0],
    ["where binary fractions err", { ...usd, input: 1.005 }, { input: 100, output: 0 }, 101],
    [
      "more than is exact in a double",
      { ...usd, input: 999_999.999999 },
      { input: 9_000_000, output: 0 },
      8_999_999_999_991
    ],
    ["a cache that is larger than its input", cached, { input: 10, cached: 50, output: 0 }, 3],
    ["a cloud's nonsense", usd, { input: -5, output: Number.NaN }, 0],
    ["nothing", usd, { input: 0, output: 0 }, 0]
  ])("%s", (_, prices, tokens, cost) => {
    assert.strictEqual(costOf(prices, tokens), cost)
  })
})

describe("prices in a catalog", () => {
  const catalog = Result.getOrThrow(shippedCatalog)
  /** The shipped catalog with prices on the first deployments of its models. */
  const priced = (...prices: ReadonlyArray<unknown>) =>
    checkCatalogJson({
      models: catalog.models.map((model, n) =>
        prices[n] === undefined
          ? model
          : {
              ...model,
              deployments: model.deployments.map((deployment, at) =>
                at === 0 ? { ...deployment, prices: prices[n] } : deployment
              )
            }
      )
    })

  it("are none in the shipped one, and are taken where they make sense", () => {
    assert.isTrue(catalog.models.every(({ deployments }) => deployments.every(({ prices }) => prices === undefined)))
    assert.isTrue(Result.isSuccess(priced(usd, cached)))
  })

  it.each([
    [{ ...usd, currency: "dollars" }, /currency is a code such as USD/],
    [{ ...usd, date: "November" }, /2026-11-01/],
    [{ ...usd, input: -1 }, /prices\.input/],
    [{ ...usd, input: 0.0000001 }, /six digits/],
    [{ ...usd, inputs: 1 }, /unknown key/]
  ])("%j is refused", (prices, message) => {
    assert.match(Result.getFailure(priced(prices)).toString(), message)
  })

  it("have one currency", () => {
    assert.match(
      Result.getFailure(priced(usd, { ...usd, currency: "EUR" })).toString(),
      /models\[1\].*EUR.*one currency/
    )
  })
})
