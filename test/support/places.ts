/** Every list and every map that the document gives a request, with bodies that hold many of something there. */
import { contract } from "./contract.ts"
import type { JsonSchema } from "./jsonSchema.ts"

type Value = unknown
/** A body around a value at the place. */
type Around = (value: Value) => Value

export interface Place {
  readonly name: string
  /** A body that holds so many there. */
  readonly body: (count: number) => Value
}

const schemaOf = (value: unknown): JsonSchema => Object(value)
const resolved = (schema: JsonSchema): JsonSchema =>
  typeof schema.$ref === "string"
    ? schemaOf(contract.components.schemas[schema.$ref.slice("#/components/schemas/".length)])
    : schema

/** The kinds of values that a schema takes, each without a choice. */
const kindsOf = (schema: JsonSchema): ReadonlyArray<JsonSchema> => {
  const own = resolved(schema)
  return Array.isArray(own.anyOf) ? own.anyOf.flatMap((inner) => kindsOf(schemaOf(inner))) : [own]
}

/** The least that a kind takes. */
const least = (kind: JsonSchema): Value => {
  if (Array.isArray(kind.enum)) return kind.enum[0]
  switch (kind.type) {
    case "object": {
      const required = Array.isArray(kind.required) ? kind.required.map(String) : []
      const properties = schemaOf(kind.properties)
      return Object.fromEntries(required.map((name) => [name, leastOf(schemaOf(properties[name]))]))
    }
    case "array":
      return Array.from({ length: Number(kind.minItems ?? 0) }, () => leastOf(schemaOf(kind.items)))
    case "string":
      return Array.isArray(kind.examples) ? kind.examples[0] : "x"
    case "integer":
    case "number":
      return Array.isArray(kind.examples) ? kind.examples[0] : 1
    case "boolean":
      return true
    default:
      return null
  }
}
const leastOf = (schema: JsonSchema): Value => {
  const [first] = kindsOf(schema)
  return first === undefined ? null : least(first)
}

/** A message of each role that it may have. */
const eachRole = (kind: JsonSchema): ReadonlyArray<Value> => {
  const { role } = schemaOf(kind.properties)
  const roles = role === undefined ? undefined : resolved(schemaOf(role)).enum
  const own = least(kind)
  return Array.isArray(roles) ? roles.map((one) => ({ ...Object(own), role: one })) : [own]
}

const nameOf = (value: Value): string => {
  const { role, type } = Object(value)
  return typeof value === "object" ? String(role ?? type ?? "object") : typeof value
}

const fill = <A>(count: number, make: (at: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, at) => make(at))

/** Deepest nesting of places: results of tools hold blocks, which hold blocks. */
const deepest = 9

const placesIn = (schema: JsonSchema, name: string, around: Around, depth: number): ReadonlyArray<Place> =>
  depth > deepest ? [] : kindsOf(schema).flatMap((kind) => placesOf(kind, name, around, depth))

const placesOf = (kind: JsonSchema, name: string, around: Around, depth: number): ReadonlyArray<Place> => {
  if (kind.type === "array") {
    const items = kindsOf(schemaOf(kind.items)).flatMap(eachRole)
    const [first = null] = items
    const before = name.endsWith(".messages") ? items : [first]
    return [
      ...items.flatMap((item) =>
        before.map((one) => ({
          name: `${name}: ${nameOf(one)}, then ${nameOf(item)}`,
          body: (count: number) => around([one, ...fill(count, () => item)])
        }))
      ),
      { name: `${name}: of another kind`, body: (count) => around(fill(count, () => null)) },
      { name: `${name}: in turn`, body: (count) => around(fill(count, (at) => items[at % items.length])) },
      ...placesIn(schemaOf(kind.items), `${name}[]`, (value) => around([value]), depth + 1)
    ]
  }
  if (kind.type === "object") {
    const own = Object(least(kind))
    const holding = (more: object) => around({ ...own, ...more })
    return [
      {
        name: `${name} (${nameOf(own)}): names`,
        body: (count) => holding(Object.fromEntries(fill(count, (at) => [`k${at}`, 1])))
      },
      ...Object.entries(schemaOf(kind.properties)).flatMap(([field, inner]) =>
        placesIn(schemaOf(inner), `${name}.${field}`, (value) => holding({ [field]: value }), depth + 1)
      )
    ]
  }
  if (kind.type === undefined && kind.enum === undefined && kind.not === undefined) {
    return [
      { name: `${name}: any list`, body: (count) => around(fill(count, () => "x")) },
      { name: `${name}: any map`, body: (count) => around(Object.fromEntries(fill(count, (at) => [`k${at}`, 1]))) }
    ]
  }
  return []
}

/** The places of the requests that are posted to a path. */
export const placesAt = (path: string): ReadonlyArray<Place> => {
  const { requestBody } = Object(contract.paths[path]?.post)
  return placesIn(schemaOf(requestBody.content["application/json"].schema), "", (value) => value, 0)
}
