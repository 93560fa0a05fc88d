/**
 * Gemini's two kinds of JSON Schema (docs/decisions.md#geminis-schemas, docs/upstreams.md#gemini-schemas). Parameters of tools are
 * taken as they are. The schema of an answer has a subset, and one keyword outside it fails the request: what can be said within
 * the subset is rewritten, the rest is left out and named, and the caller still checks what comes back.
 */
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import { meaningsOf } from "../../wire/words.ts"
import { pointedAt } from "../flatParameters.ts"

/** Levels of nesting that are translated; anything may stand below. */
const maxDepth = 64

const plainKeywords = new Set([
  ...["$id", "$anchor", "type", "format", "title", "description", "enum", "required", "propertyOrdering"],
  ...["minItems", "maxItems", "minimum", "maximum"]
])
/** Said in other words, or of no meaning for the model. */
const rewritten = new Set(["$ref", "allOf", "$schema", "$comment"])
const schemaKeywords = new Set(["items", "additionalProperties"])
const listKeywords = new Set(["prefixItems", "anyOf", "oneOf"])
const mapKeywords = meaningsOf(["properties", "properties"], ["$defs definitions", "$defs"])

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

/** The schema of an answer in Gemini's words; the input is never changed. `onDrop` gets each keyword that is left out. */
export const answerSchema = (schema: JsonObject, onDrop: (keyword: string) => unknown, depth = 0): JsonObject => {
  const parts: Array<JsonObject> = []
  addParts(schema, onDrop, depth, parts)
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : merge(parts)
}

/** What a schema has itself, and what its `allOf` has, at any depth: merged once, and not at each level again. */
const addParts = (
  schema: JsonObject,
  onDrop: (keyword: string) => unknown,
  depth: number,
  parts: Array<JsonObject>
): void => {
  if (depth > maxDepth) return
  const inner = (value: Json): Json => (isObject(value) ? answerSchema(value, onDrop, depth + 1) : value)
  const own: Record<string, Json> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    const map = mapKeywords.get(keyword)
    if (plainKeywords.has(keyword)) own[keyword] = value
    else if (keyword === "const") own.enum = [value]
    else if (schemaKeywords.has(keyword)) own[keyword] = inner(value)
    else if (listKeywords.has(keyword)) own[keyword] = arrayOf(value).map(inner)
    else if (map !== undefined) {
      const entries = Object.entries(objectOf(value)).map(([name, property]) => [name, inner(property)])
      own[map] = { ...objectOf(own[map]), ...Object.fromEntries(entries) }
    } else if (!rewritten.has(keyword)) onDrop(keyword)
  }
  const reference = textOf(schema.$ref)
  if (reference !== undefined) {
    // Beside a reference only keywords that begin with `$` may stand.
    const named = Object.fromEntries(Object.entries(own).filter(([keyword]) => keyword.startsWith("$")))
    parts.push({ ...named, $ref: reference.replace("#/definitions/", "#/$defs/") })
    return
  }
  parts.push(own)
  for (const part of arrayOf(schema.allOf)) if (isObject(part)) addParts(part, onDrop, depth + 1, parts)
}

/** There is no `allOf`: its parts are one schema, with all their properties. */
const merge = (parts: ReadonlyArray<JsonObject>): JsonObject => {
  const merged: Record<string, Json> = Object.fromEntries(parts.flatMap((part) => Object.entries(part)))
  if ("properties" in merged) {
    merged.properties = Object.fromEntries(parts.flatMap((part) => Object.entries(objectOf(part.properties))))
  }
  if ("required" in merged) merged.required = [...new Set(parts.flatMap((part) => arrayOf(part.required)))]
  return merged
}
