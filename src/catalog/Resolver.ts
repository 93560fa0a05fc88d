/**
 * Finds the deployment that serves an ID on an endpoint, or the error that says what is wrong and what would work
 * (docs/api.md#model-ids, docs/api.md#which-model-an-endpoint-serves, docs/decisions.md#model-ids-and-levels). An ID is
 * `<base_model>:<level>`: the level starts after the last `:`. IDs are compared exactly: nothing is trimmed, folded or normalized.
 * Texts are bounded, whatever the caller sent and however large the catalog is.
 */
import { Result } from "effect"
import { getOrInsert } from "../wire/getOrInsert.ts"
import { escapeControls } from "../wire/print.ts"
import { compileStrip } from "../wire/strip.ts"
import type { Catalog } from "./Catalog.ts"
import { type GatewayError, invalid } from "./GatewayError.ts"
import { authorizedLevels } from "./Level.ts"
import { type Family, isLevel, isPurpose, type Level, levels, type Purpose, surfaceNames, surfaces } from "./names.ts"
import { forbids, type Sites } from "./Partition.ts"
import { type Entry, type Route, shippedBetas, stripPaths } from "./Route.ts"

/** Reads an ID; there is no level where the text names none that exists. It does not look for the model. */
export const parseModelId = (text: string) => {
  const colon = text.lastIndexOf(":")
  if (colon < 0) return { base: text, level: undefined }
  const level = text.slice(colon + 1)
  return { base: text.slice(0, colon), level: isLevel(level) ? level : undefined }
}

/** Longest echo of the caller's text, in UTF-16 units. */
const maxEcho = 100
const maxNames = 20
const maxClosest = 3

/** The caller's text, cut, in quotes, with everything that is invisible or moves the cursor escaped. */
const quote = (text: string): string =>
  escapeControls(JSON.stringify(text.slice(0, maxEcho) + (text.length > maxEcho ? "…" : "")))

const serves = (purpose: Purpose, { model, deployment }: Entry): boolean =>
  surfaces[purpose].families?.includes(model.family) ?? deployment.responses === true

/** The ID of a first chat: that of the documents where it is served. Undefined where no chat model is. */
export const firstChatId = (list: ReadonlyArray<Entry>): string | undefined => {
  const ids = list.filter((entry) => serves("chat", entry)).map(({ id }) => id)
  return ids.find((id) => id === "claude-sonnet-4-5:il5") ?? ids[0]
}

const kinds: Readonly<Record<Family, string>> = {
  claude: "a messages-format model",
  gemini: "a chat model",
  gpt: "a chat model",
  embedding: "an embedding model"
}

export type Paths = Readonly<Record<Purpose, string>>

const rightPurposes = surfaceNames.filter(isPurpose).filter((purpose) => surfaces[purpose].output !== "count")

const rightEndpoint = (purpose: Purpose, family: Family, paths: Paths): string => {
  const right = rightPurposes.filter((other) => surfaces[other].families?.includes(family))
  // A caller of one native format reads which the other one is.
  const own = purpose === "responses" && right.length > 1 ? right.slice(1) : right
  return own.map((other) => paths[other]).join(" or ")
}

/** For an ID that exists and that the endpoint does not serve (docs/api.md#which-model-an-endpoint-serves). */
const explainWrongKind = (purpose: Purpose, { id, model }: Entry, paths: Paths): string =>
  `model ${quote(id)} is ${kinds[model.family]}, which ${paths[purpose]} does not serve: ` +
  `use ${rightEndpoint(purpose, model.family, paths)}`

const names = (entries: ReadonlyArray<Entry>): string => {
  const shown = entries.slice(0, maxNames).map((entry) => entry.id)
  return shown.join(", ") + (entries.length > maxNames ? `, and ${entries.length - maxNames} more` : "")
}

/** One ID of each model: at the level that was asked for, where the model has it. */
const onePerModel = (entries: ReadonlyArray<Entry>, level: Level | undefined): string => {
  const chosen = new Map<string, Entry>()
  for (const entry of entries) {
    if (!chosen.has(entry.model.id) || entry.level === level) chosen.set(entry.model.id, entry)
  }
  return names([...chosen.values()])
}

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "")

/** How similar a name is to what was asked for: the length of the common start, or of the whole where one contains the other. */
const similarity = (asked: string, name: string): number => {
  if (asked.includes(name)) return name.length
  if (asked.length > 3 && name.includes(asked)) return asked.length
  let same = 0
  while (same < name.length && asked[same] === name[same]) same++
  return same
}

/** The base models that `asked` most likely meant, best first. */
const closest = (asked: string, bases: ReadonlyArray<string>): ReadonlyArray<string> => {
  const wanted = plain(asked.slice(0, maxEcho))
  const scored = bases
    .map((base) => ({ base, score: similarity(wanted, plain(base)) }))
    .sort((a, b) => b.score - a.score)
  const least = Math.max(3, (scored[0]?.score ?? 0) / 2)
  return scored
    .filter(({ score }) => score >= least)
    .slice(0, maxClosest)
    .map(({ base }) => base)
}

const form = "a model ID is <base_model>:<level>"
const seeList = "GET /v1/models lists every ID"

/** What is wrong with an ID whose base model exists. */
const complaint = (id: string): string => {
  const { base, level } = parseModelId(id)
  if (level !== undefined) return `asks for a level that ${base} is not authorized for`
  return id === base ? `has no level: ${form}` : "has an unknown level"
}

