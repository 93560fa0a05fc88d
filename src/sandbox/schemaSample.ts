/** A value that a JSON Schema accepts, made from the prompt. */
import { arrayOf, isObject, type Json, type JsonObject, numberOf, objectOf, stringOf } from "./json.ts"
import { patternSample } from "./patternSample.ts"
import { beginning } from "./tokens.ts"

/** Capitalised words, but for those that begin a sentence, and the format that is asked for. */
const NAME = /(?<!^|[.?!:]\s{1,2}|\p{L})(?!JSON\b)\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]*)*/gu

export const allIn = (text: string, pattern: RegExp): Array<string> =>
  [...text.matchAll(pattern)].map(([whole, group]) => group ?? whole)

const isDate = (text: string): boolean => {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

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
    date: all(/\b\d{4}-\d{2}-\d{2}\b/g).find(isDate),
    /** Values that may still be made: a schema that refers to itself in many places has no end. */
    left: 5000,
    /** Characters of schemas that may still be read again where they are referred to, and of texts that may still be made. */
    work: 1_000_000
  }
}
type Finds = ReturnType<typeof finds>

/** The longest string and list that are made for a `minLength` or `minItems`. */
const MAX_LENGTH = 64 * 1024
const MAX_ITEMS = 1000
/** Characters of a regular expression that is read. */
const MAX_PATTERN = 500

const sampleString = (schema: JsonObject, name: string, found: Finds): string => {
  const { url, email, date = "2026-01-31", quoted, names, prompt } = found
  const least = Math.min(numberOf(schema.minLength) ?? 0, MAX_LENGTH)
  const { pattern } = schema
  if (typeof pattern === "string" && pattern.length <= MAX_PATTERN) {
    const matching = patternSample(pattern, least)
    found.work -= 20 * pattern.length + (matching?.length ?? 0)
    if (matching !== undefined) return matching
  }
  const formats = Object.entries({
    date,
    time: "12:00:00Z",
    "date-time": `${date}T12:00:00Z`,
    duration: "P1D",
    email: email ?? "someone@example.gov",
    hostname: "www.example.gov",
    uri: url ?? "urn:example:sandbox",
    uuid: "00000000-0000-4000-8000-000000000000",
    ipv4: "192.0.2.1",
    ipv6: "2001:db8::1"
  })
  const format = formats.find(([name]) => name === schema.format)?.[1]
  if (format !== undefined) return format
  const hint = `${name} ${stringOf(schema.description)}`.toLowerCase()
  const hinted = [
    /\b(?:url|uri|link|endpoint)\b/.test(hint) && url,
    /\be-?mail|recipient\b/.test(hint) && email,
    /\b(?:date|day)\b/.test(hint) && found.date,
    quoted.length === 0 && /quer|question|prompt|search|text|task/.test(hint) && prompt
  ].find((text) => typeof text === "string")
  const text = (hinted ?? quoted.shift() ?? names.shift() ?? prompt) || name || "sandbox"
  const characters = Array.from(text).slice(0, numberOf(schema.maxLength) ?? MAX_LENGTH)
  const long = characters.join("") + "x".repeat(Math.max(0, least - characters.length))
  found.work -= long.length
  return long
}

/** The number that the prompt has next, or one that the bounds take. */
const sampleNumber = (schema: JsonObject, { numbers }: Finds, isWhole: boolean): number => {
  const bound = (name: string, otherwise: number) => numberOf(schema[name]) ?? otherwise
  const [above, below] = [bound("exclusiveMinimum", -Infinity), bound("exclusiveMaximum", Infinity)]
  const [low, high] = [Math.max(bound("minimum", above), above), Math.min(bound("maximum", below), below)]
  const multiple = bound("multipleOf", 1)
  const step = isWhole ? Math.ceil(multiple) : multiple
  const takes = (value: number) =>
    (isWhole ? Number.isInteger(value) : Number.isFinite(value)) &&
    value > above &&
    value >= low &&
    value < below &&
    value <= high &&
    (schema.multipleOf === undefined || Number.isInteger(value / multiple))
  const wanted = numbers.shift() ?? 1
  const clamped = Math.min(Math.max(wanted, low), high)
  const nearest = Math.round(clamped / step) * step
  return [wanted, clamped, nearest, nearest + step, nearest - step, (low + high) / 2].find(takes) ?? wanted
}

const typeOf = ({ type: declared, properties, prefixItems, items = prefixItems }: JsonObject): string => {
  const type = Array.isArray(declared) ? declared.find((one) => one !== "null") : declared
  if (typeof type === "string") return type.toLowerCase()
  if (properties !== undefined) return "object"
  return items === undefined ? "string" : "array"
}

