/**
 * The error for an ID that cannot be served: what is wrong with it, and what would work
 * (docs/decisions.md#model-ids-and-levels). Texts are bounded, whatever the caller sent and however large the catalog is.
 */
import { Result } from "effect"
import { escapeControls } from "../wire/escape.ts"
import type { Catalog, Family } from "./Catalog.ts"
import { parseModelId } from "./ModelId.ts"
import type { Entry, Purpose } from "./Route.ts"

/** Longest echo of the caller's text, in UTF-16 units. */
const maxEcho = 100
const maxNames = 20
const maxClosest = 3

/** The caller's text, cut, in quotes, with everything that is invisible or moves the cursor escaped. */
const quote = (text: string): string =>
  escapeControls(JSON.stringify(text.slice(0, maxEcho) + (text.length > maxEcho ? "…" : "")))

/** Whether the endpoint serves what the ID is bound to. */
export const takes = (purpose: Purpose, { model, deployment }: Entry): boolean => {
  switch (purpose) {
    case "chat":
      return model.family !== "embedding"
    case "messages":
    case "count":
      return model.family === "claude"
    case "responses":
      return deployment.responses === true
    case "embeddings":
      return model.family === "embedding"
  }
}

const kinds: Readonly<Record<Family, string>> = {
  claude: "a messages-format model",
  gemini: "a chat model",
  gpt: "a chat model",
  embedding: "an embedding model"
}

/** The path of the endpoint for each purpose. */
export type Paths = Readonly<Record<Purpose, string>>

const rightEndpoint = (purpose: Purpose, family: Family, paths: Paths): string => {
  if (family === "embedding") return paths.embeddings
  if (family !== "claude") return paths.chat
  return purpose === "responses" ? paths.messages : `${paths.chat} or ${paths.messages}`
}

/** For an ID that exists and that the endpoint does not serve (docs/api.md#which-model-an-endpoint-serves). */
export const explainWrongKind = (purpose: Purpose, { id, model }: Entry, paths: Paths): string =>
  `model ${quote(id)} is ${kinds[model.family]}, which ${paths[purpose]} does not serve: ` +
  `use ${rightEndpoint(purpose, model.family, paths)}`

const names = (entries: ReadonlyArray<Entry>): string => {
  const shown = entries.slice(0, maxNames).map((entry) => entry.id)
  return shown.join(", ") + (entries.length > maxNames ? `, and ${entries.length - maxNames} more` : "")
}

type Parsed = ReturnType<typeof parseModelId>

/** One ID of each model: at the level that was asked for, where the model has it. */
const onePerModel = (entries: ReadonlyArray<Entry>, asked: Parsed): string => {
  const level = Result.isSuccess(asked) ? asked.success.level : undefined
  const chosen = new Map<string, Entry>()
  for (const entry of entries) {
    if (!chosen.has(entry.model.id) || entry.level === level) chosen.set(entry.model.id, entry)
  }
  return names([...chosen.values()])
}

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "")

/** How much of a name the caller got right: letters in common, at the start or as a whole. */
const likeness = (asked: string, name: string): number => {
  if (asked.includes(name)) return name.length
  if (asked.length > 3 && name.includes(asked)) return asked.length
  let same = 0
  while (same < name.length && asked[same] === name[same]) same++
  return same
}

/** The base models that `asked` most likely meant, best first. */
const closest = (asked: string, bases: ReadonlyArray<string>): ReadonlyArray<string> => {
  const wanted = plain(asked.slice(0, maxEcho))
  const scored = bases.map((base) => ({ base, score: likeness(wanted, plain(base)) })).sort((a, b) => b.score - a.score)
  const least = Math.max(3, (scored[0]?.score ?? 0) / 2)
  return scored
    .filter(({ score }) => score >= least)
    .slice(0, maxClosest)
    .map(({ base }) => base)
}

const form = "a model ID is <base_model>:<level>"
const seeList = "GET /v1/models lists every ID"

const baseOf = (id: string): string => id.slice(0, id.lastIndexOf(":"))

/** What is wrong with an ID whose base model exists. */
const complaint = (parsed: Parsed): string => {
  if (Result.isSuccess(parsed)) return `asks for a level that ${parsed.success.base} is not authorized for`
  return parsed.failure.problem === "bare" ? `has no level: ${form}` : "has an unknown level"
}

/** What there is. */
export interface Known {
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
 * unknown model, a model on a cloud that is not configured, or in a region that is not authorized for the level.
 */
export const explainUnresolved = (id: string, purpose: Purpose, known: Known): string => {
  const { catalog, bound, served, leftOut, paths } = known
  const parsed = parseModelId(id)
  const { base } = Result.merge(parsed)
  const model = `model ${quote(id)}`
  const found = catalog.models.find((candidate) => candidate.id === base)
  const usable = served.filter((entry) => takes(purpose, entry))

  if (found === undefined) {
    const near = closest(base, [...new Set(usable.map((entry) => entry.model.id))])
    const similar = usable.filter((entry) => near.includes(entry.model.id))
    const hint = similar.length > 0 ? `similar: ${onePerModel(similar, parsed)}; ` : ""
    return `${model} does not exist: ${form}; ${hint}${seeList}`
  }
  const own = served.filter((entry) => entry.model.id === base)
  const elsewhere = leftOut.has(id) || (!bound.has(id) && [...leftOut].some((other) => baseOf(other) === base))
  const unavailable = elsewhere
    ? `is not available here, because this region is not authorized for ${Result.isSuccess(parsed) ? parsed.success.level : "it"}`
    : "is not available here, because its cloud is not configured"
  if (own.length === 0) {
    const others = usable.length > 0 ? `available: ${onePerModel(usable, parsed)}; ` : ""
    return `${model} ${unavailable}; ${others}${seeList}`
  }
  const wrong = bound.has(id) ? unavailable : complaint(parsed)
  const fitting = own.filter((entry) => takes(purpose, entry))
  if (fitting.length > 0) return `${model} ${wrong}; use one of: ${names(fitting)}`
  return (
    `${model} ${wrong}; and it is ${kinds[found.family]}, which ${paths[purpose]} does not serve: ` +
    `on ${rightEndpoint(purpose, found.family, paths)} use one of: ${names(own)}`
  )
}
