/** What is served is authorized where it is served: every ID, every row of the table, every kind of configuration. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result } from "effect"
import type { Catalog } from "../../src/catalog/Catalog.ts"
import { leftOutLines, shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { type Cloud, clouds } from "../../src/catalog/clouds.ts"
import { type Level, levels } from "../../src/catalog/names.ts"
import { bestSites, isHostOf, partition, rowOf } from "../../src/catalog/Partition.ts"
import { makeIndex } from "../../src/catalog/Resolver.ts"
import { type Environment, load } from "../../src/Settings.ts"
import { activeClouds, type CloudSettings, sitesOf } from "../../src/settings/clouds.ts"
import { paths } from "./paths.ts"

const catalog = Result.getOrThrow(shippedCatalog)

/** The decisions' table, written out and not read from the data. */
const vertexLevels = ["fedramp-low", "fedramp-moderate", "fedramp-high", "il2"]
const locations = "us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west4 us".split(" ")
const authorizedThere = (cloud: Cloud, place: string, level: Level): boolean => {
  if (cloud === "vertex") return locations.includes(place) && vertexLevels.includes(level)
  return cloud === "bedrock" ? /^us-gov-[a-z]+-\d$/.test(place) : /^[a-z-]+\.openai\.azure\.us$/.test(place)
}

const ladders = [
  ["fedramp-low", "fedramp-moderate", "fedramp-high"],
  ["il2", "il4", "il5"]
]
/** The declaration's rule, the slow way: each part of a level is at most what is declared of it. */
const declaredThere = (declaration: string, level: Level): boolean =>
  level.split("+").every((part) =>
    part === "itar"
      ? declaration.includes("itar")
      : ladders.some((ladder) => {
          const top = ladder.findIndex((name) => declaration.split(",").includes(name))
          return ladder.includes(part) && ladder.indexOf(part) <= top
        })
  )

const declarations = ["fedramp-low", "fedramp-moderate,il2", "il4", "itar", "fedramp-high,il5,itar", "il5,fedramp-low"]
const example = (pattern: string) => pattern.replace(/^\*/, "my-resource").replace(/\*$/, "west-1")

/** One configuration: the settings of one cloud, where it would be served, and what is declared of its address. */
interface Configured {
  readonly cloud: Cloud
  readonly place: string
  readonly declaration: string | undefined
  readonly environment: Environment
  readonly settings: CloudSettings | undefined
}

const loaded = (environment: Environment): CloudSettings | undefined => {
  const result = Effect.runSync(Effect.result(load(environment)))
  return Result.isSuccess(result) ? result.success.clouds : undefined
}

/** Every row of the table, and places beside it. */
const places: Readonly<Record<Cloud, ReadonlyArray<string>>> = {
  vertex: [...partition.vertex.flatMap((row) => row.places.map(example)), "us-west2", "europe-west4", "eu"],
  bedrock: [
    ...partition.bedrock.flatMap((row) => row.places.map(example)),
    ...["us-gov-east-1", "us-east-1", "us-west-2", "eu-west-1", "cn-north-1", "us-iso-east-1"]
  ],
  azure: [
    ...partition.azure.flatMap((row) => row.places.map(example)),
    ...["my.openai.azure.com", "my.cognitiveservices.azure.us", "azure.us.example", "10.0.0.4", "openai.azure.us"]
  ]
}

const settingsOf: Readonly<Record<Cloud, (place: string, base: Environment) => Environment>> = {
  vertex: (place, base) => ({ VERTEX_PROJECT: "p", VERTEX_LOCATION: place, ...base }),
  bedrock: (place, base) => ({ BEDROCK_REGION: place, ...base }),
  azure: (place, base) => ({ AZURE_OPENAI_ENDPOINT: `https://${place}`, ...base })
}
const variable = { vertex: "VERTEX_BASE_URL", bedrock: "BEDROCK_BASE_URL", azure: "AZURE_OPENAI_ENDPOINT" } as const

