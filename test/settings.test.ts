import { readdirSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted, Result } from "effect"
import { formatBoundary, parseBoundary } from "../src/catalog/Level.ts"
import { explainSetting } from "../src/operators/cli/run.ts"
import { type Environment, load } from "../src/Settings.ts"
import { idleSettingLines, settingNames, settingsIn, unknownSettingLines } from "../src/unknownSettings.ts"

/** The names in the lines. */
const unknownSettings = (environment: Environment) => unknownSettingLines(environment).map((line) => line.split(" ")[0])

describe("variables that are no settings", () => {
  it("are told from settings, and from what others read", () => {
    const environment = {
      GATEWAY_HARTBEAT: "1",
      GATEWAY_SCREEN_MOD: "strict",
      GATEWAY_HEARTBEAT: "1 second",
      GATEWAY_SCREEN_MODE: "strict",
      GATEWAY_EMBEDDINGS_CONCURRENCY: "8",
      GATEWAY_PORT: "0",
      GATEWAY_DOCS: "off",
      GATEWAY_API_KEY: "sandbox-key",
      PATH: "/usr/bin"
    }
    assert.deepStrictEqual(unknownSettings(environment), ["GATEWAY_HARTBEAT", "GATEWAY_SCREEN_MOD"])
  })

  it("are those without a value, too", () => {
    const environment = { GATEWAY_PORT: " ", GATEWAY_HOST: "", GATEWAY_DOCS: "off", OTHER: "x" }
    assert.deepStrictEqual(settingsIn(environment), ["GATEWAY_DOCS"])
  })

  it("are told of clouds too where they are near a setting, with the one that is meant", () => {
    const environment = {
      VERTEX_PROJET: "p",
      BEDROCK_REGON: "us-gov-west-1",
      BEDORCK_REGION: "us-gov-west-1",
      AZURE_OPENAI_ENDPONT: "https://x.openai.azure.us",
      VERTEX_PROJECT: "p",
      AZURE_OPENAI_API_VERSION: "2024-10-21",
      AWS_REGION: "us-gov-west-1",
      AWS_SESSION_TOKN: "t",
      AZURE_CLIENT_ID: "c",
      PROJECT: "p"
    }
    const wrong = ["VERTEX_PROJET", "BEDROCK_REGON", "BEDORCK_REGION", "AZURE_OPENAI_ENDPONT"]
    assert.deepStrictEqual(unknownSettings(environment), wrong)
    assert.deepStrictEqual(unknownSettingLines({ VERTEX_PROJET: "p", GATEWAY_ZZZ: "1" }), [
      "VERTEX_PROJET is not a setting of the gateway (is VERTEX_PROJECT meant?); docs/operation.md lists them",
      "GATEWAY_ZZZ is not a setting of the gateway; docs/operation.md lists them"
    ])
  })

  it("are named with what is missing, where a cloud is configured in part", () => {
    assert.deepStrictEqual(
      idleSettingLines({
        VERTEX_LOCATION: "us-east5",
        VERTEX_PROJECT: "",
        AZURE_OPENAI_API_KEY: "k",
        BEDROCK_REGION: "r"
      }),
      [
        "VERTEX_LOCATION: without VERTEX_PROJECT Google Vertex AI is not active",
        "AZURE_OPENAI_API_KEY: without AZURE_OPENAI_ENDPOINT Azure OpenAI is not active"
      ]
    )
    // What platforms set for every process says nothing.
    assert.deepStrictEqual(idleSettingLines({ AZURE_CLIENT_ID: "c", AWS_REGION: "us-gov-west-1" }), [])
  })

  it("are none of those that the source reads", () => {
    const root = join(import.meta.dirname, "../src")
    const source = readdirSync(root, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(root, file), "utf8"))
      .join("\n")
    const quoted = [...source.matchAll(/"((?:GATEWAY|VERTEX|BEDROCK|AZURE|NODE)_[A-Z_]+[A-Z])"/g)].map(
      ([, name = ""]) => name
    )
    // What help, errors and manifests tell an operator to set has to be one, too.
    const deploy = join(root, "../deploy")
    const manifests = readdirSync(deploy, { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(ya?ml|md)$|Containerfile$/.test(file))
      .map((file) => readFileSync(join(deploy, file), "utf8"))
    const others = [source, ...manifests].flatMap((text) => text.match(/\bGATEWAY_[A-Z_]*[A-Z]\b/g) ?? [])
    const named = [...quoted, ...others]
    assert.include(named, "GATEWAY_REDIS_URL")
    assert.isAbove(new Set(named).size, 40)
    assert.deepStrictEqual(unknownSettings(Object.fromEntries(named.map((name) => [name, "x"]))), [])
    for (const name of named.filter((name) => name !== "GATEWAY_API_KEY")) assert.include([...settingNames()], name)
  })
})

