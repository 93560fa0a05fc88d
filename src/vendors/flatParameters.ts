/**
 * A tool's parameters for Anthropic and OpenAI, which take no combined schema at the root (docs/upstreams.md#combined-parameters): the
 * branches become one list of properties (docs/decisions.md#combined-parameters).
 */
import { isDeepStrictEqual } from "node:util"
import type { Tool } from "../contract/ChatMessage.ts"
import { getOrInsert } from "../wire/getOrInsert.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import type { Adjusted } from "./adjustments.ts"
import { parametersOf } from "./chatRequest.ts"

const combining = ["allOf", "anyOf", "oneOf"] as const
/** Branches within branches that are read. */
const maxDepth = 64
const none: ReadonlySet<string> = new Set()

/** What a reference of the form `#/$defs/Name` points at. */
export const pointedAt = (schema: JsonObject, reference: string): JsonObject | undefined => {
  if (!/^#(?:\/|$)/.test(reference)) return undefined
  let at: Json | undefined = schema
  for (const name of reference.split("/").slice(1)) {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~")
    at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return isObject(at) ? at : undefined
}

/** The names that are in all sets; each set is read once. */
const common = (sets: ReadonlyArray<ReadonlySet<string>>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const set of sets) for (const name of set) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].flatMap(([name, count]) => (count === sets.length ? [name] : []))
}

const flat = (root: JsonObject): JsonObject => {
  const found = new Map<string, Array<Json>>()
  // Each part is read once, however often it is referred to.
  const seen = new Set<JsonObject>()
  /** Collects the properties, and answers which of them are required. */
  const read = (schema: JsonObject, depth: number): ReadonlySet<string> => {
    if (depth > maxDepth || seen.has(schema)) return none
    seen.add(schema)
    for (const [name, property] of Object.entries(objectOf(schema.properties))) {
      const known = getOrInsert(found, name, () => [])
      if (!isDeepStrictEqual(known.at(-1), property)) known.push(property)
    }
    const required = new Set(arrayOf(schema.required).flatMap((name) => textOf(name) ?? []))
    const target = pointedAt(root, textOf(schema.$ref) ?? "")
    if (target !== undefined) for (const name of read(target, depth + 1)) required.add(name)
    for (const keyword of combining) {
      const branches = arrayOf(schema[keyword]).map((branch) => read(objectOf(branch), depth + 1))
      const names = keyword === "allOf" ? branches.flatMap((branch) => [...branch]) : common(branches)
      for (const name of names) required.add(name)
    }
    return required
  }
  const required = read(root, 0)
  const described = Array.from(found, ([name, [first = true, ...others]]): [string, Json] => [
    name,
    others.length === 0 ? first : { anyOf: [first, ...others] }
  ])
  const { allOf: _, anyOf: __, oneOf: ___, ...rest } = root
  return {
    ...rest,
    // What the root says of a property holds in every branch.
    properties: { ...Object.fromEntries(described), ...objectOf(root.properties) },
    ...(required.size > 0 ? { required: [...required] } : {})
  }
}

/** The parameters with one list of properties at the root, and without these keywords there. What changes is named. */
export const flatParametersOf = (tool: Tool, adjusted: Adjusted, refused: ReadonlyArray<string> = []): JsonObject => {
  const given = parametersOf(tool)
  const combined = combining.filter((keyword) => keyword in given)
  for (const keyword of combined) adjusted.changed("tools.function.parameters", keyword, "properties")
  const schema = combined.length > 0 ? flat(given) : given
  const left = refused.filter((keyword) => keyword in schema)
  if (left.length === 0) return schema
  for (const keyword of left) adjusted.removed(`tools.function.parameters.${keyword}`)
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !left.includes(keyword)))
}

/** What OpenAI takes no more at the root than a combined schema. */
export const openaiRefused = ["enum", "not"]