const configurations: ReadonlyArray<Configured> = clouds.flatMap((cloud) =>
  places[cloud].flatMap((place) => {
    const of = (declaration: string | undefined, base: Environment): Configured => {
      const environment = settingsOf[cloud](place, base)
      return { cloud, place, declaration, environment, settings: loaded(environment) }
    }
    const name = variable[cloud]
    const bases = cloud === "azure" ? [] : ["http://127.0.0.1:1", "https://proxy.example/path"]
    return [
      of(undefined, {}),
      ...declarations.map((declaration) => of(declaration, { [`${name}_BOUNDARY`]: declaration })),
      ...bases.flatMap((base) => [
        of(undefined, { [name]: base }),
        ...declarations.map((declaration) => of(declaration, { [name]: base, [`${name}_BOUNDARY`]: declaration }))
      ])
    ]
  })
)

const check = ({ cloud, place, declaration, environment, settings }: Configured, given: Catalog) => {
  if (settings === undefined) return 0
  const sites = sitesOf(settings)
  assert.deepStrictEqual(Object.keys(sites), [cloud])
  assert.deepStrictEqual([...activeClouds(settings)], [cloud])
  const { list, leftOut, resolve } = makeIndex(given, sites, paths)
  const served = new Set(list.map(({ id }) => id))
  for (const { id, level, deployment } of list) {
    const what = `${id} with ${JSON.stringify(environment)}`
    assert.strictEqual(deployment.cloud, cloud, what)
    const places = cloud === "azure" ? [place] : (deployment.regions ?? [place])
    for (const each of places) {
      const priv = cloud === "azure" && declaration !== undefined && /example$|^10\./.test(each)
      assert.ok(priv || authorizedThere(cloud, each, level), what)
    }
    if (declaration !== undefined) assert.ok(declaredThere(declaration, level), what)
  }
  const out = leftOut.flatMap(({ ids }) => ids)
  for (const { id } of makeIndex(given, bestSites([cloud]), paths).list) {
    assert.ok(served.has(id) !== out.includes(id), `${id} is served or left out: ${JSON.stringify(environment)}`)
    const { family } = given.models.find((model) => id.startsWith(`${model.id}:`)) ?? assert.fail(id)
    const resolved = resolve(id, family === "embedding" ? "embeddings" : "chat")
    assert.strictEqual(Result.isSuccess(resolved), served.has(id), id)
    if (Result.isFailure(resolved)) assert.include(resolved.failure.message, "this region is not authorized")
  }
  return list.length
}

/** A catalog that claims everything everywhere, in these regions where they are given. */
const boastful = (regions?: readonly [string, ...ReadonlyArray<string>]): Catalog => {
  const [model] = catalog.models
  const authorization = { fedramp: "fedramp-high", impact: "il5", itar: "ladder" } as const
  const at = (id: string, cloud: Cloud) => ({
    ...model,
    id,
    deployments: [{ cloud, api: "messages" as const, model: "m", authorization, ...(regions && { regions }) }] as const
  })
  return { models: [at("v", "vertex"), at("b", "bedrock"), at("a", "azure")] }
}

describe("a served ID is authorized where it is served", () => {
  it("the shipped catalog: every ID, every row, every configuration", () => {
    assert.isAbove(configurations.length, 300)
    const counts = configurations.map((configured) => check(configured, catalog))
    assert.isAbove(counts.filter((count) => count > 0).length, 50)
    assert.isAbove(counts.filter((count) => count === 0).length, 50)
  })

  it("a catalog that claims every level everywhere, in the settings' regions and in its own", () => {
    const all = [
      boastful(),
      boastful(["us-east5", "us-west1"]),
      boastful(["us-east5", "europe-west4"]),
      boastful(["us-gov-west-1", "us-gov-east-1"]),
      boastful(["us-gov-west-1", "us-east-1"])
    ]
    for (const given of all) for (const configured of configurations) check(configured, given)
  })

  it("several clouds at once serve what each serves alone", () => {
    const good = { vertex: "us-east4", bedrock: "us-gov-east-1", azure: "r.openai.azure.us" }
    const bad = { vertex: "us", bedrock: "us-east-1", azure: "r.openai.azure.com" }
    for (const places of [good, bad, { ...good, bedrock: bad.bedrock }, { ...good, azure: bad.azure }]) {
      const alone = clouds.map((cloud) => loaded(settingsOf[cloud](places[cloud], {})) ?? assert.fail(cloud))
      const together = loaded(Object.assign({}, ...clouds.map((cloud) => settingsOf[cloud](places[cloud], {}))))
      const ids = (settings: CloudSettings) => makeIndex(catalog, sitesOf(settings), paths).list.map(({ id }) => id)
      assert.sameMembers(ids(together ?? assert.fail()), alone.flatMap(ids))
    }
  })
})

