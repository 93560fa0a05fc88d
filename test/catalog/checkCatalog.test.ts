import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { checkCatalog } from "../../src/catalog/checkCatalog.ts"

const gpt = {
  id: "gpt",
  family: "gpt",
  ownedBy: "openai",
  created: 1,
  inputs: [],
  thinking: { api: "effort", optional: true, efforts: ["none", "low"], default: "low", counted: true },
  sampling: "always",
  forcedToolChoice: "always",
  maxOutputTokens: 10,
  deployments: [{ cloud: "azure", api: "chat", model: "gpt", authorization: { impact: "il5" }, responses: true }]
}
const [azure] = gpt.deployments
const regional = { cloud: "bedrock", api: "chat", model: "gpt", authorization: { impact: "il5" } }

const problems = (...models: ReadonlyArray<object>): ReadonlyArray<string> => {
  const result = checkCatalog(JSON.stringify({ models }))
  return Result.isFailure(result) ? result.failure : []
}

describe("checkCatalog", () => {
  it("accepts", () => {
    assert.deepStrictEqual(problems(gpt), [])
  })

  it.each([
    "claude-sonnet-4-5@20250929",
    "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:application-inference-profile/abc123",
    "gpt-5.1"
  ])("accepts the upstream ID %s", (model) => {
    assert.deepStrictEqual(
      problems({ ...gpt, deployments: [{ ...regional, model, regions: ["us-gov-west-1", "us"] }] }),
      []
    )
  })

  it("refuses what is not JSON", () => {
    for (const [text, problem] of [
      ["", "it ends too soon, at line 1, column 1"],
      ['{\n  "models": [', "it ends too soon, at line 2, column 14"],
      ['{\n  "é": [],\n}', "wrong at line 3, column 1"],
      ["gmg_secret", "wrong at line 1, column 1"],
      ["\ufeff{}", "it begins with a byte order mark"]
    ] as const) {
      assert.deepStrictEqual(checkCatalog(text), Result.fail([`catalog: not JSON: ${problem}`]))
    }
  })

  it("refuses a name that stands twice, of which the last value would count", () => {
    const text = JSON.stringify({ models: [gpt] }, null, 1).replace('"created": 1', '"created": 1, "\\u0069d": "other"')
    assert.deepStrictEqual(
      checkCatalog(text),
      Result.fail(["catalog: models[0].id: stands twice, at line 7, column 27"])
    )
  })

  it.each([["null"], ["[]"], ["{}"], [`{"models":[]}`], [`{"models":{}}`], ["3"]])("refuses %s", (text) => {
    assert.ok(Result.isFailure(checkCatalog(text)))
  })

  it.each<[object, ReadonlyArray<string>]>([
    [{ id: "a:b" }, ["models[0].id: a base model is letters, digits, '.', '_' and '-'"]],
    [{ id: "" }, ["models[0].id"]],
    [{ id: ".." }, ["models[0].id: a base model is"]],
    ...["..", ".", "a/../b", "../a", "/a", "a//b", "a?b", "a#b", "a b", "a%2e", "a\n", "@evil.example"].map(
      (model): [object, ReadonlyArray<string>] => [
        { deployments: [{ ...azure, model }] },
        ["models[0].deployments[0].model: an upstream ID is letters, digits"]
      ]
    ),
    ...["x@127.0.0.1:1/?", "us-east5.evil.example/", "us east5", "", "-", "US-EAST5"].map(
      (region): [object, ReadonlyArray<string>] => [
        { deployments: [{ ...regional, regions: [region] }] },
        ["models[0].deployments[0].regions[0]: a region is a name such as us-gov-west-1 or us-east5"]
      ]
    ),
    [
      { deployments: [{ ...regional, regions: ["global"] }] },
      ["models[0].deployments[0].regions[0]: a region is a place inside the boundary, never global"]
    ],
    [{ deployments: [{ ...regional, regions: ["us", "us"] }] }, ["models[0].deployments[0].regions: must differ"]],
    [
      { deployments: [{ ...regional, regions: ["us"], weights: { us: 2, "us-east5": 1 } }] },
      ["models[0].deployments[0].weights: us-east5 is not among the regions"]
    ],
    [{ deployments: [{ ...regional, regions: ["us"], weights: { us: 0 } }] }, ["models[0].deployments[0].weights.us"]],
    [
      { deployments: [{ ...azure, regions: ["us"], weights: { us: 2 } }] },
      ["regions", "weights"].map(
        (field) =>
          `models[0].deployments[0].${field}: has no effect on azure, where the endpoint is the one place; remove it`
      )
    ],
    [{ ownedBy: "OpenAI" }, ["models[0].ownedBy: a vendor key is lowercase"]],
    [{ extra: 1 }, ["models[0].extra: unknown key"]],
    [{ "a\nb": 1 }, [String.raw`models[0]["a\nb"]: unknown key`]],
    [{ deployments: [] }, ["models[0].deployments"]],
    [{ deployments: [{ ...azure, cloud: "gcp" }] }, [`models[0].deployments[0].cloud: Expected "vertex"`]],
    [{ deployments: [{ ...azure, countModle: "x" }] }, ["models[0].deployments[0].countModle: unknown key"]],
    [{ deployments: [{ ...azure, strip: ["a..b"] }] }, ["models[0].deployments[0].strip[0]: a field to strip"]],
    [{ maxOutputTokens: 0 }, ["models[0].maxOutputTokens: must be positive"]],
    [{ family: "claude" }, ["models[0].thinking.api", "models[0].deployments[0].api: chat is not for family claude"]],
    [{ thinking: { ...gpt.thinking, default: "high" } }, ["models[0].thinking.default: high is not among"]],
    [{ thinking: { ...gpt.thinking, efforts: ["low", "none"] } }, ["models[0].thinking.efforts: must be in order"]],
    [{ thinking: { ...gpt.thinking, efforts: ["none", "low", "low"] } }, ["models[0].thinking.efforts: must be"]],
    [{ thinking: { ...gpt.thinking, optional: false } }, ["models[0].thinking.optional"]],
    [{ deployments: [{ ...azure, authorization: {} }] }, ["models[0].deployments[0].authorization: covers no level"]],
    [{ deployments: [azure, azure] }, ["models[0].deployments[1].authorization: an earlier deployment"]],
    [{ deployments: [{ ...azure, countModel: "x" }] }, ["models[0].deployments[0].countModel: only for api messages"]],
    [
      { deployments: [{ ...azure, automaticCaching: true, systemTurns: true }] },
      ["models[0].deployments[0].automaticCaching: only for api messages", "systemTurns: only for api messages"]
    ],
    [{ deployments: [{ ...azure, cloud: "bedrock" }] }, ["models[0].deployments[0].responses: only for azure"]],
    [
      { deployments: [{ ...azure, api: "embeddings" }] },
      ["deployments[0].api: embeddings is not for family gpt", "azure does not serve", "responses: only for azure"]
    ]
  ])("refuses %j", (change, expected) => {
    const found = problems({ ...gpt, ...change })
    assert.strictEqual(found.length, expected.length, found.join("\n"))
    for (const [index, part] of expected.entries()) assert.include(found[index], part)
  })

  it.each([
    ["gemini", "content", "level", ["none", "low", "xhigh", "max"], "xhigh, max: not of the thinking api level"],
    ["claude", "messages", "adaptive", ["none", "minimal", "low"], "minimal: not of the thinking api adaptive"],
    ["claude", "messages", "none", ["none", "low"], "low: not of the thinking api none"]
  ])("refuses efforts of %s with %s that %s does not have", (family, api, thinking, efforts, expected) => {
    const [found = "", ...more] = problems({
      ...gpt,
      family,
      thinking: { ...gpt.thinking, api: thinking, efforts },
      deployments: [{ cloud: "vertex", api, model: "x", authorization: { impact: "il2" } }]
    })
    assert.isEmpty(more)
    assert.include(found, `models[0].thinking.efforts: ${expected}`)
  })

  it("refuses two quotas for one model of a cloud, and takes the same one twice", () => {
    const of = (id: string, quota?: object, model = "gpt") => ({
      ...gpt,
      id,
      deployments: [{ ...azure, model, quota }]
    })
    const quota = { requests: 10, tokens: 1000 }
    assert.deepStrictEqual(problems(of("a", quota), of("b", quota), of("c", { requests: 1 }, "other")), [])
    assert.deepStrictEqual(problems(of("a"), of("b"), of("c", quota, "other")), [])
    const others = [{ requests: 9, tokens: 1000 }, { requests: 10 }, { requests: 10, tokens: 999 }, undefined]
    for (const [one, two] of others.flatMap((other) => [
      [quota, other],
      [other, quota]
    ])) {
      assert.deepStrictEqual(problems(of("a", one), of("b", two)), [
        "models[1].deployments[0].quota: gpt on azure has another before it, or none; give both the same"
      ])
    }
  })

  const bedrock = (named: object) =>
    problems({ ...gpt, deployments: [{ cloud: "bedrock", api: "chat", authorization: { impact: "il5" }, ...named }] })

  it.each([
    ...[
      "us.anthropic.claude-x",
      "global.anthropic.claude-x",
      "eu.amazon.nova",
      "apac.x.y",
      "au.x.y",
      "jp.x.y",
      "ca.x.y"
    ],
    ...["us-east.x.y", "us-gov-west.x.y", "US.anthropic.claude-x"],
    ...["global", "us"].map((id) => `arn:aws-us-gov:bedrock:us-gov-west-1:1:inference-profile/${id}.x`),
    "arn:aws:bedrock:us-east-1:1:inference-profile/us-gov.x.y",
    "arn:aws:bedrock:us-gov-west-1:1:application-inference-profile/abc",
    "arn:aws-us-gov:bedrock:us-east-1:1:application-inference-profile/abc",
    "arn:aws-us-gov:bedrock::1:custom-model/abc",
    "arn:aws-cn:bedrock:cn-north-1::foundation-model/x.y",
    "ARN:AWS:bedrock:us-east-1::foundation-model/x.y",
    "arn:aws"
  ])("refuses %s on Bedrock, as the model and for counting", (id) => {
    const text = /: .* partition table, which has only (us-gov\.|arn:aws-us-gov: in us-gov-\*)$/
    const [problem = "", ...more] = bedrock({ model: id })
    assert.isEmpty(more)
    assert.match(problem, text)
    assert.include(problem, "models[0].deployments[0].model: ")
    const [counting = ""] = bedrock({ model: "openai.gpt", countModel: id })
    assert.match(counting, text)
    assert.include(counting, "models[0].deployments[0].countModel: ")
  })

  it.each([
    ...[
      "us-gov.anthropic.claude-x",
      "anthropic.claude-x-v1:0",
      "openai.gpt-5.6-x",
      "ai21.jamba",
      "meta.llama3",
      "qwen.q3.1"
    ],
    "arn:aws-us-gov:bedrock:us-gov-west-1:1:inference-profile/us-gov.x.y",
    "arn:aws-us-gov:bedrock:us-gov-east-1:1:application-inference-profile/abc",
    "arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/amazon.titan-embed-text-v2:0"
  ])("takes %s on Bedrock", (model) => assert.isEmpty(bedrock({ model })))

  it("reports everything at once, each on one line with its place", () => {
    assert.deepStrictEqual(problems(gpt, { ...gpt, maxOutputTokens: 0 }), [
      "models[1].id: gpt is models[0] already",
      "models[1].maxOutputTokens: must be positive"
    ])
    const found = problems({ ...gpt, created: "x", family: "llama" }, { ...gpt, sampling: 1 })
    assert.deepStrictEqual(found.map((line) => line.split(":")[0]).sort(), [
      "models[0].created",
      "models[0].family",
      "models[1].sampling"
    ])
    assert.ok(found.every((line) => !line.includes("\n")))
  })
})
