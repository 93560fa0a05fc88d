/** Judges values by the JSON Schema of an OpenAPI document. A keyword that it does not know is an error, so that nothing goes unjudged. */

export type JsonSchema = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const schemaOf = (value: unknown): JsonSchema => (isObject(value) ? value : {})
const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null
}

const says = new Set(["description", "examples", "default", "title", "format", "contentMediaType", "example"])

type Rule = (value: unknown, wanted: unknown, schema: JsonSchema, judge: Judge, at: string) => string | undefined
type Judge = (value: unknown, schema: JsonSchema, at: string) => string | undefined

const bound =
  (holds: (value: number, limit: number) => boolean, what: string): Rule =>
  (value, limit, _, __, at) =>
    typeof value !== "number" || holds(value, Number(limit)) ? undefined : `${at}: ${what} ${limit}`
const size =
  (of: (value: unknown) => number | undefined, holds: (value: number, limit: number) => boolean, what: string): Rule =>
  (value, limit, _, __, at) => {
    const length = of(value)
    return length === undefined || holds(length, Number(limit)) ? undefined : `${at}: ${what} ${limit}`
  }
const characters = (value: unknown) => (typeof value === "string" ? [...value].length : undefined)
const elements = (value: unknown) => (Array.isArray(value) ? value.length : undefined)
const least = (value: number, limit: number) => value >= limit
const most = (value: number, limit: number) => value <= limit
const every = (checks: Iterable<string | undefined>): string | undefined => {
  for (const problem of checks) if (problem !== undefined) return problem
  return undefined
}

const rules: Readonly<Record<string, Rule>> = {
  type: (value, wanted, _, __, at) =>
    [wanted].flat().some((name) => types[String(name)]?.(value) === true) ? undefined : `${at}: is no ${wanted}`,
  enum: (value, wanted, _, __, at) =>
    list(wanted).includes(value) ? undefined : `${at}: ${JSON.stringify(value)} is none of ${JSON.stringify(wanted)}`,
  const: (value, wanted, _, __, at) => (value === wanted ? undefined : `${at}: is not ${JSON.stringify(wanted)}`),
  required: (value, wanted, _, __, at) =>
    isObject(value)
      ? every(
          list(wanted).map((name) => (Object.hasOwn(value, String(name)) ? undefined : `${at}.${name}: is missing`))
        )
      : undefined,
  properties: (value, wanted, _, judge, at) =>
    isObject(value)
      ? every(
          Object.entries(schemaOf(wanted)).map(([name, schema]) =>
            Object.hasOwn(value, name) ? judge(value[name], schemaOf(schema), `${at}.${name}`) : undefined
          )
        )
      : undefined,
  additionalProperties: (value, wanted, { properties }, judge, at) =>
    isObject(value) && wanted !== true
      ? every(
          Object.entries(value)
            .filter(([name]) => !Object.hasOwn(schemaOf(properties), name))
            .map(([name, inner]) =>
              wanted === false ? `${at}.${name}: is not known` : judge(inner, schemaOf(wanted), `${at}.${name}`)
            )
        )
      : undefined,
  items: (value, wanted, _, judge, at) =>
    Array.isArray(value)
      ? every(value.map((inner, index) => judge(inner, schemaOf(wanted), `${at}[${index}]`)))
      : undefined,
  anyOf: (value, wanted, _, judge, at) => {
    const problems = list(wanted).map((schema) => judge(value, schemaOf(schema), at))
    return problems.includes(undefined) ? undefined : `${at}: none of [${problems.join(" | ").slice(0, 2000)}]`
  },
  allOf: (value, wanted, _, judge, at) => every(list(wanted).map((schema) => judge(value, schemaOf(schema), at))),
  not: (value, wanted, _, judge, at) =>
    judge(value, schemaOf(wanted), at) === undefined ? `${at}: is what it must not be` : undefined,
  minimum: bound(least, "is below"),
  maximum: bound(most, "is above"),
  exclusiveMinimum: bound((value, limit) => value > limit, "is not above"),
  minLength: size(characters, least, "is shorter than"),
  maxLength: size(characters, most, "is longer than"),
  minItems: size(elements, least, "has fewer than"),
  maxItems: size(elements, most, "has more than"),
  pattern: (value, wanted, _, __, at) =>
    typeof value !== "string" || new RegExp(String(wanted), "u").test(value) ? undefined : `${at}: is not ${wanted}`
}

/** A judge of values: the first problem and where it is, or undefined. `root` is the document that references point into. */
export const makeJudge = (root: unknown): Judge => {
  const resolve = (reference: string): JsonSchema =>
    schemaOf(
      reference
        .slice(2)
        .split("/")
        .reduce((value: unknown, key) => schemaOf(value)[key], root)
    )
  const judge: Judge = (value, schema, at) =>
    every(
      Object.entries(schema).map(([keyword, wanted]) => {
        if (keyword === "$ref") return judge(value, resolve(String(wanted)), at)
        if (says.has(keyword)) return undefined
        const rule = rules[keyword]
        if (rule === undefined) throw new Error(`${at}: the keyword ${keyword} cannot be judged`)
        return rule(value, wanted, schema, judge, at)
      })
    )
  return judge
}
