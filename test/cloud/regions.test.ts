/** In which order the regions of a deployment are asked (docs/decisions.md#several-regions). */
import { assert, describe, it } from "@effect/vitest"
import type { Deployment } from "../../src/catalog/Catalog.ts"
import { makeRegions } from "../../src/cloud/regions.ts"

const regions = ["us-east5", "us-central1", "us-west1"]
const keys = Array.from({ length: 6_000 }, (_, at) => `key-${at}`)
const deployment = (weights?: Deployment["weights"]): Deployment => ({
  cloud: "vertex",
  api: "messages",
  model: "m",
  authorization: { fedramp: "fedramp-high" },
  regions: ["us-east5", "us-central1", "us-west1"],
  ...(weights === undefined ? {} : { weights })
})

describe("a key's home", () => {
  const orderForKey = (regions: ReadonlyArray<string>, weights: Deployment["weights"], key: string) =>
    makeRegions().order(deployment(weights), regions, key)

  it("holds every region once, and is the same each time", () => {
    for (const key of keys.slice(0, 50)) {
      const order = orderForKey(regions, undefined, key)
      assert.sameMembers([...order], regions)
      assert.deepStrictEqual(order, orderForKey(regions, undefined, key))
    }
  })

  it.each([
    [undefined, { "us-east5": 1 / 3, "us-central1": 1 / 3, "us-west1": 1 / 3 }],
    [
      { "us-east5": 3, "us-central1": 1, "us-west1": 1 },
      { "us-east5": 3 / 5, "us-central1": 1 / 5, "us-west1": 1 / 5 }
    ],
    [{ "us-east5": 2 }, { "us-east5": 1 / 2, "us-central1": 1 / 4, "us-west1": 1 / 4 }]
  ])("is shared out by weight %j", (weights, shares) => {
    const homes = keys.map((key) => orderForKey(regions, weights, key)[0])
    for (const [region, share] of Object.entries(shares)) {
      assert.approximately(homes.filter((home) => home === region).length / keys.length, share, 0.025, region)
    }
  })

  it("moves only with its own region", () => {
    for (const key of keys.slice(0, 500)) {
      const [home] = orderForKey(regions, undefined, key)
      const [after] = orderForKey(
        regions.filter((region) => region !== "us-west1"),
        undefined,
        key
      )
      if (home !== "us-west1") assert.strictEqual(after, home)
    }
  })
})

describe("a region at its limit", () => {
  it("comes last until its time is over, and the others keep their order", () => {
    let now = 1_000_000
    const places = makeRegions(() => now)
    const one = deployment()
    const order = places.order(one, regions, "k")
    const [first = "", second = "", third = ""] = order
    places.markLimited(one, first, 7)
    assert.deepStrictEqual(places.order(one, regions, "k"), [second, third, first])
    assert.deepStrictEqual(places.order(deployment(), regions, "k"), order)
    now += 6_999
    assert.deepStrictEqual(places.order(one, regions, "k"), [second, third, first])
    now += 1
    assert.deepStrictEqual(places.order(one, regions, "k"), order)
  })

  it("that said nothing waits 5 seconds, and none more than a minute", () => {
    let now = 0
    const places = makeRegions(() => now)
    const one = deployment()
    const [first = "", second = "", third = ""] = places.order(one, regions, "k")
    places.markLimited(one, first, undefined)
    places.markLimited(one, second, 9_999)
    assert.deepStrictEqual(places.order(one, regions, "k"), [third, first, second])
    now = 5_000
    assert.deepStrictEqual(places.order(one, regions, "k"), [first, third, second])
    now = 60_000
    assert.deepStrictEqual(places.order(one, regions, "k"), [first, second, third])
  })

  it("is left alone for the longest time that it named, whatever calls of the same moment said", () => {
    let at = 0
    const places = makeRegions(() => at)
    const one = deployment()
    const order = places.order(one, regions, "k")
    places.markLimited(one, order[0] ?? "", 30)
    places.markLimited(one, order[0] ?? "", undefined)
    at = 29_000
    assert.strictEqual(places.order(one, regions, "k")[2], order[0])
  })

  it("leaves a single region as it is", () => {
    const places = makeRegions()
    const only = ["us-east5"]
    places.markLimited(deployment(), "us-east5", 60)
    assert.strictEqual(places.order(deployment(), only, "k"), only)
  })
})
