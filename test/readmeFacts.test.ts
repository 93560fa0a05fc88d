/** What the documents state of the project is what the project has. */
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { OpenApi } from "effect/http-api"
import { shippedCatalog } from "../src/catalog/CatalogStore.ts"
import { type Cloud, cloudFacts, clouds } from "../src/catalog/clouds.ts"
import { fedrampLadder, impactLadder, levels } from "../src/catalog/names.ts"
import { bestSites } from "../src/catalog/Partition.ts"
import { makeIndex } from "../src/catalog/Resolver.ts"
import { Api, purposePaths } from "../src/contract/Api.ts"
import { chatLimits } from "../src/contract/ChatMessage.ts"
import { maxStrings } from "../src/contract/Embeddings.ts"
import { ErrorType } from "../src/contract/Errors.ts"
import { forbiddenNames } from "../src/governance/forbiddenNames.ts"
import { load } from "../src/Settings.ts"
import { readDirectives } from "../src/sandbox/directives.ts"
import { mediaLimits } from "../src/vendors/media.ts"
import { parsed } from "./support/http.ts"
import { brokenLink, proseText, readme, root, spans, tableOf, text, variablesIn } from "./support/readme.ts"

const read = (file: string) => readFileSync(join(root, file), "utf8")
const settingsSource = `${read("src/Settings.ts")}${read("src/settings/clouds.ts")}`
const { dependencies, scripts } = parsed(read("package.json"))
const index = makeIndex(Result.getOrThrow(shippedCatalog), bestSites(clouds), purposePaths)
const sorted = (names: Iterable<string>) => [...names].sort()

