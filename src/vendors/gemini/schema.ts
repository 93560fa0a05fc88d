/**
 * Gemini's two kinds of JSON Schema (docs/decisions.md#geminis-schemas, docs/upstreams.md#gemini-schemas). Parameters of tools are
 * taken as they are. The schema of an answer has a subset, and one keyword outside it fails the request: what can be said within
 * the subset is rewritten, the rest is left out and named, and the caller still checks what comes back.
 */
import { isDeepStrictEqual } from "node:util"
import { getOrInsert } from "../../wire/getOrInsert.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import { meaningsOf } from "../../wire/words.ts"
import { pointedAt } from "../flatParameters.ts"

/** Levels of nesting that are translated; anything may stand below. */
const maxDepth = 64

/** The keywords that are taken: of one value, a list of schemas, or schemas by their names. */
const kinds = meaningsOf<"one" | "list" | "map">(
  ["$id $anchor $ref type format title description enum required propertyOrdering", "one"],
  ["minItems maxItems minimum maximum items additionalProperties", "one"],
  ["prefixItems anyOf oneOf", "list"],
  ["properties $defs", "map"]
)
/** Of no meaning for the model, or said in other words. */
const silent = new Set(["$schema", "$comment", "allOf"])

/**
 * A tool's parameters: all but `$schema`, which is no part of a nested schema. Shared where nothing goes. `onDrop` is
 * called for a reference of the root's that leads nowhere in it.
 */
export const toolSchema = (schema: JsonObject, onDrop: () => unknown): JsonObject => {
  if (!("$schema" in schema || "$ref" in schema)) return schema
  const { $schema: _, ...rest } = schema
  return "$ref" in rest ? dereferenced(rest, onDrop) : rest
}

/** The root names its properties itself, because the vendor wants an object there; what stands beside a reference goes over it. */
const dereferenced = (schema: JsonObject, onDrop: () => unknown): JsonObject => {
  const parts: Array<JsonObject> = []
  const seen = new Set<JsonObject>()
  for (let next: JsonObject | undefined = schema; next !== undefined && !seen.has(next); ) {
    seen.add(next)
    const { $ref: reference, ...part }: JsonObject = next
    parts.unshift(part)
    next = reference === undefined ? undefined : pointedAt(schema, textOf(reference) ?? "")
    if (reference !== undefined && next === undefined) onDrop()
  }
  return merge(parts)
}

/** Later parts go over earlier ones, but all have their properties. */
const merge = (parts: ReadonlyArray<JsonObject>): JsonObject => {
  const merged: Record<string, Json> = Object.fromEntries(parts.flatMap((part) => Object.entries(part)))
  if ("properties" in merged) {
    merged.properties = Object.fromEntries(parts.flatMap((part) => Object.entries(objectOf(part.properties))))
  }
  if ("required" in merged) merged.required = [...new Set(parts.flatMap((part) => arrayOf(part.required)))]
  return merged
}

/**
 * The schema of an answer in Gemini's words; the input is never changed. There is no `allOf`: its parts are one schema.
 * `onDrop` gets each keyword that is left out.
 */
export const answerSchema = (schema: JsonObject, onDrop: (keyword: string) => unknown, depth = 0): JsonObject => {
  if (depth > maxDepth) return {}
  const inner = (value: Json): Json => (isObject(value) ? answerSchema(value, onDrop, depth + 1) : value)
  /** Of values that cannot be one the first stands. */
  const first = (keyword: string, values: ReadonlyArray<Json>): Json => {
    const [value = null, ...others] = values
    if (!others.every((other) => isDeepStrictEqual(other, value))) onDrop(keyword)
    return value
  }
  const merged = (keyword: string, values: ReadonlyArray<Json>): Json => {
    if (keyword === "required") return [...new Set(values.flatMap(arrayOf))]
    if (keyword === "enum") return common(values.map(arrayOf))
    const kind = kinds.get(keyword)
    if (kind === "list") return arrayOf(first(keyword, values)).map(inner)
    if (kind === "one") return inner(first(keyword, values))
    const named = Map.groupBy(
      values.flatMap((map) => Object.entries(objectOf(map))),
      ([name]) => name
    )
    return Object.fromEntries(
      Array.from(named, ([name, entries]) => {
        const schemas = entries.map(([, schema]) => schema)
        const isBoth = keyword === "properties" && schemas.length > 1
        return [name, inner(isBoth ? { allOf: schemas } : first(keyword, schemas))]
      })
    )
  }

  const parts = partsOf(schema)
  const refers = parts.some((part) => "$ref" in part)
  const found = new Map<string, Array<Json>>()
  for (const [keyword, value] of parts.flatMap((part) => Object.entries(part))) {
    const [name, own] = reworded(keyword, value)
    // Beside a reference only keywords that begin with `$` may stand.
    if (kinds.has(name) && (!refers || name.startsWith("$"))) getOrInsert(found, name, () => []).push(own)
    else if (!silent.has(keyword)) onDrop(keyword)
  }
  return Object.fromEntries(Array.from(found, ([keyword, values]) => [keyword, merged(keyword, values)]))
}

/** What a schema says itself, and what its `allOf` says, at any depth. */
const partsOf = (schema: JsonObject, depth = 0): ReadonlyArray<JsonObject> =>
  depth > maxDepth ? [] : [schema, ...arrayOf(schema.allOf).flatMap((part) => partsOf(objectOf(part), depth + 1))]

const reworded = (keyword: string, value: Json): readonly [keyword: string, value: Json] => {
  switch (keyword) {
    case "const":
      return ["enum", [value]]
    case "definitions":
      return ["$defs", value]
    case "items":
      return [Array.isArray(value) ? "prefixItems" : keyword, value]
    case "$ref":
      return [keyword, textOf(value)?.replace("#/definitions/", "#/$defs/") ?? value]
    default:
      return [keyword, value]
  }
}

/** The values that are in all lists. */
const common = (lists: ReadonlyArray<ReadonlyArray<Json>>): ReadonlyArray<Json> => [
  ...lists.map((list) => new Set(list)).reduce((one, other) => one.intersection(other))
]
