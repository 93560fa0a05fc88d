/** Keywords in the parameters of a tool, as Anthropic and OpenAI take them (docs/upstreams.md#arrays-in-parameters). */
import { arrayOf, compact, isObject, type Json, type JsonObject, objectOf, textOf, without } from "../wire/json.ts"

/** Keywords whose values are schemas by their names. */
export const maps: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions"
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
    if (Array.isArray(value)) {
      const items = value.map((item) => inside(item))
      return items.every((item, at) => item === value[at]) ? value : items
    }
    if (!isObject(value)) return value
    return maps.has(keyword) ? mapFields(value, (inner) => inside(inner)) : changed(value, change)
  }
  return change(mapFields(schema, inside))
}

/** Gets a keyword that another takes the place of. */
type OnChange = (from: string, to: string) => void

/**
 * What older drafts say in other keywords, in those of draft 2020-12: tuples (`items: […]`), bounds (`exclusiveMinimum: true`) and
 * properties that say themselves that they are required (`required: true`).
 */
export const withCurrentDraft = (schema: JsonObject, onChange: OnChange): JsonObject => {
  const listed = changed(schema, (given) => withRequired(given, onChange))
  return changed(listed, (given) => withNumbers(withPrefixItems(withoutAbsent(given), onChange), onChange))
}

/** Without keywords that are null, as generators write those that are absent, and without the flag that is in a list. */
const withoutAbsent = (given: JsonObject): JsonObject => {
  const absent = Object.entries(given).flatMap(([keyword, value]) =>
    (value === null && keyword !== "const" && keyword !== "default") ||
    (keyword === "required" && typeof value === "boolean")
      ? [keyword]
      : []
  )
  return absent.length === 0 ? given : without(given, absent)
}

/** The list of those that say so. */
const withRequired = (given: JsonObject, onChange: OnChange): JsonObject => {
  const own = Object.entries(objectOf(given.properties)).flatMap(([name, property]) =>
    objectOf(property).required === true ? [name] : []
  )
  if (own.length === 0) return given
  onChange("properties.required", "required")
  return { ...given, required: [...new Set([...arrayOf(given.required), ...own])] }
}

/** A tuple, or a reference into one. */
const withPrefixItems = (given: JsonObject, onChange: OnChange): JsonObject => {
  const { items, additionalItems, $ref: reference, ...rest } = given
  if (reference !== undefined) {
    const moved = textOf(reference)?.replace(/\/items\/(?=\d+(?:\/|$))/g, "/prefixItems/") ?? reference
    return moved === reference ? given : { ...given, $ref: moved }
  }
  if (!Array.isArray(items)) return given
  onChange("items", "prefixItems")
  return compact({ prefixItems: items.length > 0 ? items : undefined, ...rest, items: additionalItems })
}

/** Bounds that were numbers, and what said that they are exclusive. */
const bounds = [
  ["minimum", "exclusiveMinimum"],
  ["maximum", "exclusiveMaximum"]
] as const

const withNumbers = (given: JsonObject, onChange: OnChange): JsonObject =>
  bounds.reduce((schema, [bound, exclusive]) => {
    const { [bound]: limit, [exclusive]: isExclusive, ...rest } = schema
    if (typeof isExclusive !== "boolean") return schema
    if (isExclusive && limit !== undefined) onChange(bound, exclusive)
    return compact({ ...rest, [isExclusive ? exclusive : bound]: limit })
  }, given)

/** Arrays of anything say so. */
export const withItems = (schema: JsonObject): JsonObject =>
  changed(schema, (given) =>
    [given.type].flat().includes("array") && given.items === undefined ? { ...given, items: {} } : given
  )