describe("npm ci", () => {
  const { packages } = parsed(read("package-lock.json"))

  it("finds every dependency in the lock, also those of other platforms", () => {
    const locked = new Set(Object.keys(packages))
    for (const [at, { dependencies, optionalDependencies }] of Object.entries<Record<string, object>>(packages)) {
      for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
        const places = [...at.matchAll(/(?<=\/|^)node_modules\//g)].map(({ index }) => at.slice(0, index))
        const found = [at === "" ? "" : `${at}/`, ...places].some((place) => locked.has(`${place}node_modules/${name}`))
        assert.isTrue(found, `${at} needs ${name}: npm ci fails`)
      }
    }
  })

  it("installs what package.json names", () => {
    const { dependencies, devDependencies, optionalDependencies, engines } = parsed(read("package.json"))
    assert.deepInclude(packages[""], { dependencies, devDependencies, optionalDependencies, engines })
  })
})

describe("links", () => {
  it.each(readme.links.filter((link) => !/^https?:/.test(link)))("%s leads somewhere", (link) => {
    assert.isUndefined(brokenLink(readme.file, link))
  })

  it("files that are named exist", () => {
    const files = [...text.matchAll(/(?<![\w./-])(?:src|test|deploy|bench|docs)\/[\w./-]*\w/g)].map(([file]) => file)
    assert.isAbove(files.length, 10)
    for (const file of files) assert.isTrue(existsSync(join(root, file)), file)
  })

  it("scripts that are named exist", () => {
    const commands = text.matchAll(/\bnpm (?:run ([a-z:-]+)|(start|test)\b)/g)
    for (const [command, run, own] of commands) assert.property(scripts, run ?? own ?? "", command)
  })
})

describe("the API", () => {
  it("the endpoints are those of the contract", () => {
    let method = ""
    const stated = tableOf("docs/api.md", "Endpoints", "Endpoint")
      .flatMap(([endpoint = ""]) => spans(endpoint))
      .map((span) => {
        const [path = "", given] = span.split(" ").reverse()
        method = given ?? method
        return `${method} ${path}`
      })
    const paths: Readonly<Record<string, object>> = parsed(JSON.stringify(OpenApi.fromApi(Api))).paths
    const served = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`)
    )
    assert.deepEqual(sorted(stated), sorted(served))
  })

  it("the error types are all there are", () => {
    const stated = tableOf("docs/api.md", "Errors", "Status").map(([, type = ""]) => spans(type)[0] ?? "")
    assert.deepEqual(sorted(new Set(stated)), sorted(ErrorType.literals))
  })

  it("headers and metrics that are named are in the source", () => {
    const source = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => read(join("src", file)))
      .join("\n")
    for (const name of spans(proseText).filter((span) => /^gateway_[a-z_]+$/.test(span))) {
      assert.isTrue(source.includes(name), name)
    }
    const names = [...text.matchAll(/(?<=[`'"])x-[a-z-]+[a-z](?=[`:'"])/g)].map(([name]) => name)
    assert.include(names, "x-gateway-served-by")
    for (const name of names) {
      // The source puts the names of the limits' headers together.
      const whole = name.startsWith("x-ratelimit-") ? "x-ratelimit-" : `${name}(?![a-z-])`
      assert.isTrue(new RegExp(whole).test(source), name)
    }
  })

  it("the names of parameters that are refused, and those that are not", () => {
    const [, refused = "", taken = ""] =
      /is refused, at any depth[^:]*: (.*?)\. (.*?) are not\./.exec(readme.prose) ?? []
    assert.isNotEmpty(spans(refused))
    assert.isNotEmpty(spans(taken))
    for (const name of spans(refused)) assert.include(forbiddenNames, name)
    for (const name of spans(taken)) assert.notInclude(forbiddenNames, name)
  })

  it("the whole list of names that are refused", () => {
    const stated = tableOf("docs/api.md", "Tool screen", "Group").flatMap(([, names = ""]) => spans(names))
    assert.deepEqual(stated, [...forbiddenNames])
  })

  it("the levels", () => {
    const stated = tableOf("docs/api.md", "Model IDs", "Level").flatMap(([names = ""]) => spans(names))
    for (const level of levels.filter((level) => !level.includes("+"))) assert.include(stated, level)
  })

  it("the limits of a chat request", () => {
    const rows = new Map(tableOf("docs/api.md", "Limits", "Limit").map(([limit = "", value = ""]) => [limit, value]))
    const number = (limit: string) => Number.parseInt((rows.get(limit) ?? "").replaceAll(",", ""), 10)
    assert.strictEqual(number("Messages in a request"), chatLimits.messages)
    assert.strictEqual(number("Tools in a request"), chatLimits.tools)
    assert.strictEqual(number("`tool_calls` in an assistant message"), chatLimits.toolCalls)
    assert.strictEqual(number("`tool_call_id`"), chatLimits.toolCallId)
    assert.strictEqual(number("Tool `description`"), chatLimits.description)
    assert.strictEqual(number("Images in a message"), mediaLimits.images)
    assert.strictEqual(number("Files in a message"), mediaLimits.files)
    assert.strictEqual(number("One image or file, decoded"), mediaLimits.bytes)
    assert.strictEqual(number("Base64 of images and files in a message"), mediaLimits.base64)
    assert.strictEqual(number("Strings in a request"), maxStrings)
  })
})

describe("models", () => {
  const rows = tableOf("README.md", "Models and levels", "Base model")

  it("each base model stands in the table once", () => {
    const stated = rows.flatMap(([models = ""]) => spans(models))
    assert.deepEqual(sorted(stated), sorted(Result.getOrThrow(shippedCatalog).models.map(({ id }) => id)))
  })

  /** The levels that one part of the second column names: `Vertex to …`, `Bedrock for …`, `Azure, every level`. */
  const levelsOf = (words: string): ReadonlyArray<string> => {
    if (words.includes("every level")) return levels
    const names = spans(words)
    if (/^\w+ to /.test(words)) {
      return [fedrampLadder, impactLadder].flatMap((ladder: ReadonlyArray<string>) =>
        ladder.slice(0, ladder.findIndex((level) => names.includes(level)) + 1)
      )
    }
    return levels.filter(
      (level) =>
        names.includes(level) ||
        names.includes(level.replace(/^fedramp-\w+/, "fedramp-*")) ||
        (words.includes("the composites") && level.includes("+"))
    )
  }

  it.each(rows.flatMap(([models = "", served = ""]) => spans(models).map((id) => [id, served] as const)))(
    "%s: %s",
    (id, served) => {
      const stated = served.split("; ").flatMap((words) => {
        const cloud = /^\w+/.exec(words)?.[0].toLowerCase() ?? ""
        return levelsOf(words).map((level) => `${level} ${cloud}`)
      })
      const has = index.list
        .filter(({ model }) => model.id === id)
        .map(({ level, deployment }) => `${level} ${deployment.cloud}`)
      assert.deepEqual(sorted(stated), sorted(has))
    }
  )

  it("every model ID in the documents exists", () => {
    const ids = [...text.matchAll(/[a-z][a-z0-9.-]*:(?:il\d|fedramp-\w+|itar)(?:\+itar)?/g)].map(([id]) => id)
    assert.isAbove(ids.length, 10)
    for (const id of ids)
      assert.isTrue(
        index.list.some((entry) => entry.id === id),
        id
      )
  })
})

describe("the sandbox's directives", () => {
  const described = tableOf("docs/operation.md", "Sandbox", "Directive").map(
    ([directive = ""]) => spans(directive)[0] ?? ""
  )

  it.each(described)("%s is read", (directive) => {
    const { rest, unusable } = readDirectives(directive)
    assert.deepStrictEqual([rest, unusable], ["", []])
  })

  it("each that is read has a row", () => {
    const source = globSync("src/sandbox/**/*.ts", { cwd: root }).map(read).join("\n")
    const used = [...source.matchAll(/(?<!query\.)\b(?:value|number|after|get|has)\("([a-z-]+)"\)/g)].map(
      ([, name = ""]) => name
    )
    assert.includeMembers(
      described.flatMap((directive) => directive.match(/[a-z-]+/g) ?? []),
      used
    )
    assert.isAtLeast(new Set(used).size, described.length)
  })
})

describe("settings", () => {
  const rows = tableOf("docs/operation.md", "Settings", "Name")
  const named = rows.flatMap(([names = ""]) => spans(names))
  /** The chain's own variables stand under the chain's name. */
  const chain = /^AWS_(PROFILE|ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)$/
  const inSource = [...variablesIn(settingsSource)].filter((name) => !chain.test(name))

  it("each of the gateway's own variables has a row, once", () => {
    const own = (name: string) => name.startsWith("GATEWAY_")
    assert.deepEqual(sorted(named.filter(own)), sorted(inSource.filter(own)))
    assert.strictEqual(new Set(named).size, named.length)
  })

  it("every variable that is read is named in the table, and no other", () => {
    const stated = variablesIn(rows.flat().join(" "))
    assert.deepEqual(sorted(stated), sorted(inSource))
  })

  it("the documents name no variable that nothing reads", () => {
    // The key of a caller: the chat command's, and Codex's by the configuration that is shown; and the tests' own.
    const known = new Set([
      ...inSource,
      "GATEWAY_API_KEY",
      "GATEWAY_TEST_CHROMIUM",
      "GATEWAY_TEST_SCREENSHOTS",
      "GATEWAY_TEST_REDIS_URL",
      "GATEWAY_TEST_FIPS_CONF",
      "GATEWAY_TEST_OSCAL_SCHEMA"
    ])
    for (const name of variablesIn(text)) assert.isTrue(known.has(name), name)
  })

  const active = {
    VERTEX_PROJECT: "p",
    BEDROCK_REGION: "us-gov-west-1",
    AZURE_OPENAI_ENDPOINT: "https://example.openai.azure.us"
  }
  const loaded = (extra: Readonly<Record<string, string>>) => Effect.runSync(load({ ...active, ...extra }))
  const defaults = rows.flatMap(([cell = "", value = ""]) => {
    const names = spans(cell)
    const values = names.length === 1 || !value.includes(", ") ? names.map(() => value) : value.split(", ")
    return names.map((name, index) => [name, values[index] ?? ""] as const)
  })

  it.each(defaults.filter(([name]) => name !== "OTEL_*"))("%s: %s", (name, value) => {
    const [only, ...more] = spans(value)
    if (value === "none") {
      const optional = new RegExp(`(optional|secret)\\w*\\(\\s*"${name}"|Config\\.option\\([^\\n]*"${name}"`)
      if (clouds.every((cloud) => cloudFacts[cloud].setting[0] !== name)) assert.match(settingsSource, optional)
    } else if (value === `\`${only}\`` && !named.includes(only ?? "")) {
      assert.deepEqual(loaded({ [name]: only ?? "" }), loaded({}))
    } else if (value === "stdout") assert.deepEqual(loaded({ [name]: value }), loaded({}))
    else
      for (const choice of [only, ...more])
        if (choice !== undefined && !named.includes(choice)) loaded({ [name]: choice })
  })

  it("a cloud is active by its first variable", () => {
    const first: Readonly<Record<Cloud, string>> = {
      vertex: "VERTEX_PROJECT",
      bedrock: "BEDROCK_REGION",
      azure: "AZURE_OPENAI_ENDPOINT"
    }
    for (const cloud of clouds) assert.strictEqual(loaded({ [first[cloud]]: "" }).clouds[cloud]._tag, "None")
    for (const cloud of clouds) assert.strictEqual(loaded({}).clouds[cloud]._tag, "Some")
  })
})

it("every dependency has its reason, and every reason its dependency", () => {
  const patterns = tableOf("docs/architecture.md", "Dependencies", "Dependency").flatMap(([names = ""]) => spans(names))
  const covers = (pattern: string, name: string) =>
    pattern === name || (pattern.endsWith("/*") && name.startsWith(pattern.slice(0, -1)))
  const names = Object.keys(dependencies)
  for (const name of names)
    assert.isTrue(
      patterns.some((pattern) => covers(pattern, name)),
      name
    )
  for (const pattern of patterns)
    assert.isTrue(
      names.some((name) => covers(pattern, name)),
      pattern
    )
})
