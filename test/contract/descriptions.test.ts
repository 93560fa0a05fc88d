/** The document is the reference: every field of every request, reply, event and error says what it is. */
import { assert, describe, it } from "@effect/vitest"
import { contract } from "../support/contract.ts"
import type { JsonSchema } from "../support/jsonSchema.ts"

const object = (value: unknown): JsonSchema => Object(value)
const list = (value: unknown): ReadonlyArray<JsonSchema> => (Array.isArray(value) ? value.map(object) : [])

const { schemas } = contract.components
const named = ({ $ref }: JsonSchema): string | undefined =>
  typeof $ref === "string" ? $ref.split("/").at(-1) : undefined
const resolved = (schema: JsonSchema): JsonSchema => schemas[named(schema) ?? ""] ?? schema

interface Field {
  /** As `ChatRequest.stream_options.include_usage`. */
  readonly at: string
  readonly schema: JsonSchema
}

const inside = ({ anyOf, allOf, items, additionalProperties }: JsonSchema): ReadonlyArray<JsonSchema> => [
  ...list(anyOf),
  ...list(allOf),
  ...list([items, additionalProperties].filter((schema) => schema !== undefined && schema !== true))
]

/** Every field that a value of this schema can have. A named schema is walked once, under its name. */
function* fieldsOf(schema: JsonSchema, at: string, seen: Set<string>): Generator<Field> {
  const name = named(schema)
  if (name !== undefined) {
    if (seen.has(name)) return
    seen.add(name)
    return yield* fieldsOf(resolved(schema), name, seen)
  }
  for (const [key, field] of Object.entries(object(schema.properties))) {
    yield { at: `${at}.${key}`, schema: object(field) }
    yield* fieldsOf(object(field), `${at}.${key}`, seen)
  }
  for (const part of inside(schema)) yield* fieldsOf(part, at, seen)
}

const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
  Object.values(item).map((operation) => ({ path, operation }))
)
const mediaOf = (holder: unknown): ReadonlyArray<readonly [type: string, schema: JsonSchema]> =>
  Object.entries(object(object(holder).content)).map(([type, media]) => [type, object(object(media).schema)])

const requestNames = new Set<string>()
const requests = operations.flatMap(({ path, operation }) =>
  mediaOf(object(operation).requestBody).flatMap(([, schema]) => [...fieldsOf(schema, path, requestNames)])
)
const replyNames = new Set<string>()
const replies = operations.flatMap(({ path, operation }) =>
  Object.entries(operation.responses).flatMap(([status, reply]) =>
    mediaOf(reply).flatMap(([type, schema]) => [...fieldsOf(schema, `${path} ${status} ${type}`, replyNames)])
  )
)
const fields = [...requests, ...replies]

/** A field that tells the members of a union apart: its value says what it is. */
const tellsApart = ({ enum: values, not }: JsonSchema): boolean => list(values).length === 1 || not !== undefined

const among = (all: ReadonlyArray<Field>, wrong: (schema: JsonSchema) => boolean): ReadonlyArray<string> =>
  all.filter(({ schema }) => wrong(schema)).map(({ at }) => at)

const isSentence = (text: unknown): boolean =>
  typeof text === "string" && /^[A-Z0-9][^\n]{3,}\.$/.test(text) && text.length <= 240

/** What may stand in the field, apart from null. */
const shapes = (schema: JsonSchema): ReadonlyArray<JsonSchema> => {
  const { anyOf } = resolved(schema)
  return list(anyOf).length === 0 ? [resolved(schema)] : list(anyOf).flatMap(shapes)
}
/** Whether its parts show what it may be: names, a closed list, or fields of its own. */
const showsItself = ({ enum: values, properties, items, type }: JsonSchema): boolean =>
  type === "null" ||
  values !== undefined ||
  properties !== undefined ||
  (items !== undefined && shapes(object(items)).every(showsItself))

describe("every schema", () => {
  it("is reached from a request or a reply", () => {
    assert.deepEqual([...new Set([...requestNames, ...replyNames])].sort(), Object.keys(schemas).sort())
    assert.isAbove(requests.length, 200)
    assert.isAbove(replies.length, 250)
  })

  it("that has a name says in a sentence what it is", () => {
    const mute = Object.entries(schemas).filter(([, { description }]) => !isSentence(description))
    assert.deepEqual(
      mute.map(([name]) => name),
      []
    )
  })

  it("says of each field in a sentence what it is", () => {
    const mute = (schema: JsonSchema) => !isSentence(schema.description ?? resolved(schema).description)
    assert.deepEqual(
      among(fields, (schema) => mute(schema) && !tellsApart(schema)),
      []
    )
  })

  it("gives each field of a request a type, and an example where the type does not show what it may be", () => {
    const bare = (schema: JsonSchema) => {
      const { examples, default: fallback, description } = { ...resolved(schema), ...schema }
      const shown = Array.isArray(examples) || fallback !== undefined || shapes(schema).every(showsItself)
      return !shown && !tellsApart(schema) && !String(description).startsWith("Refused")
    }
    assert.deepEqual(among(requests, bare), [])
  })
})