describe("an address of the operator's own", () => {
  const served = (environment: Environment) =>
    makeIndex(catalog, sitesOf(loaded(environment) ?? assert.fail(JSON.stringify(environment))), paths).list.length
  const declared = "fedramp-high,il5,itar"
  const vertex = (host: string, more: Environment = {}) =>
    served({ VERTEX_PROJECT: "p", VERTEX_BASE_URL: `https://${host}`, VERTEX_BASE_URL_BOUNDARY: declared, ...more })
  const bedrock = (host: string, more: Environment = {}) =>
    served({
      BEDROCK_BASE_URL: `https://${host}`,
      BEDROCK_BASE_URL_BOUNDARY: declared,
      BEDROCK_REGION: "us-gov-west-1",
      ...more
    })
  const azure = (host: string) =>
    served({ AZURE_OPENAI_ENDPOINT: `https://${host}`, AZURE_OPENAI_ENDPOINT_BOUNDARY: declared })

  const foreign = [
    ...[
      "bedrock-runtime.us-east-1.amazonaws.com",
      "bedrock-runtime-fips.us-west-2.amazonaws.com",
      "BEDROCK-runtime.US-east-1.amazonaws.COM."
    ],
    ...[
      "bedrock-runtime.us-east-1.api.aws",
      "bedrock-mantle.us-east-1.api.aws",
      "bedrock-runtime.cn-north-1.amazonaws.com.cn"
    ],
    ...["vpce-0a1b-c2d3.bedrock-runtime.us-east-1.vpce.amazonaws.com", "us-gov-west-1.s3.amazonaws.com"],
    ...["us-gov-west-1.bedrock-runtime.us-east-1.amazonaws.com", "bedrock-runtime.us-gov-west-1.amazonaws.com.cn"],
    ...["bedrock-runtime.us-iso-east-1.c2s.ic.gov", "bedrock-runtime.eusc-de-east-1.amazonaws.eu", "amazonaws.com"],
    ...["aiplatform.googleapis.com", "europe-west4-aiplatform.googleapis.com", "us-west2-aiplatform.googleapis.com"],
    ...[
      "aiplatform.eu.rep.googleapis.com",
      "generativelanguage.googleapis.com",
      "europe-west4-aiplatform-us-east5-aiplatform-a.p.googleapis.com"
    ],
    ...[
      "1.europe-west4-2.prediction.vertexai.goog",
      "my.openai.azure.com",
      "my.openai.azure.com.",
      "MY.OpenAI.Azure.Com.:443"
    ],
    ...[
      "my.cognitiveservices.azure.com",
      "my.services.ai.azure.com",
      "my.openai.azure.cn",
      "eastus.api.cognitive.microsoft.com"
    ],
    ...["my.cognitiveservices.azure.us", "my.services.ai.azure.us", "my_resource.openai.azure.us", "openai.azure.us"],
    ...["api.openai.com", "us.api.openai.com", "api.anthropic.com", "api.anthropic.com.."],
    ...["api.claude.com", "claude.ai", "aiplatform.google.com", "api.microsoft.us", "x.sc2s.sgov.gov"],
    ...["x.api.amazonwebservices.com.cn", "x.api.amazonwebservices.eu", "x.csp.hci.ic.gov", "x.cloud.adc-e.uk"],
    ...["x.api.aws.ic.gov", "x.api.aws.hci.ic.gov", "x.api.aws.scloud", "x.api.cloud-aws.adc-e.uk"]
  ]
  it.each(foreign)("%s is a vendor's, and serves nothing, whatever is declared", (host) => {
    assert.deepStrictEqual([vertex(host), bedrock(host), azure(host)], [0, 0, 0])
  })

  it.each([
    ["us-gov-west-1", "bedrock-runtime.us-gov-west-1.amazonaws.com"],
    ["us-gov-west-1", "BEDROCK-RUNTIME-fips.us-gov-west-1.amazonaws.com."],
    ["us-gov-east-1", "bedrock-runtime.us-gov-east-1.api.aws"],
    ["us-gov-east-1", "vpce-0a1b-c2d3.bedrock-runtime.us-gov-east-1.vpce.amazonaws.com"],
    ["us-gov-west-1", "vpce-0a1b-c2d3-us-gov-west-1a.bedrock-runtime.us-gov-west-1.vpce.amazonaws.com"]
  ])("of AWS's, in %s, serves that region: %s", (region, host) => {
    const other = region === "us-gov-west-1" ? "us-gov-east-1" : "us-gov-west-1"
    assert.isAbove(bedrock(host, { BEDROCK_REGION: region }), 0)
    assert.strictEqual(bedrock(host, { BEDROCK_REGION: other }), 0)
    assert.deepStrictEqual([vertex(host), azure(host)], [0, 0])
  })

  it.each([
    ["us-east5", "us-east5-aiplatform.googleapis.com"],
    ["us-central1", "US-central1-aiplatform.googleapis.com."],
    ["us-east4", "us-east4-aiplatform-mine.p.googleapis.com"],
    ["us-east4", "us-east4-aiplatform.mtls.googleapis.com"],
    ["us", "aiplatform.us.rep.googleapis.com"]
  ])("of Google's, in %s, serves that location: %s", (location, host) => {
    assert.isAbove(vertex(host, { VERTEX_LOCATION: location }), 0)
    assert.strictEqual(vertex(host, { VERTEX_LOCATION: "us-west1" }), 0)
    assert.strictEqual(vertex(host, { VERTEX_LOCATION: location, VERTEX_BASE_URL_BOUNDARY: "itar" }), 0)
    assert.deepStrictEqual([bedrock(host), azure(host)], [0, 0])
  })

  it("says where it leads instead", () => {
    const reasons = (environment: Environment) =>
      makeIndex(catalog, sitesOf(loaded(environment) ?? assert.fail()), paths).leftOut.map(({ reason }) => reason)
    const settings = { BEDROCK_REGION: "us-gov-west-1", BEDROCK_BASE_URL_BOUNDARY: "il5" }
    assert.deepStrictEqual(
      reasons({ ...settings, BEDROCK_BASE_URL: "https://bedrock-runtime.us-gov-east-1.amazonaws.com" }),
      ["BEDROCK_BASE_URL leads to us-gov-east-1 and not to us-gov-west-1"]
    )
    assert.deepStrictEqual(reasons({ ...settings, BEDROCK_BASE_URL: "https://aiplatform.googleapis.com" }), [
      "BEDROCK_BASE_URL leads to aiplatform.googleapis.com, which is not in the partition table and may serve nothing"
    ])
  })

  it.each(["my.openai.azure.us.", "MY.openai.AZURE.us", "my.openai.azure.us.:443"])(
    "%s is Azure's for the government",
    (host) => {
      const settings = loaded({ AZURE_OPENAI_ENDPOINT: `https://${host}` })
      assert.deepInclude(Option.getOrThrow(settings?.azure ?? assert.fail()), { region: "usgov" })
      assert.isAbove(azure(host), 0)
    }
  )

  it.each([
    ...[
      "https://my.openai.azure。com",
      "https://ｍｙ.openai.azure.com",
      "https://my.openai.azure%2ecom",
      "https://my.openai.azure.com%2e"
    ],
    ...["https://my.openai.azure.com\\@x.example", "https://x@my.openai.azure.com", "https://my.openaı.azure.com"]
  ])("%s is refused as it is written", (endpoint) => {
    assert.isUndefined(loaded({ AZURE_OPENAI_ENDPOINT: endpoint, AZURE_OPENAI_ENDPOINT_BOUNDARY: declared }))
  })

  it.each(["proxy.example", "proxy.example.", "10.0.0.4", "amazonaws.com.example", "notopenai.com", "[fd00::1]"])(
    "%s is what the operator declares",
    (host) => {
      assert.isAbove(vertex(host), 0)
      assert.isAbove(bedrock(host), 0)
      assert.isAbove(azure(host), 0)
      assert.strictEqual(bedrock(host, { BEDROCK_REGION: "us-east-1" }), 0)
    }
  )
})

