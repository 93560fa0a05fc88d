/** The JSON that a prompt or instructions ask for in words. Models without structured output follow them, too. */
import { isObject, type Json, type JsonObject, readObject, stringOf } from "./json.ts"

/** Characters of a text that are read, and objects in it. Braces without a closing one are few: each takes a look at all that follows. */
const [READ, MOST, MOST_OPEN] = [512 * 1024, 1000, 4]

/** The end of the object that begins at `start`, behind its brace; undefined where it has none. */
const endOf = (text: string, start: number): number | undefined => {
  let depth = 0
  let quoted = false
  for (let at = start; at < text.length; at++) {
    const sign = text[at]
    if (sign === '"') quoted = !quoted
    else if (quoted) at += sign === "\\" ? 1 : 0
    else if (sign === "{") depth++
    else if (sign === "}" && --depth === 0) return at + 1
  }
  return undefined
}

/** The JSON objects in a text, but for those within others, with their places. */
const placesIn = (given: string) => {
  const text = given.slice(0, READ)
  const found: Array<{ readonly object: JsonObject; readonly start: number; readonly end: number }> = []
  let open = 0
  let tried = 0
  for (let start = text.indexOf("{"); start >= 0 && open < MOST_OPEN && tried < MOST; tried++) {
    const end = endOf(text, start)
    const object = readObject(text.slice(start, end ?? start))
    if (object !== undefined && end !== undefined) found.push({ object, start, end })
    if (end === undefined) open++
    start = text.indexOf("{", end ?? start + 1)
  }
  return found
}

const objectsIn = (text: string): ReadonlyArray<JsonObject> => placesIn(text).map(({ object }) => object)

const TYPES: ReadonlySet<unknown> = new Set("string number integer boolean array object null".split(" "))
const isSchema = ({ type, properties, ...others }: JsonObject): boolean =>
  TYPES.has(type) ||
  Array.isArray(type) ||
  isObject(properties) ||
  ["$ref", "anyOf", "oneOf", "allOf", "enum", "const"].some((keyword) => keyword in others)

const SCHEMA =
  /\b(?:accord|adher|compatible|conform|follow|match|satisf)\w*\b[^.{}]{0,50}(?<![a-z])schema\b|\bjson schema to follow\b/i
/** An order, rather than a word about what else takes or gives JSON, such as "return JSON from the endpoint". */
const ONLY = new RegExp(
  [
    /(?:^|[.!?:]\s+)(?:please )?(?:answer|output|reply|respond|return) (?:with |in |as )?(?:one |an? )?(?:single |valid )?JSON(?: object| value| array)?(?=\W*$|[^\w\s]| (?:and|as|in|like|only|that|with)\b)/,
    /(?<!\b(?:accept|\w{2,}s) )\bonly (?:with )?(?:one |an? |the )?(?:single |valid |raw )*JSON\b/,
    /(?<!\b(?:accept|\w{2,}s) )\bJSON(?: object)? only\b/
  ]
    .map(({ source }) => source)
    .join("|"),
  "im"
)

/** A schema, or any object; undefined where no JSON is asked for. */
export const jsonAsked = (text: string): JsonObject | "json" | undefined => {
  const asked = SCHEMA.exec(text)
  // An explanation of schemas may come before the one that is meant.
  const schema = asked === null ? undefined : objectsIn(text.slice(asked.index)).findLast(isSchema)
  return schema ?? (ONLY.test(text) ? "json" : undefined)
}

/** The schema of an object in a text that asks for JSON, whatever it says of it. */
export const schemaIn = (text: string): JsonObject | undefined =>
  objectsIn(text).findLast(({ type, properties }) => type === "object" && isObject(properties))

/** A text without its schemas, whose words are not what it is about. */
export const withoutSchemas = (text: string): string => {
  const schemas = placesIn(text).filter(({ object }) => isSchema(object))
  const starts = [0, ...schemas.map(({ end }) => end)]
  return starts.map((from, at) => text.slice(from, schemas[at]?.start)).join("")
}

/** Whether it is to stand in a block of code. */
export const wantsFence = (text: string): boolean =>
  /```json|\bcode ?block\b/i.test(text) && !/\b(?:no|without) (?:any )?(?:markdown|fences)\b/i.test(text)

/** A word of an example that stands for itself, such as one of a few, rather than for what an answer may say. */
const isWord = (text: string): boolean => /^[a-z\d][a-z\d_.-]*$/.test(text) && text !== "string"

const schemaOf = (example: Json): JsonObject => {
  if (Array.isArray(example)) {
    const [first] = example
    return { type: "array", ...(first === undefined ? { maxItems: 0 } : { items: schemaOf(first) }) }
  }
  if (isObject(example)) {
    const properties = Object.entries(example).map(([name, value]) => [name, schemaOf(value)] as const)
    return { type: "object", properties: Object.fromEntries(properties), required: Object.keys(example) }
  }
  if (typeof example === "boolean" || example === null || isWord(stringOf(example))) return { const: example }
  return { type: Number.isInteger(example) ? "integer" : typeof example }
}

/** The schema of the examples in a text: of those that are like the last, the one that shows the most. */
export const exampleIn = (text: string): JsonObject | undefined => {
  const keysOf = (object: JsonObject) => Object.keys(object).join()
  const all = objectsIn(text).filter((object) => Object.keys(object).length > 0)
  const alike = all.filter((object) => keysOf(object) === keysOf(all.at(-1) ?? {}))
  const [fullest] = alike
    .map((object) => ({ object, size: JSON.stringify(object).length }))
    .sort((a, b) => b.size - a.size)
  return fullest && schemaOf(fullest.object)
}
