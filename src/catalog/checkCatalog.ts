/**
 * Whether a catalog makes sense. The schema says what a field may hold; this adds what fields say about each other,
 * so that a mistake is refused when the catalog is read and not found by a caller.
 */
import { Equal, Result, Schema, SchemaIssue } from "effect"
import { parseFile } from "../wire/parse.ts"
import { runNow } from "../wire/slices.ts"
import { Catalog, type Deployment, type Effort, type Model } from "./Catalog.ts"
import { cloudFacts, clouds } from "./clouds.ts"
import { authorizedLevels } from "./Level.ts"
import { apis, efforts, type Family, operations } from "./names.ts"
import { outsidePartition } from "./Partition.ts"

const apisOf = (family: Family) => apis.filter((api) => operations[api].family === family)

const thinkingOf: Readonly<Record<Family, ReadonlyArray<Model["thinking"]["api"]>>> = {
  claude: ["budgeted", "adaptive", "none"],
  gemini: ["level", "none"],
  gpt: ["effort", "none"],
  embedding: ["none"]
}

/** The efforts of each API: another would be refused there, or be sent as one of these without a word. */
const effortsOf: Readonly<Record<Model["thinking"]["api"], ReadonlyArray<Effort>>> = {
  budgeted: efforts,
  adaptive: ["none", "low", "medium", "high", "xhigh", "max"],
  level: ["none", "minimal", "low", "medium", "high"],
  effort: efforts,
  none: ["none"]
}

/** Fields that mean nothing outside one API. */
const apiOnly = {
  messages: ["countModel", "betas", "countBetas", "interleavedBudget", "automaticCaching", "systemTurns"],
  content: ["logprobs", "maxSeed"]
} as const

function* checkThinking({ family, thinking }: Model, at: string): Generator<string> {
  if (!thinkingOf[family].includes(thinking.api)) {
    yield `${at}.api: ${thinking.api} is not for family ${family}: one of ${thinkingOf[family].join(", ")}`
  }
  const ordered = efforts.filter((effort) => thinking.efforts.includes(effort))
  if (ordered.join() !== thinking.efforts.join()) {
    yield `${at}.efforts: must be in order and without repetition: ${ordered.join(", ")}`
  }
  const foreign = thinking.efforts.filter((effort) => !effortsOf[thinking.api].includes(effort))
  if (foreign.length > 0) {
    yield `${at}.efforts: ${foreign.join(", ")}: not of the thinking api ${thinking.api}, which has ${effortsOf[thinking.api].join(", ")}`
  }
  if (!thinking.efforts.includes(thinking.default)) {
    yield `${at}.default: ${thinking.default} is not among the efforts`
  }
  if (thinking.optional !== thinking.efforts.includes("none")) {
    yield `${at}.optional: must be true exactly when the efforts have none`
  }
  if (thinking.tagged === true && thinking.api !== "effort") {
    yield `${at}.tagged: only for thinking api effort`
  }
}

function* checkDeployment({ family, thinking }: Model, deployment: Deployment, at: string): Generator<string> {
  const { api, cloud } = deployment
  const served = apisOf(family)
  if (!served.includes(api)) yield `${at}.api: ${api} is not for family ${family}, which takes ${served.join(", ")}`
  if (!cloudFacts[cloud].apis.includes(api)) {
    yield `${at}.api: ${cloud} does not serve ${api}, only ${cloudFacts[cloud].apis.join(", ")}`
  }
  for (const field of cloud === "bedrock" ? (["model", "countModel"] as const) : []) {
    const problem = outsidePartition(deployment[field] ?? "")
    if (problem !== undefined) yield `${at}.${field}: ${problem}`
  }
  for (const only of ["messages", "content"] as const) {
    for (const field of api === only ? [] : apiOnly[only]) {
      if (deployment[field] !== undefined) yield `${at}.${field}: only for api ${only}`
    }
  }
  for (const field of cloudFacts[cloud].hostIsPlace ? (["regions", "weights"] as const) : []) {
    if (deployment[field] !== undefined) {
      yield `${at}.${field}: has no effect on ${cloud}, where the endpoint is the one place; remove it`
    }
  }
  const unlisted = Object.keys(deployment.weights ?? {}).filter((region) => !deployment.regions?.includes(region))
  if (unlisted.length > 0) yield `${at}.weights: ${unlisted.join(", ")} is not among the regions`
  if (new Set(deployment.regions).size < (deployment.regions?.length ?? 0)) yield `${at}.regions: must differ`
  if (deployment.interleavedBudget === true && thinking.api !== "budgeted") {
    yield `${at}.interleavedBudget: only for budgeted thinking`
  }
  if (deployment.responses === true && !(cloudFacts[cloud].servesResponses && apisOf("gpt").includes(api))) {
    yield `${at}.responses: only for ${clouds.filter((name) => cloudFacts[name].servesResponses).join(", ")} with api ${apisOf("gpt").join(" or ")}`
  }
}