describe("what is left out", () => {
  const index = (environment: Environment) => makeIndex(catalog, sitesOf(loaded(environment) ?? assert.fail()), paths)

  it("a commercial region of AWS serves nothing, and it is said once which IDs and why", () => {
    const { list, leftOut } = index({ BEDROCK_REGION: "us-east-1" })
    assert.isEmpty(list)
    const [line = "", ...more] = leftOutLines(leftOut)
    assert.isEmpty(more)
    assert.match(line, /^\d+ model IDs are not served: Bedrock region us-east-1 is not in the partition table/)
    assert.include(line, "gpt-oss-120b:il5+itar")
  })

  it("a caller is told that the region is not authorized, and what works", () => {
    const { resolve } = index({ BEDROCK_REGION: "us-east-1", VERTEX_PROJECT: "p" })
    const refused = resolve("claude-sonnet-4-5:il5", "chat")
    assert.ok(Result.isFailure(refused))
    assert.include(
      refused.failure.message,
      "this region is not authorized for il5; use one of: claude-sonnet-4-5:fedramp"
    )
    const other = resolve("gpt-oss-120b:il2", "chat")
    assert.ok(Result.isFailure(other))
    assert.include(other.failure.message, "this region is not authorized for il2; available: claude-sonnet-4-5:il2")
  })

  it("an ID is not served elsewhere instead", () => {
    // Bound to Vertex, though Bedrock is authorized for it too.
    const { list } = index({
      BEDROCK_REGION: "us-gov-west-1",
      VERTEX_PROJECT: "p",
      VERTEX_BASE_URL: "https://proxy.example",
      VERTEX_BASE_URL_BOUNDARY: "il2"
    })
    const ids = list.map(({ id }) => id)
    assert.notInclude(ids, "claude-sonnet-4-5:fedramp-high")
    assert.include(ids, "claude-sonnet-4-5:il2")
  })

  it("an ID whose tokens would be counted where it is not authorized is not served", () => {
    const { list } = makeIndex(catalog, { vertex: { place: "us-east5", countPlace: "europe-west4" } }, paths)
    assert.isNotEmpty(list)
    assert.ok(list.every(({ deployment }) => deployment.countModel === undefined))
  })

  it.each(["model", "countModel"])("a %s that is the ARN of another region is not served", (field) => {
    const [, deployment = assert.fail()] = catalog.models[0].deployments
    const arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x"
    const model = { ...catalog.models[0], deployments: [{ ...deployment, [field]: arn }] as const }
    const { list, leftOut } = makeIndex({ models: [model] }, bestSites(clouds), paths)
    assert.isEmpty(list)
    assert.include(leftOut[0]?.reason ?? "", "us-east-1")
  })

  it("an Azure endpoint that is no vendor's and that nothing is declared of serves nothing", () => {
    assert.isEmpty(makeIndex(catalog, { azure: { place: "10.0.0.4" } }, paths).list)
  })
})

