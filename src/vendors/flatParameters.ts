/**
 * Parameters of a tool that combine schemas at the root, for Anthropic and OpenAI, which take none there
 * (docs/upstreams.md#combined-parameters): the branches become one list of properties (docs/decisions.md#combined-parameters).
 */
import { isDeepStrictEqual } from "node:util"
import { fragmentOf } from "../governance/toolSchema.ts"
import { getOrInsert } from "../wire/getOrInsert.ts"
import { arrayOf, compact, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { readWrittenObject } from "../wire/parse.ts"
import { jsonText } from "../wire/print.ts"

export const combining = ["allOf", "anyOf", "oneOf"] as const
/** Branches within branches that are read. */
const maxDepth = 64
/** Names that are counted again for parts that are referred to again. */
const maxRepeated = 100_000
const none: ReadonlySet<string> = new Set()

/** What a reference of the form `#/$defs/Name` points at, read as the screen reads it: what it has not seen is not sent. */
export const pointedAt = (schema: JsonObject, reference: string): JsonObject | undefined => {
  const fragment = fragmentOf(reference)
  if (fragment === undefined || !/^(?:\/|$)/.test(fragment)) return undefined
  let at: Json | undefined = schema
  for (const name of fragment.split("/").slice(1)) {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~")
    at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return isObject(at) ? at : undefined
}

/** The names that are in all sets, in time linear in their sizes: a name is looked for until the first set without it. */
const common = ([first = none, ...others]: ReadonlyArray<ReadonlySet<string>>): ReadonlyArray<string> =>
  [...first].filter((name) => others.every((set) => set.has(name)))

/** References into the branches. */
const intoBranches = /"\$ref":"#\/(?=(?:allOf|anyOf|oneOf)\/)/g

/** The parameters with the branches as a definition, to which the references into them lead; undefined where there are none. */
const withDefinition = (flat: JsonObject, branches: JsonObject): JsonObject | undefined => {
  const definitions = objectOf(flat.$defs)
  let name = "branches"
  while (name in definitions) name += "_"
  const text = jsonText({ ...flat, $defs: { [name]: branches, ...definitions } })
  const moved = text.replace(intoBranches, () => `"$ref":"#/$defs/${name}/`)
  return moved === text ? undefined : readWrittenObject(moved)
}

/** The parameters with the properties of all branches at the root, and what every branch requires. */
export const flatParameters = (root: JsonObject): JsonObject => {
  const found = new Map<string, Array<Json>>()
  /** What each part requires: it is read once, however often it is referred to. */
  const known = new Map<JsonObject, ReadonlySet<string>>()
  let repeated = 0
  /** Collects the properties, and returns which of them are required. */
  const read = (schema: JsonObject, depth: number): ReadonlySet<string> => {
    const before = known.get(schema)
    if (before !== undefined) {
      repeated += before.size
      return repeated > maxRepeated ? none : before
    }
    if (depth > maxDepth) return none
    const required = new Set(arrayOf(schema.required).flatMap((name) => textOf(name) ?? []))
    // Of a part that refers to itself.
    known.set(schema, none)
    for (const [name, property] of Object.entries(objectOf(schema.properties))) {
      const others = getOrInsert(found, name, () => [])
      if (!isDeepStrictEqual(others.at(-1), property)) others.push(property)
    }
    const target = pointedAt(root, textOf(schema.$ref) ?? "")
    if (target !== undefined) for (const name of read(target, depth + 1)) required.add(name)
    for (const keyword of combining) {
      const branches = arrayOf(schema[keyword]).map((branch) => read(objectOf(branch), depth + 1))
      const names = keyword === "allOf" ? branches.flatMap((branch) => [...branch]) : common(branches)
      for (const name of names) required.add(name)
    }
    known.set(schema, required)
    return required
  }
  const required = read(root, 0)
  const described = Array.from(found, ([name, [first = true, ...others]]): [string, Json] => [
    name,
    others.length === 0 ? first : { anyOf: [first, ...others] }
  ])
  const { allOf, anyOf, oneOf, ...rest } = root
  const flat = {
    ...rest,
    // What the root says of a property holds in every branch.
    properties: { ...Object.fromEntries(described), ...objectOf(root.properties) },
    ...(required.size > 0 ? { required: [...required] } : {})
  }
  return withDefinition(flat, compact({ allOf, anyOf, oneOf })) ?? flat
}
