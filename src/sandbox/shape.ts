/** Shapes, which check a value of a request and read it. Each vendor words the refusals. */
import { invalid } from "./http.ts"
import { arrayOf, isObject, type Json, objectOf, stringOf } from "./json.ts"

/** Reads a value, or throws a `Refusal`. `path` locates it in the vendor's notation. */
export type Shape<A = unknown> = (value: Json | undefined, path: string) => A

/** Shapes by field: `name!` must be given, and a shape of `false` makes a field unknown. */
type Fields = Readonly<Record<string, Shape | false>>

type Bare<Name extends string> = Name extends `${infer Text}!` ? Text : Name
type Names<Text extends string> = Text extends `${infer First} ${infer Rest}` ? Bare<First> | Names<Rest> : Bare<Text>
type Read<Field> = Field extends Shape<infer A> ? A : never
type Values<N extends string, F extends Fields> = Readonly<Record<Names<N>, Json | undefined>> & {
  readonly [K in keyof F & string as Bare<K>]: K extends `${string}!` ? Read<F[K]> : Read<F[K]> | undefined
}
type Reader<N extends string, F extends Fields, A> = (values: Values<N, F>, path: string) => A

/** Conditions by the message of their refusal, checked in order; `{path}` in a message stands for the path. */
type Rules = Readonly<Record<string, boolean>>

type Text<A> = string | ((value: A) => string)

/** How a vendor writes paths and refusals; what it does not refuse is absent. */
interface Words {
  /** Null counts as absent. */
  readonly nullable?: boolean
  readonly name?: (field: string) => string
  readonly item: (path: string, index: number) => string
  readonly inside?: (path: string, variant: string) => string
  readonly unknown: (path: string, name: string) => Error
  readonly missing?: string
  readonly noObject?: string
  readonly noList: string
  readonly noVariant?: (path: string, tag: string, name: string, known: string) => Error
  readonly refused: (path: string, message: string) => Error
}

export const under = (path: string, name: string | number): string => (path === "" ? String(name) : `${path}.${name}`)

export const quoted = (names: ReadonlyArray<string>): string => names.map((name) => `'${name}'`).join(", ")

export const anything: Shape<Json | undefined> = (value) => value

export const insist = (rules: Rules, path = "", refused: Words["refused"] = (_, message) => invalid(message)) => {
  const broken = Object.entries(rules).find(([, holds]) => !holds)
  if (broken !== undefined) throw refused(path, broken[0].replaceAll("{path}", path))
}

export const shapesIn = (words: Words) => {
  const { nullable = false, name: written = String, inside = String, missing = "", noObject, refused } = words
  const given = (value: Json | undefined) => value !== undefined && !(value === null && nullable)
  const insistHere = (rules: Rules, path = "") => insist(rules, path, refused)
  const fieldsOf = (value: Json | undefined, path: string) => {
    if (noObject !== undefined) insistHere({ [noObject]: isObject(value) }, path)
    return objectOf(value)
  }

  /** An object with these fields and no others, which `read` transforms; fields in `names` are not checked. */
  function closed<const N extends string, const F extends Fields>(names: N, fields?: F): Shape<Values<N, F>>
  function closed<const N extends string, const F extends Fields, A>(n: N, fields: F, read: Reader<N, F, A>): Shape<A>
  function closed(names: string, fields: Fields = {}, read: Reader<never, never, unknown> = (values) => values): Shape {
    const free = (names.match(/\S+/g) ?? []).map((name) => [name, anything] as const)
    const all = [...free, ...Object.entries(fields)].filter((entry): entry is [string, Shape] => entry[1] !== false)
    const known = new Map(all.map(([name, shape]) => [name.replace("!", ""), shape]))
    const required = all.flatMap(([name]) => (name.endsWith("!") ? [name.slice(0, -1)] : []))
    return (value, path) => {
      const object = fieldsOf(value, path)
      for (const name of Object.keys(object)) if (!known.has(name)) throw words.unknown(path, name)
      for (const name of required) insistHere({ [missing]: given(object[name]) }, under(path, name))
      const there = [...known].filter(([name]) => given(object[name]))
      const values = there.map(([name, shape]) => [name, shape(object[name], under(path, written(name)))])
      return read(Object.fromEntries(values) as never, path)
    }
  }

  /** An object with a shape for each value of the field `tag`. */
  const variant =
    <A>(tag: string, shapes: Readonly<Record<string, Shape<A>>>, otherwise = ""): Shape<A> =>
    (value, path) => {
      const name = stringOf(fieldsOf(value, path)[tag] ?? otherwise)
      const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
      if (shape !== undefined) return shape(value, inside(path, name))
      throw words.noVariant?.(path, tag, name, quoted(Object.keys(shapes)))
    }

  const list =
    <A>(shape: Shape<A>): Shape<ReadonlyArray<A>> =>
    (value, path) => {
      insistHere({ [words.noList]: Array.isArray(value) }, path)
      return arrayOf(value).map((item, index) => shape(item, words.item(path, index)))
    }

  /** A value that satisfies a condition; the refusal names the path `at`, by default the value's own. */
  const where =
    <A>(shape: Shape<A>, holds: (value: A) => boolean, message: Text<A>, at?: string): Shape<A> =>
    (value, path) => {
      const read = shape(value, path)
      if (!holds(read)) insistHere({ [typeof message === "string" ? message : message(read)]: false }, at ?? path)
      return read
    }

  const typed = <A>(is: (value: unknown) => value is A, message: Text<unknown>): Shape<A> =>
    where(anything, is, message) as Shape<never>

  return { closed, variant, list, insist: insistHere, where, typed }
}
