/** A value that a JSON Schema accepts, made from the prompt. */
import { arrayOf, isObject, type Json, type JsonObject, numberOf, objectOf, stringOf } from "./json.ts"
import { beginning } from "./tokens.ts"

/** Capitalised words, but for those that begin a sentence. */
const NAME = /(?<!^|[.?!:]\s{1,2})\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]*)*/gu

const allIn = (text: string, pattern: RegExp): Array<string> =>
  [...text.matchAll(pattern)].map(([whole, group]) => group ?? whole)

/** Values in a prompt. Quoted text, names and numbers are used once each. */
const finds = (prompt: string) => {
  const all = (pattern: RegExp) => allIn(prompt, pattern)
  return {
    prompt,
    quoted: all(/["“`]([^"”`]{1,200})["”`]/g),
    names: all(NAME),
    numbers: all(/(?<![\w-])-?\d+(?:\.\d+)?(?![\w-])/g).map(Number),
    url: all(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi)[0],
    email: all(/[\w.+-]+@[\w-]+\.[\w.]+\w/g)[0],
    date: all(/\b\d{4}-\d{2}-\d{2}\b/g)[0],
    /** Values that may still be made: a schema that refers to itself in many places has no end. */
    left: 5000,
    /** Characters of schemas that may still be read again where they are referred to, and of texts that may still be made. */
    work: 1_000_000
  }
}
type Finds = ReturnType<typeof finds>

/** The longest string for a `minLength`, in characters. */
const MAX_LENGTH = 64 * 1024

const sampleString = (schema: JsonObject, name: string, found: Finds): string => {
  const { url, email, date = "2026-01-31", quoted, names, prompt } = found
  const formats = Object.entries({
    date,
    time: "12:00:00Z",
    "date-time": `${date}T12:00:00Z`,
    email: email ?? "someone@example.gov",
    uri: url ?? "urn:example:sandbox",
    uuid: "00000000-0000-4000-8000-000000000000",
    ipv4: "192.0.2.1"
  })
  const format = formats.find(([name]) => name === schema.format)?.[1]
  if (format !== undefined) return format
  const hint = `${name} ${stringOf(schema.description)}`.toLowerCase()
  if (url !== undefined && /\b(?:url|uri|link|endpoint)\b/.test(hint)) return url
  if (email !== undefined && /\be-?mail|recipient\b/.test(hint)) return email
  if (found.date !== undefined && /\b(?:date|day)\b/.test(hint)) return date
  const asks = /quer|question|prompt|search|text|task/.test(hint)
  const text = quoted.shift() ?? (asks ? prompt : names.shift()) ?? prompt
  const long = text.padEnd(Math.min(numberOf(schema.minLength) ?? 0, MAX_LENGTH), "x")
  found.work -= long.length
  return beginning(long, numberOf(schema.maxLength) ?? MAX_LENGTH) || name || "sandbox"
}

const sampleNumber = ({ minimum, maximum }: JsonObject, { numbers }: Finds): number => {
  const low = numberOf(minimum) ?? Number.MIN_SAFE_INTEGER
  return Math.min(Math.max(numbers.shift() ?? 1, low), numberOf(maximum) ?? Number.MAX_SAFE_INTEGER)
}

const typeOf = ({ type: declared, properties, prefixItems, items = prefixItems }: JsonObject): string => {
  const type = Array.isArray(declared) ? declared.find((one) => one !== "null") : declared
  if (typeof type === "string") return type.toLowerCase()
  if (properties !== undefined) return "object"
  return items === undefined ? "string" : "array"
}

const into = (at: Json | undefined, step: string) => objectOf(at)[step.replaceAll("~1", "/").replaceAll("~0", "~")]

/** A schema with what it refers to, its first branches and its parts. */
const partsOf = (given: Json | undefined, root: JsonObject, found: Finds, depth = 0): ReadonlyArray<JsonObject> => {
  if (depth > 12 || found.work < 0) return []
  const { $ref, anyOf, oneOf, allOf, ...own } = objectOf(given)
  const steps = typeof $ref === "string" ? $ref.split("/").slice(1) : undefined
  const target = steps?.reduce<Json | undefined>(into, root)
  if (target !== undefined) found.work -= JSON.stringify(target).length
  const branches = [anyOf, oneOf].map((list) => arrayOf(list).find((one) => objectOf(one).type !== "null"))
  const others = [target, ...branches, ...arrayOf(allOf)].filter((inner) => inner !== undefined)
  return [own, ...others.flatMap((inner) => partsOf(inner, root, found, depth + 1))]
}

