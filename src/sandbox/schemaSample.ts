/** A value that a JSON Schema accepts, made from what was asked. */
import { isObject, type Json, type JsonObject, listOf, objectOf, stringOf } from "./json.ts"

const DEPTH = 12

/** How much of a prompt is looked at: some patterns take quadratic time. */
const PROMPT = 2000

/** What a prompt offers to fill arguments with: quoted text, names, numbers, addresses, dates, and the prompt itself. */
interface Finds {
  readonly prompt: string
  readonly quoted: Array<string>
  readonly names: Array<string>
  readonly numbers: Array<number>
  readonly urls: ReadonlyArray<string>
  readonly emails: ReadonlyArray<string>
  readonly dates: ReadonlyArray<string>
}

const all = (text: string, pattern: RegExp): Array<string> =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? match[0])

const SENTENCE_START =
  /^(?:What|When|Where|Which|Who|Why|How|Is|Are|Do|Does|Can|Could|Would|Should|Please|Tell|Show|Give|Find|Get|Search|Call|Use|Read|Write|Send|Look|Make|Run|Check|The|A|An|I|In|On|My)$/

/** Capitalised words; what begins a sentence may be no name and comes last. */
const namesIn = (prompt: string): Array<string> => {
  const found = [...prompt.matchAll(/\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*)*/gu)].map((match) => {
    const parts = match[0].split(" ")
    const first = match.index === 0 || /[.?!:]\s{1,2}$/.test(prompt.slice(Math.max(0, match.index - 3), match.index))
    return first && parts.length > 1 && SENTENCE_START.test(parts[0] ?? "")
      ? { name: parts.slice(1).join(" "), first: false }
      : { name: match[0], first }
  })
  const names = found.filter(({ name }) => name.length > 1 && !SENTENCE_START.test(name))
  return [...names.filter(({ first }) => !first), ...names.filter(({ first }) => first)].map(({ name }) => name)
}

const finds = (prompt: string): Finds => ({
  prompt,
  quoted: all(prompt, /["“`]([^"”`]{1,200})["”`]/g),
  names: namesIn(prompt),
  numbers: all(prompt, /(?<![\w-])-?\d+(?:\.\d+)?(?![\w-])/g).map(Number),
  urls: all(prompt, /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi),
  emails: all(prompt, /[\w.+-]+@[\w-]+\.[\w.]+\w/g),
  dates: all(prompt, /\b\d{4}-\d{2}-\d{2}\b/g)
})

const formats = (found: Finds): Readonly<Record<string, string>> => ({
  date: found.dates[0] ?? "2026-01-31",
  time: "12:00:00Z",
  "date-time": `${found.dates[0] ?? "2026-01-31"}T12:00:00Z`,
  email: found.emails[0] ?? "someone@example.gov",
  uri: found.urls[0] ?? "urn:example:sandbox",
  uuid: "00000000-0000-4000-8000-000000000000",
  ipv4: "192.0.2.1"
})

const fitted = (text: string, schema: JsonObject): string => {
  const { minLength, maxLength } = schema
  const long = typeof minLength === "number" && text.length < minLength ? text.padEnd(minLength, "x") : text
  return typeof maxLength === "number" ? long.slice(0, maxLength) : long
}

const sampleString = (schema: JsonObject, name: string, found: Finds): string => {
  const format = formats(found)[stringOf(schema.format)]
  if (format !== undefined) return format
  const hint = `${name} ${stringOf(schema.description)}`.toLowerCase()
  if (/\b(?:url|uri|link|endpoint)\b/.test(hint) && found.urls[0] !== undefined) return found.urls[0]
  if (/\be-?mail|recipient\b/.test(hint) && found.emails[0] !== undefined) return found.emails[0]
  if (/\b(?:date|day)\b/.test(hint) && found.dates[0] !== undefined) return found.dates[0]
  const text =
    found.quoted.shift() ?? (/quer|question|prompt|search|text|task/.test(hint) ? found.prompt : found.names.shift())
  return fitted(text ?? found.prompt, schema) || name || "sandbox"
}

const sampleNumber = (schema: JsonObject, found: Finds, whole: boolean): number => {
  const low = typeof schema.minimum === "number" ? schema.minimum : undefined
  const high = typeof schema.maximum === "number" ? schema.maximum : undefined
  const value = Math.min(
    Math.max(found.numbers.shift() ?? 1, low ?? Number.MIN_SAFE_INTEGER),
    high ?? Number.MAX_SAFE_INTEGER
  )
  return whole ? Math.round(value) : value
}

const resolve = (reference: string, root: JsonObject): Json | undefined =>
  reference
    .replace(/^#\/?/, "")
    .split("/")
    .filter((step) => step.length > 0)
    .reduce<Json | undefined>(
      (at, step) => (isObject(at) ? at[step.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined),
      root
    )

const typeOf = (schema: JsonObject): string => {
  const declared = schema.type
  const type = Array.isArray(declared) ? declared.find((one) => one !== "null") : declared
  if (typeof type === "string") return type.toLowerCase()
  if (schema.properties !== undefined) return "object"
  return schema.items === undefined ? "string" : "array"
}

const sample = (node: Json | undefined, name: string, root: JsonObject, found: Finds, depth: number): Json => {
  if (!isObject(node) || depth > DEPTH) return depth > DEPTH ? null : found.prompt
  if (typeof node.$ref === "string") return sample(resolve(node.$ref, root), name, root, found, depth + 1)
  if (node.const !== undefined) return node.const
  const values = listOf(node.enum)
  if (values.length > 0) {
    const lower = found.prompt.toLowerCase()
    return values.find((value) => typeof value === "string" && lower.includes(value.toLowerCase())) ?? values[0] ?? null
  }
  const branch = [...listOf(node.anyOf), ...listOf(node.oneOf)].find((one) => objectOf(one).type !== "null")
  if (branch !== undefined) return sample(branch, name, root, found, depth + 1)
  const parts = listOf(node.allOf)
  if (parts.length > 0) {
    const merged = parts.map((part) => sample(part, name, root, found, depth + 1))
    return Object.assign({}, ...merged.filter(isObject))
  }
  switch (typeOf(node)) {
    case "object": {
      const required = new Set(listOf(node.required))
      const properties = Object.entries(objectOf(node.properties))
      // Without a list of what is required, everything is filled in: an empty object teaches a caller nothing.
      const wanted = properties.filter(([key]) => required.size === 0 || required.has(key))
      return Object.fromEntries(wanted.map(([key, value]) => [key, sample(value, key, root, found, depth + 1)]))
    }
    case "array": {
      const least = typeof node.minItems === "number" ? node.minItems : 1
      return Array.from({ length: Math.min(Math.max(least, 1), 20) }, () =>
        sample(node.items, name, root, found, depth + 1)
      )
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

/**
 * A value that a JSON Schema accepts, filled from a prompt where that is plausible: "weather in Paris" gives `{"location":"Paris"}`.
 * Deterministic. Follows `$ref` within the schema; ends at a depth of twelve.
 */
export const schemaSample = (schema: JsonObject, prompt: string): Json =>
  sample(schema, "", schema, finds(prompt.slice(0, PROMPT)), 0)
