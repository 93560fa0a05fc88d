import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { clouds } from "../../src/model/Catalog.ts"
import { shippedCatalog } from "../../src/model/CatalogStore.ts"
import { bestSites } from "../../src/model/Partition.ts"
import { makeIndex } from "../../src/model/Resolver.ts"
import type { Route } from "../../src/model/Route.ts"
import { makeTargets, type Place } from "../../src/provider/Target.ts"
import { paths } from "../model/paths.ts"

const index = makeIndex(Result.getOrThrow(shippedCatalog), bestSites(clouds), paths)
const route: Route = Result.getOrThrow(index.resolve("gpt-oss-120b:il5", "chat"))

const region = "us-gov-west-1"
const origin = "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com"
const path = "/model/m/invoke"
const make = ({ region: at = region, ...rest }: Partial<Place>, baseUrl?: string) =>
  makeTargets({ cloud: "bedrock", baseUrl, place: () => ({ origin, path, ...rest }) })(route, "chat", false, at)

describe("an upstream address", () => {
  it("is the cloud's own, or the operator's", () => {
    assert.strictEqual(make({}).url.href, origin + path)
    assert.strictEqual(make({}, "https://proxy.example:8443/aws").url.href, `https://proxy.example:8443/aws${path}`)
    assert.deepInclude(make({}, "http://127.0.0.1:9"), { address: "127.0.0.1", port: 9, path })
  })

  it("is built once for each deployment, API and region", () => {
    let built = 0
    const place = () => {
      built++
      return { origin, path }
    }
    const target = makeTargets({ cloud: "bedrock", baseUrl: undefined, place })
    assert.strictEqual(target(route, "chat", false, region), target(route, "chat", false, region))
    assert.strictEqual(built, 1)
  })

  it.each<[string, Partial<Place>, string?]>([
    ["a region that hides another host", { origin: "https://bedrock-runtime.x@127.0.0.1:18192/?.amazonaws.com" }],
    ["another host", { origin: "https://evil.example" }],
    ["another region's host", { region: "us-gov-east-1" }],
    ["a region outside the table", { region: "us-east-1", origin: "https://bedrock-runtime.us-east-1.amazonaws.com" }],
    ["plain http", { origin: origin.replace("https", "http") }],
    ["another port", { origin: `${origin}:8443` }],
    ["a model that climbs", { path: "/model/../x/invoke" }],
    ["a model that climbs, at the operator's address", { path: "/model/../x/invoke" }, "http://127.0.0.1:9"],
    ["a path that makes another host", { path: "@evil.example/x" }, "http://127.0.0.1:9"],
    ["a path that makes another port", { path: "9/x" }, "http://127.0.0.1:9"]
  ])("%s is refused", (_, place, baseUrl) => {
    assert.throws(() => make(place, baseUrl), /out of the boundary/)
  })
})