interface Known {
  readonly catalog: Catalog
  /** The IDs of all clouds. */
  readonly bound: ReadonlyMap<string, Entry>
  /** Those that active clouds serve. */
  readonly served: ReadonlyArray<Entry>
  /** Those that active clouds must not serve from where they are. */
  readonly leftOut: ReadonlySet<string>
  readonly paths: Paths
}

/**
 * For an ID that does not exist here: a bare name, an unknown level, a level that the model is not authorized for, an
 * unknown model, a model on a cloud that is not configured, or in a region that is not authorized for the level. It names only
 * IDs that the caller may use, as the model list does.
 */
const explainUnresolved = (id: string, purpose: Purpose, known: Known, mayUse: (entry: Entry) => boolean): string => {
  const { catalog, bound, served, leftOut, paths } = known
  const { base, level } = parseModelId(id)
  const model = `model ${quote(id)}`
  const found = catalog.models.find((candidate) => candidate.id === base)
  const allowed = served.filter(mayUse)
  const usable = allowed.filter((entry) => serves(purpose, entry))
  const available = usable.length > 0 ? `available: ${onePerModel(usable, level)}; ` : ""

  if (found === undefined) {
    const near = closest(base, [...new Set(usable.map((entry) => entry.model.id))])
    const similar = usable.filter((entry) => near.includes(entry.model.id))
    const hint = similar.length > 0 ? `similar: ${onePerModel(similar, level)}; ` : available
    return `${model} does not exist: ${form}; ${hint}${seeList}`
  }
  const isOwn = (entry: Entry) => entry.model.id === base
  const elsewhere =
    leftOut.has(id) || (!bound.has(id) && [...leftOut].some((other) => parseModelId(other).base === base))
  const unavailable = elsewhere
    ? `is not available here, because this region is not authorized for ${level ?? "it"}`
    : "is not available here, because its cloud is not configured"
  const wrong = bound.has(id) || !served.some(isOwn) ? unavailable : complaint(id)
  const fitting = usable.filter(isOwn)
  if (fitting.length > 0) return `${model} ${wrong}; use one of: ${names(fitting)}`
  const own = allowed.filter(isOwn)
  if (own.length > 0) {
    return (
      `${model} ${wrong}; and it is ${kinds[found.family]}, which ${paths[purpose]} does not serve: ` +
      `on ${rightEndpoint(purpose, found.family, paths)} use one of: ${names(own)}`
    )
  }
  return `${model} ${wrong}; ${available}${seeList}`
}

/** The message of docs/api.md#counting-tokens. */
const countingUnavailable = "Token counting is not yet available for this model. Estimate client-side for now."

/** Every ID of the catalog, bound to the first deployment that is authorized for its level. */
const bind = (catalog: Catalog): ReadonlyMap<string, Entry> => {
  const bound = new Map<string, Entry>()
  const { betas = shippedBetas } = catalog
  for (const model of catalog.models) {
    const candidates = model.deployments.map((deployment) => ({
      deployment,
      strip: compileStrip(stripPaths(deployment, betas)),
      levels: new Set(authorizedLevels(deployment.authorization))
    }))
    for (const level of levels) {
      const found = candidates.find((candidate) => candidate.levels.has(level))
      const id = `${model.id}:${level}`
      if (found === undefined || bound.has(id)) continue
      const { deployment, strip } = found
      bound.set(id, { id, model, level, deployment, strip, betas })
    }
  }
  return bound
}

/** The IDs of active clouds that may be served from their sites, in the catalog's order and then that of `levels`; and what may not. */
export const requestable = (catalog: Catalog, sites: Sites, bound = bind(catalog)) => {
  const list: Array<Entry> = []
  const leftOut = new Map<string, Array<string>>()
  for (const entry of bound.values()) {
    const site = sites[entry.deployment.cloud]
    if (site === undefined) continue
    const reason = forbids(entry.deployment, entry.level, site)
    if (reason === undefined) list.push(entry)
    else getOrInsert(leftOut, reason, () => []).push(entry.id)
  }
  return { list, leftOut: [...leftOut].map(([reason, ids]) => ({ reason, ids })) }
}

/** The catalog as this process serves it. Immutable: a reload makes a new one. */
export type Index = ReturnType<typeof makeIndex>

/**
 * Builds the index once, so that resolving is one look-up.
 *
 * IDs are bound before inactive clouds, and places that are not authorized, are left out: settings can take an ID away, never
 * send it elsewhere. `paths` are for error messages.
 */
export const makeIndex = (catalog: Catalog, sites: Sites, paths: Paths) => {
  const bound = bind(catalog)
  const { list, leftOut } = requestable(catalog, sites, bound)
  // A Map, not an object: `__proto__` and `constructor` are IDs that do not exist.
  const served = new Map(list.map((entry) => [entry.id, entry]))
  const known = { catalog, bound, served: list, leftOut: new Set(leftOut.flatMap(({ ids }) => ids)), paths }
  /** Fails with `invalid` (400), and names only IDs that the caller may use. */
  const resolve = (
    id: string,
    purpose: Purpose,
    mayUse: (entry: Entry) => boolean = () => true
  ): Result.Result<Route, GatewayError> => {
    const entry = served.get(id)
    if (entry === undefined) return Result.fail(invalid(explainUnresolved(id, purpose, known, mayUse)))
    if (!serves(purpose, entry)) return Result.fail(invalid(explainWrongKind(purpose, entry, paths)))
    return purpose === "count_tokens" && entry.deployment.countModel === undefined
      ? Result.fail(invalid(countingUnavailable))
      : Result.succeed(entry)
  }
  return { resolve, list, leftOut }
}
