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

/** Properties and values of all schemas of a request; how large a grammar may be is not documented, so this limit is the sandbox's. */
const MOST = 500

interface Size {
  readonly optional: number
  readonly unions: number
  readonly all: number
}

const plus = (a: Size, b: Size): Size => ({
  optional: a.optional + b.optional,
  unions: a.unions + b.unions,
  all: a.all + b.all
})
const nothing: Size = { optional: 0, unions: 0, all: 0 }

/** What a schema takes of the limits: properties that may be missing, those of several types, and all of them with their values. */
const sizeOf = (schema: JsonObject): Size => {
  const names = Object.keys(objectOf(schema.properties))
  const required = new Set(arrayOf(schema.required))
  const own = {
    optional: names.filter((name) => !required.has(name)).length,
    unions: Array.isArray(schema.type) || Array.isArray(schema.anyOf) ? 1 : 0,
    all: names.length + arrayOf(schema.enum).length
  }
  return below(schema).reduce<Size>((sum, inner) => plus(sum, sizeOf(objectOf(inner))), own)
}

/** Checks the schemas of a request together. `strict` is how many of its tools have one. */
export const checkCompiled = (schemas: ReadonlyArray<JsonObject>, strict: number): void => {
  const { optional, unions, all } = schemas.map(sizeOf).reduce(plus, nothing)
  const slow = "which would make grammar compilation inefficient"
  insist({
    [`Too many strict tools (${strict}). The maximum number of strict tools supported is 20.`]: strict <= 20,
    [`Schemas contains too many optional parameters (${optional}), ${slow}. Reduce the number of optional parameters in your tool schemas (limit: 24).`]:
      optional <= 24,
    [`Schemas contains too many parameters with union types (${unions} parameters with type arrays or anyOf), ${slow}. Reduce the number of union-typed parameters in your tool schemas (limit: 16).`]:
      unions <= 16,
    "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.":
      all <= MOST
  })
}