const into = (at: Json | undefined, step: string) => objectOf(at)[step.replaceAll("~1", "/").replaceAll("~0", "~")]

/** What a schema refers to. */
const targetOf = ({ $ref }: JsonObject, root: JsonObject, found: Finds): Json | undefined => {
  const target = typeof $ref === "string" ? $ref.split("/").slice(1).reduce<Json | undefined>(into, root) : undefined
  if (target !== undefined) found.work -= JSON.stringify(target).length
  return target
}

/** Values within each other. From `LEAN` on only what a schema demands is made, so that one that refers to itself ends. */
const [LEAN, DEEPEST] = [5, 12]

const isNull = (schema: Json): boolean => objectOf(schema).type === "null"

/** A schema with what it refers to, one of its branches and its parts. */
const partsOf = (
  given: Json | undefined,
  root: JsonObject,
  found: Finds,
  lean: boolean,
  depth = 0
): ReadonlyArray<JsonObject> => {
  if (depth > DEEPEST || found.work < 0) return []
  const { anyOf, oneOf, allOf, ...own } = objectOf(given)
  const target = targetOf(own, root, found)
  const ends = (branch: Json) => !JSON.stringify(targetOf(objectOf(branch), root, found) ?? branch).includes('"$ref"')
  const branches = [anyOf, oneOf].map((list) => {
    const all = arrayOf(list)
    const others = all.filter((one) => !isNull(one))
    return lean ? (all.find(isNull) ?? others.find(ends)) : (others[0] ?? all[0])
  })
  const others = [target, ...branches, ...arrayOf(allOf)].filter((inner) => inner !== undefined)
  return [own, ...others.flatMap((inner) => partsOf(inner, root, found, lean, depth + 1))]
}

/** Later ones go over earlier ones, but all have their properties. */
const joined = (parts: ReadonlyArray<JsonObject>): JsonObject => {
  const all = (objects: ReadonlyArray<JsonObject>) => Object.fromEntries(objects.flatMap((one) => Object.entries(one)))
  const described = parts.flatMap(({ properties }) => (isObject(properties) ? [properties] : []))
  const properties = described.length > 0 && { properties: all(described) }
  return { ...all(parts), ...properties, required: parts.flatMap(({ required }) => arrayOf(required)) }
}

const sample = (given: Json | undefined, name: string, root: JsonObject, found: Finds, depth: number): Json => {
  if (depth > DEEPEST || found.left-- <= 0 || found.work < 0) return null
  if (!isObject(given)) return found.prompt
  const lean = depth > LEAN
  const deeper = (inner: Json | undefined, as = name) => sample(inner, as, root, found, depth + 1)
  const node = joined(partsOf(given, root, found, lean))
  if (node.const !== undefined) return node.const
  const values = arrayOf(node.enum)
  if (values.length > 0) {
    const lower = found.prompt.toLowerCase()
    return values.find((value) => typeof value === "string" && lower.includes(value.toLowerCase())) ?? values[0] ?? null
  }
  if (lean && (node.nullable === true || arrayOf(node.type).includes("null"))) return null
  switch (typeOf(node)) {
    case "object": {
      const required = new Set(arrayOf(node.required).map(stringOf))
      const properties = objectOf(node.properties)
      const known = [...new Set([...required, ...Object.keys(properties)])]
      // An empty object would be of no use to a caller.
      const useful = required.size > 0 || lean ? required.size : known.length
      const free = known.length === 0 && isObject(node.additionalProperties) && !lean ? 1 : 0
      const count = Math.max(useful, Math.min(numberOf(node.minProperties) ?? free, MAX_ITEMS))
      const more = Array.from({ length: Math.max(count - known.length, 0) }, (_, at) => `key${at + 1}`)
      const wanted = [...known, ...more].slice(0, count)
      return Object.fromEntries(wanted.map((key) => [key, deeper(properties[key] ?? node.additionalProperties, key)]))
    }
    case "array": {
      const first = arrayOf(node.prefixItems ?? node.items)
      const length = Math.max(numberOf(node.minItems) ?? (lean ? 0 : 1), first.length)
      const most = Math.min(numberOf(node.maxItems) ?? MAX_ITEMS, MAX_ITEMS)
      return Array.from({ length: Math.min(length, most) }, (_, at) => deeper(first[at] ?? node.items))
    }
    case "integer":
      return sampleNumber(node, found, true)
    case "number":
      return sampleNumber(node, found, false)
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