describe("Azure's region", () => {
  const regionOf = (environment: Readonly<Record<string, string>>) =>
    Option.getOrThrow(Effect.runSync(load(environment)).clouds.azure).region

  it("comes from the endpoint, and from the operator only for one of their own", () => {
    const own = { AZURE_OPENAI_ENDPOINT: "https://ai.agency.example", AZURE_OPENAI_ENDPOINT_BOUNDARY: "il5" }
    assert.strictEqual(regionOf({ AZURE_OPENAI_ENDPOINT: "https://r.openai.azure.us" }), "usgov")
    assert.strictEqual(regionOf({ AZURE_OPENAI_ENDPOINT: "https://r.openai.azure.com" }), "commercial")
    assert.strictEqual(regionOf({ AZURE_OPENAI_ENDPOINT: "http://127.0.0.1:8" }), "usgov")
    assert.strictEqual(regionOf(own), "private")
    assert.strictEqual(regionOf({ ...own, AZURE_OPENAI_REGION: "usdod" }), "usdod")
  })
})

describe("a declared boundary", () => {
  it.each(["fedramp-high,il5,itar", "il2", "itar", "fedramp-low,itar"])("%s is read and written", (text) => {
    assert.strictEqual(formatBoundary(Result.getOrThrow(parseBoundary(text))), text)
  })

  it("is read in any order", () => {
    assert.deepStrictEqual(parseBoundary("itar, il5 ,fedramp-high"), parseBoundary("fedramp-high,il5,itar"))
  })

  it.each(["", "il6", "IL5", "il5,", "il4,il5", "itar,itar", "il5+itar", "everything"])("%j is refused", (text) => {
    assert.isTrue(Result.isFailure(parseBoundary(text)))
  })
})

describe("GATEWAY_REDIS_URL", () => {
  it.effect.each([
    { GATEWAY_REDIS_URL: "redis://127.0.0.1:6379" },
    { GATEWAY_REDIS_URL: "redis://localhost" },
    { GATEWAY_REDIS_URL: "redis://[::1]:6379/1" },
    { GATEWAY_REDIS_URL: "rediss://:p@redis.example:6379" },
    { GATEWAY_REDIS_URL: "redis://redis:6379", GATEWAY_REDIS_INSECURE: "true" }
  ])("%o is taken", (environment) => load(environment))
})

describe("a time", () => {
  const limits = [
    "REQUEST_CEILING",
    "STREAM_CEILING",
    "STREAM_IDLE_TIMEOUT",
    "HEARTBEAT",
    "HEADERS_TIMEOUT",
    "BODY_TIMEOUT"
  ]
  const waits = ["QUEUE_WAIT", "DRAIN_DELAY", "DRAIN_TIMEOUT", "SANDBOX_PACE"]
  const says = (name: string, value: string) =>
    Effect.map(Effect.flip(load({ [name]: value })), (error) => explainSetting(error))

  it.effect.each([...limits, ...waits].map((name) => `GATEWAY_${name}`))("%s fits a timer", (name) =>
    Effect.gen(function* () {
      yield* load({ [name]: "24 days" })
      const least = limits.includes(name.slice("GATEWAY_".length)) ? "be at least 1 millisecond" : "not be below zero"
      assert.strictEqual(yield* says(name, "-1 seconds"), `${name} must ${least}`)
      for (const long of ["25 days", "Infinity"])
        assert.strictEqual(yield* says(name, long), `${name} must be at most 24 days`)
    })
  )

  it.effect.each([...limits.map((name) => `GATEWAY_${name}`), "GATEWAY_KEYS_MAX_AGE"])("%s is above zero", (name) =>
    Effect.map(says(name, "0 seconds"), (said) => assert.strictEqual(said, `${name} must be at least 1 millisecond`))
  )

  it.effect.each(waits.map((name) => `GATEWAY_${name}`))("%s may be zero", (name) => load({ [name]: "0 seconds" }))

  it.effect("that is only compared may be long", () =>
    load({ GATEWAY_KEYS_GRACE: "Infinity", GATEWAY_KEYS_MAX_AGE: "36500 days" })
  )

  it.effect("that is added to a date ends at one", () =>
    Effect.map(says("GATEWAY_KEYS_MAX_AGE", "Infinity"), (said) =>
      assert.strictEqual(said, "GATEWAY_KEYS_MAX_AGE must be at most 36500 days")
    )
  )
})

describe("GATEWAY_WORKERS", () => {
  it.effect.each([
    [undefined, 1],
    ["3", 3],
    ["auto", availableParallelism()]
  ] as const)("%s is %d processes", ([value, workers]) =>
    Effect.gen(function* () {
      const { gateway } = yield* load({ GATEWAY_WORKERS: value })
      assert.strictEqual(gateway.workers, workers)
    })
  )

  it.effect.each(["1000", "-1", "2.5"])("%s is no number of processes", (value) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(load({ GATEWAY_WORKERS: value }))
      assert.include(explainSetting(error), "GATEWAY_WORKERS")
      assert.include(explainSetting(error), "from 1 to 999")
    })
  )
})

