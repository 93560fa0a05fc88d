/** Pieces that the request and reply schemas share. */
import { Schema } from "effect"
import { mustBe } from "./words.ts"

/** `Schema.Json` for what was parsed from JSON text: not walked again, because a large body would hold up other requests. */
export const ParsedJson = Schema.declare((_: unknown): _ is Schema.Json => true, Schema.Json.ast.annotations)

/** The message for a body that is a string, an array, … */
export const notAnObject = "must be a JSON object"

/** Keys that the schema does not list: they are kept, typed as JSON. */
export const rest = [Schema.Record(Schema.String, ParsedJson)] as const

/**
 * The same of type `unknown`, for what is typed for callers: beside an index of JSON, TypeScript refuses optional fields in
 * declarations where `exactOptionalPropertyTypes` is off, as it is in most projects that use the client.
 */
export const more = [
  Schema.Record(
    Schema.String,
    Schema.declare((_: unknown): _ is unknown => true, Schema.Json.ast.annotations)
  )
] as const

/** What a schema says about a field. */
export interface Notes<A> {
  /** One sentence. */
  readonly description?: string
  readonly example?: A
  /** What holds where the field is absent. */
  readonly default?: A
  /** What the field must be, where the types alone do not say it well. */
  readonly message?: string
}

const annotations = <A>({ example, ...notes }: Notes<A>) =>
  example === undefined ? notes : { ...notes, examples: [example] }

/** SDKs send `null` for an absent optional field. */
export const nullable = <S extends Schema.Top>(schema: S, notes: Notes<S["Type"]> = {}) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate({ message: mustBe(schema.ast), ...annotations(notes) }))

/** A field of a reply that a cloud may leave out. */
export const maybe = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate({ description }))

/** An object with these fields, and with any others. */
export const object = <const F extends Schema.Struct.Fields>(fields: F, identifier?: string, description?: string) =>
  Schema.StructWithRest(Schema.Struct(fields), more).annotate({
    ...(identifier === undefined ? {} : { identifier }),
    ...(description === undefined ? {} : { description })
  })

/** A required field, with what it says about itself. */
export const described = <S extends Schema.Top>(schema: S, description: string, example?: S["Type"]) =>
  schema.annotate({ description, ...(example === undefined ? {} : { examples: [example] }) })

/** The composite model ID; the resolver judges it. */
export const ModelField = Schema.String.check(
  Schema.isNonEmpty({ message: "must name a model, as <base_model>:<level>" })
).annotate({ description: "Composite ID, `<base_model>:<level>`.", examples: ["claude-sonnet-4-5:il5"] })

/** A number that JavaScript cannot hold comes as its text, and is told the same. */
const positive = { message: "must be a positive integer, from 1 to 9007199254740991" }
export const PositiveInt = Schema.Number.annotate(positive).check(
  Schema.isInt(positive),
  Schema.isGreaterThan(0, positive)
)

/** 2 MiB of UTF-8 (docs/api.md#limits). */
export const maxTextBytes = 2_097_152

/** A UTF-16 unit needs at most three bytes, so only long strings are encoded to be counted. */
export const fitsText = (text: string): boolean =>
  text.length * 3 <= maxTextBytes || new TextEncoder().encode(text).length <= maxTextBytes

/** What a streaming endpoint's description shows of its stream. */
export const streaming = (description: string, sample: string): string =>
  `${description}\n\nWith \`stream: true\` the reply is a stream of server-sent events. It is complete only with its last event; an error event ends it too.\n\n\`\`\`\n${sample}\n\`\`\``