function* checkModel(model: Model, at: string): Generator<string> {
  yield* checkThinking(model, `${at}.thinking`)
  if (model.family !== "embedding" && model.maxOutputTokens < 1) yield `${at}.maxOutputTokens: must be positive`
  const taken = new Set<string>()
  for (const [index, deployment] of model.deployments.entries()) {
    const place = `${at}.deployments[${index}]`
    yield* checkDeployment(model, deployment, place)
    const covered = authorizedLevels(deployment.authorization)
    if (covered.length === 0) yield `${place}.authorization: covers no level`
    else if (covered.every((level) => taken.has(level))) {
      yield `${place}.authorization: an earlier deployment serves every level of it`
    }
    for (const level of covered) taken.add(level)
  }
}

function* deploymentsOf({ models }: Catalog): Generator<readonly [at: string, Deployment]> {
  for (const [index, { deployments }] of models.entries()) {
    for (const [at, deployment] of deployments.entries()) yield [`models[${index}].deployments[${at}]`, deployment]
  }
}

/** Costs of all deployments are added up. */
function* checkCurrency(catalog: Catalog): Generator<string> {
  let currency: string | undefined
  for (const [at, { prices }] of deploymentsOf(catalog)) {
    currency ??= prices?.currency
    if (prices !== undefined && prices.currency !== currency) {
      yield `${at}.prices.currency: ${prices.currency}, but prices before it are in ${currency}; one catalog has one currency`
    }
  }
}

/** All requests for one model of a cloud count against one quota, under whichever IDs they came. */
function* checkQuotas(catalog: Catalog): Generator<string> {
  const first = new Map<string, Deployment["quota"]>()
  for (const [at, { cloud, model, quota }] of deploymentsOf(catalog)) {
    const key = `${cloud}/${model}`
    if (!first.has(key)) first.set(key, quota)
    if (!Equal.equals(first.get(key), quota)) {
      yield `${at}.quota: ${model} on ${cloud} has another before it, or none; give both the same`
    }
  }
}

function* checkModels({ models }: Catalog): Generator<string> {
  const first = new Map<string, number>()
  for (const [index, model] of models.entries()) {
    const earlier = first.get(model.id)
    if (earlier === undefined) first.set(model.id, index)
    else yield `models[${index}].id: ${model.id} is models[${earlier}] already`
    yield* checkModel(model, `models[${index}]`)
  }
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => (issue._tag === "UnexpectedKey" ? "unknown key" : SchemaIssue.defaultLeafHook(issue))
})

/** Longest text of one problem; the schema quotes what it found, which may be a whole catalog. */
const maxProblem = 300

const place = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> = []): string =>
  path
    .map((step) => (typeof step === "object" ? step.key : step))
    .map((key) => (typeof key === "string" && /^\w+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`))
    .join("")
    .replace(/^\./, "")

type Problems = ReadonlyArray<string>

/** Fails with every problem there is, one line each, each beginning with its place; `whole` names the place of all. */
export const decodeJson = <S extends Schema.ConstraintDecoder<unknown>>(schema: S, whole: string, json: unknown) =>
  Schema.decodeUnknownResult(schema)(json, {
    errors: "all",
    // An unknown key is most often a misspelt known one, which would silently lose its effect.
    onExcessProperty: "error",
    reportInput: true
  }).pipe(
    Result.mapError(
      ({ issue }): Problems =>
        format(issue).issues.map(({ message, path }) => `${place(path) || whole}: ${message.slice(0, maxProblem)}`)
    )
  )

/** The same of JSON itself. */
export const parseText = (whole: string, text: string): Result.Result<unknown, Problems> =>
  Result.mapError(runNow(parseFile(text)), (problem) => [`${whole}: ${problem}`])

/** Checks a catalog that is JSON already. What fields say about each other is looked at only when every field is well-formed. */
export const checkCatalogJson = (json: unknown): Result.Result<Catalog, Problems> =>
  Result.flatMap(decodeJson(Catalog, "catalog", json), (catalog) => {
    const problems = [...checkModels(catalog), ...checkCurrency(catalog), ...checkQuotas(catalog)]
    return problems.length > 0 ? Result.fail(problems) : Result.succeed(catalog)
  })

/** Checks the text of a catalog file. Fails as `checkCatalogJson` does. */
export const checkCatalog = (text: string): Result.Result<Catalog, Problems> =>
  Result.flatMap(parseText("catalog", text), checkCatalogJson)
