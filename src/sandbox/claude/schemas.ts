/**
 * Schemas that the model's words are held to: those of `strict` tools and of `output_config.format`. All of a request are compiled
 * together, within the vendor's limits (docs/upstreams.md#structured-output-of-claude).
 */
import { arrayOf, isObject, type Json, type JsonObject, objectOf, stringOf } from "../json.ts"
import type { Shape } from "../shape.ts"
import { insist } from "./messages.ts"

const unenforced =
  /^(?:minimum|maximum|exclusive\w+|multipleOf|minLength|maxLength|pattern|maxItems|uniqueItems|oneOf|not|if|patternProperties)$/

/** The schemas directly below one. */
const below = (schema: JsonObject): ReadonlyArray<Json> => [
  ...["properties", "$defs", "definitions"].flatMap((keyword) => Object.values(objectOf(schema[keyword]))),
  ...["anyOf", "allOf"].flatMap((keyword) => arrayOf(schema[keyword])),
  ...(isObject(schema.items) ? [schema.items] : [])
]

const isOpen = ({ type, properties, additionalProperties }: JsonObject): boolean =>
  ([type].flat().includes("object") || properties !== undefined) && additionalProperties !== false

/** Closed objects, and only keywords that can be enforced. A refusal names the whole schema, wherever in it the fault is. */
export const enforced: Shape = (given, path) => {
  const schema = objectOf(given)
  const wrong = Object.keys(schema).find((keyword) => unenforced.test(keyword))
  const referring = arrayOf(schema.allOf).some((part) => isObject(part) && part.$ref !== undefined)
  insist({ "For 'object' type, 'additionalProperties' must be explicitly set to false": !isOpen(schema) }, path)
  insist({ [`For '${stringOf(schema.type)}' type, property '${wrong}' is not supported`]: wrong === undefined }, path)
  insist({ "'allOf' with '$ref' is not supported": !referring }, path)
  for (const inner of below(schema)) enforced(inner, path)
}

/** What a schema takes of the limits: properties that may be missing, and those of several types. */
const sizeOf = (schema: JsonObject): { readonly optional: number; readonly unions: number } => {
  const names = Object.keys(objectOf(schema.properties))
  const required = new Set(arrayOf(schema.required))
  let optional = names.filter((name) => !required.has(name)).length
  let unions = Array.isArray(schema.type) || Array.isArray(schema.anyOf) ? 1 : 0
  for (const inner of below(schema)) {
    const size = sizeOf(objectOf(inner))
    optional += size.optional
    unions += size.unions
  }
  return { optional, unions }
}

/** Checks the schemas of a request together. `strict` is how many of its tools have one. */
export const checkCompiled = (schemas: ReadonlyArray<JsonObject>, strict: number): void => {
  const sizes = schemas.map(sizeOf)
  const optional = sizes.reduce((sum, size) => sum + size.optional, 0)
  const unions = sizes.reduce((sum, size) => sum + size.unions, 0)
  const slow = "which would make grammar compilation inefficient"
  insist({
    [`Too many strict tools (${strict}). The maximum number of strict tools supported is 20.`]: strict <= 20,
    [`Schemas contains too many optional parameters (${optional}), ${slow}. Reduce the number of optional parameters in your tool schemas (limit: 24).`]:
      optional <= 24,
    [`Schemas contains too many parameters with union types (${unions} parameters with type arrays or anyOf), ${slow}. Reduce the number of union-typed parameters in your tool schemas (limit: 16).`]:
      unions <= 16
  })
}