describe("the table", () => {
  it("has the rows of the decisions", () => {
    assert.deepStrictEqual(
      partition.vertex.flatMap((row) => row.places),
      locations
    )
    for (const cloud of clouds) {
      for (const level of levels) {
        for (const place of places[cloud]) {
          const row = rowOf(cloud, place)
          const covered =
            row !== undefined && declaredThere(Object.values(row.authorization).join().replace("ladder", "itar"), level)
          assert.strictEqual(covered, authorizedThere(cloud, place, level), `${cloud} ${place} ${level}`)
        }
      }
    }
  })

  it.each<[Cloud, string, string, boolean]>([
    ["vertex", "us-east5", "us-east5-aiplatform.googleapis.com", true],
    ["vertex", "us", "aiplatform.us.rep.googleapis.com", true],
    ["vertex", "us-east5", "us-east4-aiplatform.googleapis.com", false],
    ["vertex", "global", "aiplatform.googleapis.com", false],
    ["bedrock", "us-gov-west-1", "bedrock-runtime-fips.us-gov-west-1.amazonaws.com", true],
    ["bedrock", "us-gov-west-1", "bedrock-runtime.us-gov-west-1.amazonaws.com", true],
    ["bedrock", "us-gov-west-1", "bedrock-runtime.us-east-1.amazonaws.com", false],
    ["bedrock", "us-east-1", "bedrock-runtime.us-east-1.amazonaws.com", false],
    ["azure", "r.openai.azure.us", "r.openai.azure.us", true],
    ["azure", "r.openai.azure.us.evil.example", "r.openai.azure.us.evil.example", false],
    ["azure", "evil.example/.openai.azure.us", "evil.example", false]
  ])("%s %s has host %s: %s", (cloud, place, host, is) => {
    assert.strictEqual(isHostOf(cloud, place, host), is)
  })
})
