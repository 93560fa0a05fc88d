/**
 * Unions whose members differ by a literal, and which pass what they do not know: a vendor adds kinds of items, blocks and
 * events before this contract hears of them.
 */
import { Schema, type SchemaAST, SchemaParser, SchemaTransformation } from "effect"
import { object } from "./fields.ts"
import { alternatives } from "./words.ts"

/** A member: an object of this `type`. */
export const kind = <const N extends string, const F extends Schema.Struct.Fields>(type: N, fields: F) =>
  object({ type: Schema.Literal(type), ...fields })

const literals = (ast: SchemaAST.AST | undefined): ReadonlyArray<string> => {
  if (ast?._tag === "Literal" && typeof ast.literal === "string") return [ast.literal]
  return ast?._tag === "Union" ? ast.types.flatMap(literals) : []
}

type Members = ReadonlyArray<Schema.Codec<unknown, unknown>>
type Member<M extends Members> = Schema.Codec<M[number]["Type"], M[number]["Encoded"]>

/** The first of the names, for callers who sent something else. */
const suchAs = (names: ReadonlyArray<string>): string => `such as ${alternatives(names.slice(0, 3))}`

/** Anything that is not one of the names, nor one of those that have their place elsewhere: `not` says it in JSON Schema. */
const otherThan = (names: ReadonlyArray<string>, elsewhere: ReadonlyArray<string> = []) => {
  const known = new Set([...names, ...elsewhere])
  return Schema.String.annotate({ message: `must be a string, ${suchAs(names)}` }).check(
    Schema.makeFilter((name) => (known.has(name) ? `must be ${alternatives(names)}` : undefined), {
      toJsonSchema: () => ({ not: { enum: [...known] } })
    })
  )
}

const typeOf = (member: Members[number]): SchemaAST.AST | undefined => {
  const { ast } = Schema.toEncoded(member)
  return ast._tag === "Objects" ? ast.propertySignatures.find(({ name }) => name === "type")?.type : undefined
}

const typesOf = (members: Members): ReadonlyArray<string> => members.flatMap((member) => literals(typeOf(member)))

/** The message for a value that is no object; it names types where every member has one. */
const anObject = (members: Members): string =>
  members.every((member) => typeOf(member)?.context?.isOptional !== true)
    ? `must be an object with a type, ${suchAs(typesOf(members))}`
    : "must be an object"

/**
 * The members, as the document shows them. The surface refuses what else comes, because it has more to say about it: objects of any
 * other type, and those that are `read` as well.
 */
export const onlyKinds = <const M extends Members>(members: M, read: Members = []): Member<M> => {
  const other = object({ type: otherThan(typesOf(members)) })
  const all = Schema.Union([...members, ...read, other]).annotate({ message: anObject(members) })
  const decode = SchemaParser.decodeUnknownEffect(all as Member<M>)
  return Schema.declareConstructor<M[number]["Type"], M[number]["Encoded"]>()(
    [],
    () => (value, _, options) => decode(value, options),
    { toCodecJson: () => Schema.link<M[number]["Type"]>()(Schema.Union(members), SchemaTransformation.passthrough()) }
  )
}

/**
 * The members, and every object of another `type`, but for those that have their place elsewhere. Typed as its members only: beside an
 * object of any type no other could be distinguished.
 */
export const kinds = <const M extends Members>(members: M, elsewhere: Members = []): Member<M> => {
  const other = object({ type: otherThan(typesOf(members), typesOf(elsewhere)) }).annotate({
    description: "Of another type: passed on as it came."
  })
  return Schema.Union([...members, other]).annotate({ message: anObject(members) }) as Member<M>
}

/** A text with known values, to which the vendor adds: typed so that an editor offers these. */
export const oneOf = <const N extends ReadonlyArray<string>>(...names: N) =>
  Schema.Union([Schema.Literals(names), Schema.String]).annotate({ message: "must be a string" }) as Schema.Codec<
    N[number] | (string & {})
  >

type Event = readonly [description: string, fields: Readonly<Record<string, Schema.Codec<unknown, unknown>>>]

type Events<E extends Readonly<Record<string, Event>>> = {
  readonly [K in keyof E & string]: {
    readonly event: K
    readonly data: Schema.Struct<E[K][1]>["Type"] & { readonly type: K; readonly [x: string]: unknown }
  }
}[keyof E & string]

/** The events of a stream, each named like the `type` of its data, which is JSON. Events of other names pass. */
export const eventKinds = <const E extends Readonly<Record<string, Event>>>(events: E) => {
  const known = Object.entries(events).map(([name, [description, fields]]) =>
    Schema.Struct({
      event: Schema.Literal(name),
      data: Schema.fromJsonString(kind(name, fields).annotate({ description }))
    })
  )
  const other = otherThan(Object.keys(events))
  return Schema.Union([
    ...known,
    Schema.Struct({ event: other, data: Schema.fromJsonString(object({ type: other })) })
  ]) as Schema.Codec<Events<E>, { readonly event: string; readonly data: string }>
}
