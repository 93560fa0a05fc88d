/** Pieces that the request and reply schemas share. */
import { Effect, Option, Schema, SchemaGetter, SchemaTransformation } from "effect"
import { isObject, isRaw } from "../wire/json.ts"
import { pause } from "../wire/slices.ts"
import { mustBe } from "./words.ts"

const notAnObject = "must be an object"

/** JSON that was parsed from text, and is not walked again. Each such value is a place where others may have their turn. */
const parsed = <A>() =>
  Schema.declareConstructor<A>()(
    [],
    () => (value) => {
      const wait = pause()
      const given = Effect.succeed(value as A)
      return wait === undefined ? given : Effect.andThen(wait, given)
    },
    Schema.Json.ast.annotations
  )
export const ParsedJson = parsed<Schema.Json>()

/**
 * Keys that the schema does not list: they are kept. Of type `unknown`, because beside an index of JSON TypeScript refuses optional
 * fields in declarations where `exactOptionalPropertyTypes` is off, as it is in most projects that use the client.
 */
const rest = [Schema.Record(Schema.String, parsed<unknown>())] as const

/** The type of what was parsed from text: all that is not known of it is JSON. */
export type AsJson<T> = unknown extends T
  ? Schema.Json
  : T extends ReadonlyArray<infer Item>
    ? ReadonlyArray<AsJson<Item>>
    : T extends object
      ? { readonly [K in keyof T]: AsJson<T[K]> }
      : T

/** An object of which nothing is known, as it came. */
export const jsonObject = ({
  message = notAnObject,
  ...notes
}: Schema.Annotations.Documentation<Schema.JsonObject> & { readonly message?: string } = {}) =>
  Schema.declare((value): value is Schema.JsonObject => isObject(value), {
    message,
    toCodecJson: () =>
      Schema.link<Schema.JsonObject>()(
        Schema.Record(Schema.String, ParsedJson).annotate(notes),
        SchemaTransformation.passthrough()
      )
  })

/** A JSON Schema of the caller's. */
export const jsonSchema = (message = notAnObject) =>
  jsonObject({
    message,
    description: "A JSON Schema of type object.",
    examples: [{ type: "object", properties: { city: { type: "string" } } }]
  })

const whole = { message: "must be an integer" }

/** An integer, also one that JavaScript cannot hold and that stays as it was written. */
export const Integer = Schema.declare(
  (value: unknown): value is number =>
    Number.isInteger(value) ||
    (typeof value === "object" && value !== null && isRaw(value) && /^-?\d+$/.test(value.rawJSON)),
  {
    ...whole,
    toCodecJson: () => Schema.link<number>()(Schema.Int, SchemaTransformation.passthrough())
  }
)

/** A required field, with what it says about itself. */
export const described = <S extends Schema.Top>(schema: S, description: string, example?: S["Type"]) =>
  schema.annotate({ description, ...(example === undefined ? {} : { examples: [example] }) })

/** Required fields of the plain types. */
export const string = (description: string, example?: string) => described(Schema.String, description, example)
export const int = (description: string, example?: number) =>
  described(Schema.Number.annotate(whole).check(Schema.isInt(whole)), description, example)
export const boolean = (description: string, example?: boolean) => described(Schema.Boolean, description, example)

/** What a schema says about itself that stands in the document under a name. */
export const named = <const A>(identifier: string, description: string, ...examples: ReadonlyArray<A>) => ({
  identifier,
  description,
  ...(examples.length === 0 ? {} : { examples })
})

/** A conversation for examples, and what a model answers. */
export const question = [{ role: "user", content: "What is FedRAMP High?" }] as const
export const answer = "FedRAMP High is the strictest of the three FedRAMP baselines."

/** What an optional field says beside its description. */
interface Notes<A> {
  /** What holds where the field is absent; generators of clients take no objects here. */
  readonly default?: Exclude<A, object>
  /** What the field must be, where the types alone do not say it well. */
  readonly message?: string
}

/**
 * SDKs send `null` for an absent optional field: no cloud gets it. Typed as it is sent: the type of what it becomes is the same, and
 * the published types would hold every field twice.
 */
