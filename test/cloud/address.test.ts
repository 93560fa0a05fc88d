import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { clouds } from "../../src/catalog/clouds.ts"
import { bestSites } from "../../src/catalog/Partition.ts"
import { makeIndex } from "../../src/catalog/Resolver.ts"
import type { Route } from "../../src/catalog/Route.ts"
import { cloudsOf } from "../../src/cloud/Providers.ts"
import { addressOf } from "../../src/cloud/regions.ts"
import { type Environment, load } from "../../src/Settings.ts"
import { paths } from "../catalog/paths.ts"

const index = makeIndex(Result.getOrThrow(shippedCatalog), bestSites(clouds), paths)
const route: Route = Result.getOrThrow(index.resolve("gpt-oss-120b:il5", "chat"))

interface Place {
  readonly region: string
  readonly host: string
  readonly path: string
  readonly baseUrl: string | undefined
}

const host = "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com"
const path = "/model/m/invoke"
const own: Place = { region: "us-gov-west-1", host, path, baseUrl: undefined }

const make = (place: Partial<Place>) => {
  const { baseUrl, host, path, region } = { ...own, ...place }
  const endpoint = { baseUrl, host: () => host, path: () => path }
  const kind = { route, operation: "chat", stream: false } as const
  return addressOf({ name: "bedrock", endpoint } as unknown as Parameters<typeof addressOf>[0], kind, region)
}

const vertex = { VERTEX_PROJECT: "p", VERTEX_LOCATION: "us-east5" }
const bedrock = { BEDROCK_REGION: "us-gov-west-1" }

describe("an upstream address", () => {
  it.each<[Environment, "messages" | "count", string]>([
    [vertex, "messages", "us-east5-aiplatform.googleapis.com"],
    [vertex, "count", "us-east5-aiplatform.googleapis.com"],
    [{ ...vertex, VERTEX_LOCATION: "us" }, "messages", "aiplatform.us.rep.googleapis.com"],
    [{ ...vertex, VERTEX_COUNT_LOCATION: "us-east4" }, "messages", "us-east5-aiplatform.googleapis.com"],
    [{ ...vertex, VERTEX_COUNT_LOCATION: "us-east4" }, "count", "us-east4-aiplatform.googleapis.com"],
    [bedrock, "messages", "bedrock-runtime-fips.us-gov-west-1.amazonaws.com"],
    [{ ...bedrock, BEDROCK_FIPS: "false" }, "messages", "bedrock-runtime.us-gov-west-1.amazonaws.com"],
    [{ AZURE_OPENAI_ENDPOINT: "https://p.openai.azure.us" }, "messages", "p.openai.azure.us"]
  ])("with %o for %s is at %s", (environment, operation, host) => {
    const [cloud = assert.fail()] = cloudsOf(Effect.runSync(load(environment)).clouds)
    const call = { route, operation, stream: false } as const
    assert.deepStrictEqual(
      cloud.endpoint.regions(call).map((region) => addressOf(cloud, call, region).host),
      [host]
    )
  })

  it("is the cloud's own, or the operator's", () => {
    assert.strictEqual(make({}).url.href, host + path)
    assert.strictEqual(
      make({ baseUrl: "https://proxy.example:8443/aws" }).url.href,
      `https://proxy.example:8443/aws${path}`
    )
    assert.deepInclude(make({ baseUrl: "http://127.0.0.1:9" }), { host: "127.0.0.1", port: 9 })
  })

  it("has its scheme's port where it names none, and shares a circuit with its region", () => {
    assert.deepInclude(make({}), { port: 443, circuit: "bedrock/us-gov-west-1" })
    assert.strictEqual(make({ baseUrl: "http://127.0.0.1" }).port, 80)
  })

  it.each<[string, Partial<Place>]>([
    ["a region that hides another host", { host: "https://bedrock-runtime.x@127.0.0.1:18192/?.amazonaws.com" }],
    ["another host", { host: "https://evil.example" }],
    ["another region's host", { region: "us-gov-east-1" }],
    ["a region outside the table", { region: "us-east-1", host: "https://bedrock-runtime.us-east-1.amazonaws.com" }],
    ["plain http", { host: host.replace("https", "http") }],
    ["another port", { host: `${host}:8443` }],
    ["a model that climbs", { path: "/model/../x/invoke" }],
    ["a model that climbs, at the operator's address", { path: "/model/../x/invoke", baseUrl: "http://127.0.0.1:9" }],
    ["a path that makes another host", { path: "@evil.example/x", baseUrl: "http://127.0.0.1:9" }],
    ["a path that makes another port", { path: "9/x", baseUrl: "http://127.0.0.1:9" }]
  ])("%s is refused", (_, place) => {
    assert.throws(() => make(place), /out of the boundary/)
  })
})