/** Later ones go over earlier ones, but all have their properties. */
const joined = (parts: ReadonlyArray<JsonObject>): JsonObject => {
  const all = (objects: ReadonlyArray<JsonObject>) => Object.fromEntries(objects.flatMap((one) => Object.entries(one)))
  const described = parts.flatMap(({ properties }) => (isObject(properties) ? [properties] : []))
  const properties = described.length > 0 && { properties: all(described) }
  return { ...all(parts), ...properties, required: parts.flatMap(({ required }) => arrayOf(required)) }
}

const sample = (given: Json | undefined, name: string, root: JsonObject, found: Finds, depth: number): Json => {
  if (depth > 12 || found.left-- <= 0 || found.work < 0) return null
  if (!isObject(given)) return found.prompt
  const deeper = (inner: Json | undefined, as = name) => sample(inner, as, root, found, depth + 1)
  const node = joined(partsOf(given, root, found))
  if (node.const !== undefined) return node.const
  const values = arrayOf(node.enum)
  if (values.length > 0) {
    const lower = found.prompt.toLowerCase()
    return values.find((value) => typeof value === "string" && lower.includes(value.toLowerCase())) ?? values[0] ?? null
  }
  switch (typeOf(node)) {
    case "object": {
      const required = new Set(arrayOf(node.required))
      const all = Object.entries(objectOf(node.properties))
      // Without `required` every property is filled: an empty object would be of no use to a caller.
      const wanted = all.filter(([key]) => required.size === 0 || required.has(key))
      return Object.fromEntries(wanted.map(([key, value]) => [key, deeper(value, key)]))
    }
    case "array": {
      const first = arrayOf(node.prefixItems ?? node.items)
      const length = Math.max(numberOf(node.minItems) ?? 1, first.length, 1)
      const most = Math.min(numberOf(node.maxItems) ?? 20, 20)
      return Array.from({ length: Math.min(length, most) }, (_, at) => deeper(first[at] ?? node.items))
    }
    case "integer":
      return Math.round(sampleNumber(node, found))
    case "number":
      return sampleNumber(node, found)
    case "boolean":
      return node.default ?? true
    case "null":
      return null
    default:
      return typeof node.default === "string" ? node.default : sampleString(node, name, found)
  }
}

/** A value that a JSON Schema accepts, filled from a prompt where that is plausible: "weather in Paris" gives `{"location":"Paris"}`. */
export const schemaSample = (schema: JsonObject, prompt: string): Json =>
  // Some patterns take quadratic time.
  sample(schema, "", schema, finds(beginning(prompt, 2000)), 0)

// The keys that a prompt names for the JSON that it asks for without a schema.

/** Characters of a prompt that are read, and keys of it that are used. */
const READ = 64 * 1024
const MOST = 16

/** `{"city": …}` */
const shown = /["'`](\w[\w-]{0,63})["'`]\s*:/g
/** `keys: name, age`, `the fields "city" and "days"` */
const listed = /\b(?:key|field|propert(?:y|ie))s?\b([^.;:?!\n]{0,20}:)?([^.;?!\n]*)/gi
const quoted = /["'`](\w[\w-]{0,63})["'`]/g
const beforeNames = /^\s*(?:(?:called|named|are|is|must be|should be|the|following|of)\s+)*/i

/** Names at the beginning of a list; a word after a name ends it: `name and age of each person`. */
const namesIn = (list: string): ReadonlyArray<string> => {
  const names: Array<string> = []
  for (const entry of list.replace(beforeNames, "").split(/\s*(?:,|\band\b|\bor\b|&)\s*/)) {
    const [, name, rest = ""] = /^["'`]?([A-Za-z_][\w-]{0,63})["'`]?(.*)$/.exec(entry) ?? []
    if (name !== undefined) names.push(name)
    if (rest.trim() !== "") break
  }
  return names
}

/** In order, each once; none where the prompt names none. */
export const keysIn = (prompt: string): ReadonlyArray<string> => {
  // A run of blanks takes the pattern between names quadratic time.
  const text = prompt.slice(0, READ).replace(/[^\S\n]+/g, " ")
  const inLists = [...text.matchAll(listed)].flatMap(([, , list = ""]) => {
    const bare = namesIn(list)
    const inQuotes = allIn(list, quoted)
    return bare[0] === inQuotes[0] || bare.length === 0 ? inQuotes : bare
  })
  const found = [allIn(text, shown), inLists, allIn(text, quoted)]
  return [...new Set(found.find((keys) => keys.length > 0))].slice(0, MOST)
}