export const nullable = <S extends Schema.Top>(
  schema: S,
  description: string,
  example?: S["Type"],
  notes: Notes<S["Type"]> = {}
) => {
  const sent = Schema.optionalKey(
    described(Schema.NullOr(schema), description, example).annotate({ message: mustBe(schema.ast), ...notes })
  )
  const read = Schema.optionalKey(Schema.declare((_: unknown): _ is S["Type"] | null => true))
  return sent.pipe(
    Schema.decodeTo(read, {
      decode: SchemaGetter.transformOptional(Option.filter((value: unknown) => value !== null)),
      encode: SchemaGetter.passthrough()
    })
  ) as unknown as typeof sent
}

export const parameters = nullable(jsonObject(), "The parameters as a JSON Schema of type object.", {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"]
})

/** An optional yes or no, and which holds where it is absent. */
export const flag = (description: string, absent = false) =>
  nullable(Schema.Boolean, description, !absent, { default: absent })

export const refused = (why: string) => nullable(Schema.Never, `Refused: ${why}.`, undefined, { message: why })

/** One of several kinds, of which a refusal says the nouns. */
export const either = <const M extends ReadonlyArray<Schema.Top>>(...members: M) => {
  const union = Schema.Union(members)
  return union.annotate({ message: mustBe(union.ast) })
}

/** A field of a reply that a cloud may leave out. */
export const maybe = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate({ description }))

/** An object with these fields, and with any others. */
export const object = <const F extends Schema.Struct.Fields>(fields: F) =>
  Schema.StructWithRest(Schema.Struct(fields), rest).annotate({ message: notAnObject })

/**
 * Refuses a number that JavaScript cannot hold, before the library copies it as an object (`wire/json.ts`). Objects with required fields
 * need no such check: the number has none of them.
 */
const notNumber = <S extends Schema.Top>(schema: S) =>
  Schema.declare((value): value is S["Encoded"] => isObject(value), {
    message: notAnObject,
    toCodecJson: () => Schema.link<S["Encoded"]>()(Schema.toEncoded(schema), SchemaTransformation.passthrough())
  }).pipe(Schema.decodeTo(schema)) as unknown as S

/** An object of a request that requires none of these fields. */
export const options = <const F extends Schema.Struct.Fields>(fields: F) => notNumber(object(fields))

export const record = <S extends Schema.Top>(value: S) => notNumber(Schema.Record(Schema.String, value))

/** The composite model ID; the resolver judges it. */
export const ModelField = Schema.String.check(
  Schema.isNonEmpty({ message: "must name a model, as <base_model>:<level>" })
).annotate({ description: "Composite ID, `<base_model>:<level>`.", examples: ["claude-sonnet-4-5:il5"] })

/** A number that JavaScript cannot hold comes as its text, and gets the same message. */
const positive = { message: "must be a positive integer, from 1 to 9007199254740991" }
export const PositiveInt = Schema.Number.annotate(positive).check(
  Schema.isInt(positive),
  Schema.isGreaterThan(0, positive)
)

export const between = (minimum: number, maximum: number) =>
  Schema.Number.annotate({ message: `must be a number between ${minimum} and ${maximum}` }).check(
    Schema.isFinite(),
    Schema.isBetween({ minimum, maximum }, { message: `must be between ${minimum} and ${maximum}` })
  )
export const wholeBetween = (minimum: number, maximum: number) =>
  Schema.Number.annotate(whole).check(
    Schema.isInt(whole),
    Schema.isBetween({ minimum, maximum }, { message: `must be between ${minimum} and ${maximum}` })
  )

/** 2 MiB of UTF-8 (docs/api.md#limits). */
export const maxTextBytes = 2_097_152

/** A UTF-16 unit needs at most three bytes, so only long strings are encoded to be counted. */
export const fitsText = (text: string): boolean =>
  text.length * 3 <= maxTextBytes || new TextEncoder().encode(text).length <= maxTextBytes

/** JSON Schema counts characters and not bytes, so the document says it in words. */
export const sized = Schema.makeFilter((text: string) => (fitsText(text) ? undefined : "at most 2 MiB of UTF-8 text"), {
  toJsonSchema: () => ({})
})
