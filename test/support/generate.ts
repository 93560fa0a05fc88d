/** Values of a JSON Schema, and values that are almost of it, from a seed: what schemathesis does, for this document. */
import type { JsonSchema } from "./jsonSchema.ts"

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export const makeRandom = (seed: number) => {
  let state = seed >>> 0
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
type Random = ReturnType<typeof makeRandom>

const schemaOf = (value: unknown): JsonSchema => Object(value)
const pick = <A>(random: Random, values: ReadonlyArray<A>): A | undefined =>
  values[Math.floor(random() * values.length)]
const texts = ["", "a", "Hi", "世界", "\u0000", "‮", "__proto__", "data:image/png;base64,AAAA", "https://example.com/x"]
const oddities: ReadonlyArray<unknown> = [
  null,
  true,
  -1,
  0,
  1.5,
  1e308,
  "",
  "x".repeat(300),
  [],
  [[]],
  {},
  { type: "x" }
]

/** `resolve` finds what a reference means. */
export const makeGenerator = (resolve: (reference: string) => JsonSchema, random: Random) => {
  const number = ({ minimum, exclusiveMinimum, maximum }: JsonSchema): number => {
    const low = Number(minimum ?? exclusiveMinimum ?? -3)
    return low + random() * (Number(maximum ?? low + 4000) - low)
  }
  const generate = (schema: JsonSchema, depth = 0): unknown => {
    if (typeof schema.$ref === "string") return generate(resolve(schema.$ref), depth)
    if (Array.isArray(schema.examples) && random() < 0.6) return structuredClone(pick(random, schema.examples))
    if (Array.isArray(schema.anyOf)) return generate(schemaOf(pick(random, schema.anyOf)), depth)
    if (Array.isArray(schema.enum)) return pick(random, schema.enum)
    switch (schema.type) {
      case "object": {
        const required = new Set(Array.isArray(schema.required) ? schema.required : [])
        const share = depth === 0 ? 0.2 : 0.4
        const fields = Object.entries(schemaOf(schema.properties)).filter(
          ([name]) => required.has(name) || (depth < 6 && random() < share)
        )
        return Object.fromEntries(fields.map(([name, inner]) => [name, generate(schemaOf(inner), depth + 1)]))
      }
      case "array":
        return Array.from({ length: Math.max(Number(schema.minItems ?? 0), Math.floor(random() * 3)) }, () =>
          generate(schemaOf(schema.items), depth + 1)
        )
      case "string":
        return pick(random, texts)
      case "integer":
        return Math.ceil(number(schema) + (schema.exclusiveMinimum === undefined ? 0 : 1))
      case "number":
        return number(schema)
      case "boolean":
        return random() < 0.5
      case "null":
        return null
      default:
        return pick(random, oddities)
    }
  }

  /** The value with something wrong in one place, which may be anywhere in it. */
  const spoil = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null || random() < 0.15) return pick(random, oddities)
    const keys = Object.keys(value)
    const key = pick(random, keys)
    if (key === undefined) return pick(random, oddities)
    if (Array.isArray(value)) return value.map((inner, at) => (String(at) === key ? spoil(inner) : inner))
    if (random() < 0.15) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, name === key ? spoil(inner) : inner]))
  }
  return { generate: (schema: JsonSchema) => generate(schema), spoil }
}
