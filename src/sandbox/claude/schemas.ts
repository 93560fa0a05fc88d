/**
 * Schemas that the model's words are held to: those of `strict` tools and of `output_config.format`. All of a request are compiled
 * together, within the vendor's limits (docs/upstreams.md#structured-output-of-claude).
 */
import { Graph } from "effect"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, stringOf } from "../json.ts"
import { schemasIn } from "../schemas.ts"
import type { Shape } from "../shape.ts"
import { insist } from "./messages.ts"

const unenforced =
  /^(?:minimum|maximum|exclusive\w+|multipleOf|minLength|maxLength|pattern|maxItems|uniqueItems|oneOf|not|if|patternProperties)$/

const within = (given: Json | undefined) => schemasIn(given, ["anyOf", "allOf"]).map(([, schema]) => schema)

const TYPES: ReadonlySet<unknown> = new Set(["array", "boolean", "integer", "null", "number", "object", "string"])

/** What older drafts allow, and what none does. */
const isWrong = ({ type = [], items, required = [], enum: values = [], ...bounds }: JsonObject): boolean =>
  ![type].flat().every((one) => TYPES.has(one)) ||
  Array.isArray(items) ||
  ![required, values].every(Array.isArray) ||
  [bounds.exclusiveMinimum, bounds.exclusiveMaximum].some((bound) => typeof bound === "boolean")

/** Whether every part is of draft 2020-12. */
export const isCurrent = (given: Json | undefined): boolean =>
  !schemasIn(given, ["anyOf", "allOf", "oneOf", "prefixItems"]).some(([, schema]) => isWrong(schema))

/** Formats of strings that can be enforced. */
const FORMATS = /^(?:date-time|time|date|duration|email|hostname|uri|ipv4|ipv6|uuid)$/

const isUnenforced = ([keyword, value]: readonly [string, Json]): boolean =>
  keyword === "format" ? !FORMATS.test(stringOf(value)) : unenforced.test(keyword)

/** Whether a definition, or the whole, refers to itself, directly or through others. */
const isCircular = (given: Json | undefined): boolean => {
  const whole = objectOf(given)
  const parts = Object.entries({ ...objectOf(whole.definitions), ...objectOf(whole.$defs), "#": whole })
  const graph = Graph.directed<string, null>((mutable) => {
    const nodes = new Map(parts.map(([name, schema]) => [name, { schema, at: Graph.addNode(mutable, name) }]))
    for (const { schema, at } of nodes.values()) {
      for (const { $ref } of within(schema)) {
        const target = nodes.get(stringOf($ref).split("/").at(-1) ?? "")
        if (target !== undefined) Graph.addEdge(mutable, at, target.at, null)
      }
    }
  })
  return !Graph.isAcyclic(graph)
}

const isOpen = ({ type, properties, additionalProperties }: JsonObject): boolean =>
  ([type].flat().includes("object") || properties !== undefined) && additionalProperties !== false

/** Closed objects, and only keywords that can be enforced. A refusal names the whole schema, wherever in it the fault is. */
export const enforced: Shape = (given, path) => {
  for (const schema of within(given)) {
    const [wrong] = Object.entries(schema).find(isUnenforced) ?? []
    const referring = arrayOf(schema.allOf).some((part) => isObject(part) && part.$ref !== undefined)
    const rules = {
      "For 'object' type, 'additionalProperties' must be explicitly set to false": !isOpen(schema),
      [`For '${stringOf(schema.type)}' type, property '${wrong}' is not supported`]: wrong === undefined,
      "'allOf' with '$ref' is not supported": !referring
    }
    insist(rules, path)
  }
  insist({ "Invalid schema: Circular reference detected in schema definitions.": !isCircular(given) }, path)
}

/** Properties and values of all schemas of a request; how large a grammar may be is not documented, so this limit is the sandbox's. */
const MOST = 500

/** Checks the schemas of a request together. `strict` is how many of its tools have one. */
export const checkCompiled = (schemas: ReadonlyArray<JsonObject>, strict: number): void => {
  const all = schemas.flatMap(within)
  const sum = (count: (schema: JsonObject, names: ReadonlyArray<string>) => number) =>
    all.reduce((total, schema) => total + count(schema, Object.keys(objectOf(schema.properties))), 0)
  const optional = sum(({ required }, names) => new Set(names).difference(new Set(arrayOf(required))).size)
  const unions = sum(({ type, anyOf }) => (Array.isArray(type) || Array.isArray(anyOf) ? 1 : 0))
  const size = sum((schema, names) => names.length + arrayOf(schema.enum).length)
  insist({
    [`Too many strict tools (${strict}). The maximum number of strict tools supported is 20. Try reducing the number of tools marked as strict.`]:
      strict <= 20,
    [`Schemas contains too many optional parameters (${optional}), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: 24).`]:
      optional <= 24,
    [`Schemas contains too many parameters with union types (${unions} parameters with type arrays or anyOf). This causes exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: 16 parameters with unions).`]:
      unions <= 16,
    "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.":
      size <= MOST
  })
}
