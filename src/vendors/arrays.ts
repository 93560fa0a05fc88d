/** Arrays in the parameters of a tool, as Anthropic and OpenAI take them (docs/upstreams.md#arrays-in-parameters). */
import { compact, isObject, type Json, type JsonObject, textOf } from "../wire/json.ts"

const maps: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]
])
/** Keywords whose values are no schemas. */
export const valueKeywords: ReadonlySet<string> = new Set(["enum", "const", "default", "required", "examples"])

type Change = (schema: JsonObject) => JsonObject

/** The fields with other values; the object itself where none differs. */
const mapFields = (fields: JsonObject, other: (value: Json, name: string) => Json): JsonObject => {
  const entries = Object.entries(fields).map(([name, value]) => [name, other(value, name)] as const)
  return entries.every(([name, value]) => value === fields[name]) ? fields : Object.fromEntries(entries)
}

/** A schema with a change in it and in all inside of it. */
const changed = (schema: JsonObject, change: Change): JsonObject => {
  const inside = (value: Json, keyword = ""): Json => {
    if (valueKeywords.has(keyword)) return value
    if (Array.isArray(value)) return value.some(isObject) ? value.map((item) => inside(item)) : value
    if (!isObject(value)) return value
    return maps.has(keyword) ? mapFields(value, (inner) => inside(inner)) : changed(value, change)
  }
  return change(mapFields(schema, inside))
}

/** Tuples of older drafts (`items: […]`) as draft 2020-12 has them, with the references into them. `onTuple` is called for each. */
export const withPrefixItems = (schema: JsonObject, onTuple: () => void): JsonObject =>
  changed(schema, (given) => {
    const { items, additionalItems, $ref: reference, ...rest } = given
    if (reference !== undefined) {
      const moved = textOf(reference)?.replace(/\/items\/(?=\d+(?:\/|$))/g, "/prefixItems/") ?? reference
      return moved === reference ? given : { ...given, $ref: moved }
    }
    if (!Array.isArray(items)) return given
    onTuple()
    return compact({ prefixItems: items.length > 0 ? items : undefined, ...rest, items: additionalItems })
  })

/** Arrays of anything say so. */
export const withItems = (schema: JsonObject): JsonObject =>
  changed(schema, (given) =>
    [given.type].flat().includes("array") && given.items === undefined ? { ...given, items: {} } : given
  )
