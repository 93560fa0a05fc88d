/**
 * Structured output: the vendor's own where the deployment takes it, else an instruction
 * (docs/decisions.md#structured-output, docs/upstreams.md#structured-output-of-claude).
 */
import { Graph } from "effect"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import { drops, type Strip } from "../../wire/strip.ts"
import { pointedAt } from "../flatParameters.ts"
import { maps, valueKeywords } from "../schemaKeywords.ts"

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

/** Levels of a schema that are looked into. */
const maxDepth = 64

/** What all schemas of a request may have together; beyond it the vendor refuses to compile them. */
const limits = { strictTools: 20, optional: 24, unions: 16 }

/** What the schemas that are enforced have so far. */
export type Used = typeof limits

/**
 * Whether the vendor is to enforce one more schema of a request: it can (objects are closed, nothing refers to itself, no keyword is
 * outside its subset), and all of them fit the limits. `strictTools`: 1 for the schema of a tool.
 */
export const enforces = (used: Used, schema: JsonObject, strictTools: 0 | 1 = 0): boolean => {
  const nested = schemasIn(schema)
  const schemas = nested.map(({ schema }) => schema)
  if (nested.some(({ level }) => level > maxDepth)) return false
  if (!schemas.every(isClosed) || !canRefer(schema, schemas)) return false
  const sum = {
    strictTools: used.strictTools + strictTools,
    optional: schemas.reduce((optional, one) => optional + optionalIn(one), used.optional),
    unions: used.unions + schemas.filter(isUnion).length
  }
  const fits = sum.strictTools <= limits.strictTools && sum.optional <= limits.optional && sum.unions <= limits.unions
  if (fits) Object.assign(used, sum)
  return fits
}

/** A schema and those inside of it, each with its level of nesting; those of a definition come once. */
const schemasIn = (root: JsonObject) => {
  const open: Array<{ readonly value: Json; readonly level: number }> = [{ value: root, level: 0 }]
  for (const { value, level } of open)
    for (const inner of insideOf(value)) open.push({ value: inner, level: level + 1 })
  return open.flatMap(({ value, level }) => (isObject(value) ? [{ schema: value, level }] : []))
}

const insideOf = (value: Json): ReadonlyArray<Json> => {
  if (Array.isArray(value)) return value
  return Object.entries(objectOf(value)).flatMap(([keyword, inner]) => {
    if (valueKeywords.has(keyword)) return []
    return maps.has(keyword) && isObject(inner) ? Object.values(inner) : [inner]
  })
}

/** How many properties may be missing. */
const optionalIn = ({ properties, required }: JsonObject): number => {
  const needed = new Set(arrayOf(required))
  return Object.keys(objectOf(properties)).filter((name) => !needed.has(name)).length
}

const isUnion = ({ anyOf, type }: JsonObject): boolean => Array.isArray(anyOf) || Array.isArray(type)

const isOfObjects = ({ properties, type }: JsonObject): boolean =>
  type === "object" || properties !== undefined || arrayOf(type).includes("object")

/** Of a schema itself, and not of those inside of it. */
const isClosed = (schema: JsonObject): boolean => {
  if (isOfObjects(schema) && schema.additionalProperties !== false) return false
  return Object.entries(schema).every(([keyword, value]) => {
    if (refused.has(keyword)) return false
    if (keyword === "minItems") return value === 0 || value === 1
    if (keyword === "format") return formats.has(value)
    if (keyword === "allOf") return !arrayOf(value).some((part) => isObject(part) && "$ref" in part)
    return keyword !== "enum" || (Array.isArray(value) && value.every(isScalar))
  })
}

/** Whether all references of the schemas lead to definitions of the root, and none of these to itself, directly or through others. */
const canRefer = (root: JsonObject, schemas: ReadonlyArray<JsonObject>): boolean => {
  const definitions = [root.$defs, root.definitions].flatMap((map) => Object.values(objectOf(map)).filter(isObject))
  const targetOf = ({ $ref }: JsonObject) => pointedAt(root, textOf($ref) ?? "")
  const nodes = new Map<JsonObject | undefined, number>()
  const graph = Graph.directed<null, null>((mutable) => {
    for (const definition of definitions) nodes.set(definition, Graph.addNode(mutable, null))
    for (const definition of definitions) {
      const from = nodes.get(definition)
      for (const { schema } of schemasIn(definition)) {
        const to = nodes.get(targetOf(schema))
        if (from !== undefined && to !== undefined) Graph.addEdge(mutable, from, to, null)
      }
    }
  })
  return schemas.every((schema) => !("$ref" in schema) || nodes.has(targetOf(schema))) && Graph.isAcyclic(graph)
}