describe("a variable without a value", () => {
  it.effect.each(["", " ", "\t", "\n"])("%j counts as absent", (value) =>
    Effect.gen(function* () {
      const environment = Object.fromEntries([...settingNames()].map((name) => [name, value]))
      assert.deepStrictEqual(yield* load(environment), yield* load({}))
    })
  )

  it.effect.each([",", " , ", "chat;responses"])(
    "a list of surfaces that names none (%j) does not turn off the screen",
    (list) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(load({ GATEWAY_SCREEN_SURFACES: list }))
        assert.include(explainSetting(error), "with at least one of them")
      })
  )

  it.effect("a list may end in a comma", () =>
    Effect.gen(function* () {
      const { gateway } = yield* load({ GATEWAY_SCREEN_SURFACES: "messages, chat," })
      assert.deepStrictEqual([...gateway.screenSurfaces], ["messages", "chat"])
    })
  )
})

describe("keys and tokens of the clouds", () => {
  const base = {
    VERTEX_PROJECT: "p",
    BEDROCK_REGION: "us-gov-west-1",
    AZURE_OPENAI_ENDPOINT: "https://x.openai.azure.us",
    AWS_ACCESS_KEY_ID: "AKIA0",
    AWS_SECRET_ACCESS_KEY: "s"
  }
  type Clouds = Effect.Success<ReturnType<typeof load>>["clouds"]
  const read = ({ azure, bedrock, vertex }: Pick<Clouds, "azure" | "bedrock" | "vertex">) => ({
    VERTEX_ACCESS_TOKEN: Option.flatMap(vertex, ({ accessToken }) => accessToken),
    AWS_BEARER_TOKEN_BEDROCK: Option.flatMap(bedrock, ({ bearerToken }) => bearerToken),
    AWS_SECRET_ACCESS_KEY: Option.flatMap(bedrock, ({ keys }) => Option.map(keys, (own) => own.secretAccessKey)),
    AWS_SESSION_TOKEN: Option.flatMap(bedrock, ({ keys }) => Option.flatMap(keys, (own) => own.sessionToken)),
    AZURE_OPENAI_API_KEY: Option.flatMap(azure, ({ apiKey }) => apiKey),
    AZURE_CLIENT_SECRET: Option.flatMap(azure, ({ clientSecret }) => clientSecret)
  })
  const names = Object.keys(read({ azure: Option.none(), bedrock: Option.none(), vertex: Option.none() }))

  it.effect.each(names)("%s is taken without the line break that its file ended in", (name) =>
    Effect.gen(function* () {
      const { clouds } = yield* load({ ...base, [name]: " a/b+c=~.x\r\n" })
      const value = Object.entries(read(clouds)).find(([own]) => own === name)?.[1]
      assert.strictEqual(Redacted.value(Option.getOrThrow(value ?? Option.none())), "a/b+c=~.x")
    })
  )

  const inHeaders = names.filter((name) => !/SECRET/.test(name))

  it.effect.each(inHeaders.flatMap((name) => ["two words", "a\nb", "k\u00e9y"].map((value) => [name, value] as const)))(
    "%s that no header can carry (%j) is refused, and not shown",
    ([name, value]) =>
      Effect.gen(function* () {
        const message = explainSetting(yield* Effect.flip(load({ ...base, [name]: value })))
        assert.include(message, `${name} must be printable ASCII without blanks`)
        assert.notInclude(message, value)
      })
  )
})

describe("where records go", () => {
  const names = ["GATEWAY_USAGE_LOG", "GATEWAY_AUDIT_LOG"]

  it.effect.each(
    names.flatMap((name) =>
      ["off", "OFF", "-", "none", "on", "true", "STDOUT", "off ", "stderr"].map((word) => [name, word] as const)
    )
  )("%s=%s names no file", ([name, word]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(load({ [name]: word }))
      assert.match(explainSetting(error), new RegExp(`${name}.*must be stdout or the path of a file`))
    })
  )

  it.effect.each(["stdout", "./off", "off.jsonl", " stdout ", "/var/log/none\n"])(
    "%j is taken, without blanks around it",
    (place) =>
      Effect.gen(function* () {
        const { gateway } = yield* load({ GATEWAY_USAGE_LOG: place, GATEWAY_AUDIT_LOG: place })
        assert.strictEqual(gateway.usageLog, place.trim())
        assert.deepStrictEqual(gateway.auditLog, Option.some(place.trim()))
      })
  )
})
