/**
 * Structured output: the vendor's own where the deployment takes it, else an instruction
 * (docs/decisions.md#structured-output, docs/upstreams.md#structured-output-of-claude).
 */

import { Graph } from "effect"
import { arrayOf, isObject, type Json, type JsonObject, objectOf } from "../../wire/json.ts"
import { drops, type Strip } from "../../wire/strip.ts"

/** Whether the deployment takes `output_config.format`. */
export const takesFormat = (strip: Strip): boolean => !drops(strip, "output_config.format")

/** Keywords at which the vendor refuses a schema that it is to enforce. */
const refused: ReadonlySet<string> = new Set([
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "pattern", "maxItems", "uniqueItems", "contains", "prefixItems"],
  ...["minProperties", "maxProperties", "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas"],
  ...["oneOf", "not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems"]
])
/** Formats of strings that are enforced. */
const formats: ReadonlySet<unknown> = new Set([
  ...["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]
])
const isScalar = (value: Json): boolean => typeof value !== "object" || value === null
const maps: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"])
/** Keywords whose values are no schemas. */
const values: ReadonlySet<string> = new Set(["enum", "const", "default", "required", "examples"])

/** The references that are followed. */
const definition = /^#\/(?:\$defs|definitions)\/[^/]+$/

/** Levels of a schema that are looked into. */
const maxDepth = 64

/** What all schemas of a request may have together; beyond it the vendor refuses to compile them. */
const limits = { strictTools: 20, optional: 24, unions: 16 }

/** What the schemas that are enforced have so far. */
export interface Used {
  strictTools: number
  optional: number
  unions: number
}

/**
 * Whether the vendor is to enforce one more schema of a request: it can (objects are closed, nothing refers to itself, no keyword is
 * outside its subset), and all of them fit the limits. `strictTools`: 1 for the schema of a tool.
 */
export const enforces = (used: Used, schema: JsonObject, strictTools: 0 | 1 = 0): boolean => {
  if (!isClosed(schema, 0) || isRecursive(schema)) return false
  const { optional, unions } = sizeOf(schema)
  const sum = {
    strictTools: used.strictTools + strictTools,
    optional: used.optional + optional,
    unions: used.unions + unions
  }
  const fits = sum.strictTools <= limits.strictTools && sum.optional <= limits.optional && sum.unions <= limits.unions
  if (fits) Object.assign(used, sum)
  return fits
}

/** How many properties may be missing, and how many schemas have several types; those of a definition count once. */
const sizeOf = (schema: Json): { readonly optional: number; readonly unions: number } => {
  let [optional, unions] = [0, 0]
  const open: Array<Json> = [schema]
  for (const one of open) {
    if (Array.isArray(one)) for (const inner of one) open.push(inner)
    if (!isObject(one)) continue
    const { anyOf, properties, required, type } = one
    const needed = new Set(arrayOf(required))
    optional += Object.keys(objectOf(properties)).filter((name) => !needed.has(name)).length
    if (Array.isArray(anyOf) || Array.isArray(type)) unions++
    for (const [keyword, value] of Object.entries(one)) {
      if (values.has(keyword)) continue
      if (maps.has(keyword)) for (const inner of Object.values(objectOf(value))) open.push(inner)
      else open.push(value)
    }
  }
  return { optional, unions }
}

const isOfObjects = ({ properties, type }: JsonObject): boolean =>
  type === "object" || properties !== undefined || arrayOf(type).includes("object")

const isClosed = (schema: Json, depth: number): boolean => {
  if (Array.isArray(schema)) return schema.every((item) => isClosed(item, depth + 1))
  if (!isObject(schema)) return true
  if (depth > maxDepth) return false
  if (isOfObjects(schema) && schema.additionalProperties !== false) return false
  return Object.entries(schema).every(([keyword, value]) => {
    if (refused.has(keyword)) return false
    if (keyword === "minItems") return value === 0 || value === 1
    if (keyword === "format") return formats.has(value)
    if (keyword === "allOf" && arrayOf(value).some((part) => isObject(part) && "$ref" in part)) return false
    if (keyword === "enum") return Array.isArray(value) && value.every(isScalar)
    if (keyword === "$ref") return typeof value === "string" && definition.test(value)
    if (values.has(keyword)) return true
    return maps.has(keyword) && isObject(value)
      ? Object.values(value).every((inner) => isClosed(inner, depth + 1))
      : isClosed(value, depth + 1)
  })
}

const referencesIn = (schema: Json, found: Set<string>): Set<string> => {
  if (Array.isArray(schema)) for (const item of schema) referencesIn(item, found)
  else if (isObject(schema)) {
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === "$ref" && typeof value === "string") found.add(value)
      else referencesIn(value, found)
    }
  }
  return found
}

/** Whether a definition refers to itself, directly or through others. */
const isRecursive = (schema: JsonObject): boolean => {
  const references = new Map(
    ["$defs", "definitions"].flatMap((map) =>
      Object.entries(objectOf(schema[map])).map(([name, inner]): [string, Set<string>] => [
        `#/${map}/${name}`,
        referencesIn(inner, new Set())
      ])
    )
  )
  const graph = Graph.directed<string, null>((mutable) => {
    const nodes = new Map(Array.from(references.keys(), (name) => [name, Graph.addNode(mutable, name)]))
    for (const [name, node] of nodes) {
      for (const other of references.get(name) ?? []) {
        const to = nodes.get(other)
        if (to !== undefined) Graph.addEdge(mutable, node, to, null)
      }
    }
  })
  return !Graph.isAcyclic(graph)
}
