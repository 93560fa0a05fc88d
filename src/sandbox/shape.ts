/** What a request may hold: shapes that check a value and read it. Each vendor puts what they refuse into its own words. */
import { invalid } from "./http.ts"
import { isObject, type Json, objectOf, stringOf } from "./json.ts"

/** Reads a value, or throws a `Refusal`. `path` is where it stands, as the vendor writes it. */
export type Shape<A = unknown> = (value: Json | undefined, path: string) => A

/** Shapes by field: `name!` must be given, and a field whose shape is `false` is not known. */
type Fields = Readonly<Record<string, Shape | false>>

type Bare<Name extends string> = Name extends `${infer Text}!` ? Text : Name
type Names<Text extends string> = Text extends `${infer First} ${infer Rest}` ? Bare<First> | Names<Rest> : Bare<Text>
type Read<Field> = Field extends Shape<infer A> ? A : never
type Values<N extends string, F extends Fields> = Readonly<Record<Names<N>, Json | undefined>> & {
  readonly [K in keyof F & string as Bare<K>]: K extends `${string}!` ? Read<F[K]> : Read<F[K]> | undefined
}

/** What is said where something does not hold, in the order in which it is looked at. `{path}` stands for where that is. */
type Rules = Readonly<Record<string, boolean>>

type Said<A> = string | ((value: A) => string)

/** How a vendor writes paths, and what it says. What it does not refuse is absent. */
interface Words {
  /** Null is as good as absent. */
  readonly nullable?: boolean
  readonly name?: (field: string) => string
  readonly item: (path: string, index: number) => string
  /** The path of what a variant holds, where that is not its own. */
  readonly inside?: (path: string, variant: string) => string
  readonly unknown: (path: string, name: string) => Error
  readonly missing?: string
  readonly noObject?: string
  readonly noList: string
  readonly noVariant?: (path: string, tag: string, name: string, known: string) => Error
  readonly refused: (path: string, message: string) => Error
}

/** The path of a field, in words that separate names by dots. */
export const under = (path: string, name: string | number): string => (path === "" ? String(name) : `${path}.${name}`)

export const quoted = (names: ReadonlyArray<string>): string => names.map((name) => `'${name}'`).join(", ")

export const anything: Shape<Json | undefined> = (value) => value

/** Refuses what stands at a path with the first of the rules that does not hold. */
export const insistOn = (rules: Rules, path = "", refused: Words["refused"] = (_, message) => invalid(message)) => {
  const broken = Object.entries(rules).find(([, holds]) => !holds)
  if (broken !== undefined) throw refused(path, broken[0].replaceAll("{path}", path))
}

export const shapesIn = (words: Words) => {
  const { nullable = false, name: written = String, inside = String, missing = "", noObject, refused } = words
  const given = (value: Json | undefined) => value !== undefined && !(value === null && nullable)
  const insist = (rules: Rules, path = "") => insistOn(rules, path, refused)

  /** An object with these fields and no others, which `read` may read on; of those that are only named nothing is checked. */
  function closed<const N extends string, const F extends Fields>(names: N, fields?: F): Shape<Values<N, F>>
  function closed<const N extends string, const F extends Fields, A>(
    names: N,
    fields: F,
    read: (values: Values<N, F>, path: string) => A
  ): Shape<A>
  function closed(
    names: string,
    fields: Fields = {},
    read: (values: never, path: string) => unknown = (it) => it
  ): Shape {
    const free = (names.match(/\S+/g) ?? []).map((name) => [name, anything] as const)
    const all = [...free, ...Object.entries(fields)].filter((entry): entry is [string, Shape] => entry[1] !== false)
    const known = new Map(all.map(([name, shape]) => [name.replace("!", ""), shape]))
    const required = all.flatMap(([name]) => (name.endsWith("!") ? [name.slice(0, -1)] : []))
    return (value, path) => {
      if (noObject !== undefined) insist({ [noObject]: isObject(value) }, path)
      const object = objectOf(value)
      for (const name of Object.keys(object)) if (!known.has(name)) throw words.unknown(path, name)
      for (const name of required) if (!given(object[name])) insist({ [missing]: false }, under(path, name))
      const there = [...known].filter(([name]) => given(object[name]))
      const values = there.map(([name, shape]) => [name, shape(object[name], under(path, written(name)))])
      return read(Object.fromEntries(values) as never, path)
    }
  }

  /** An object that one of its fields, named by `tag`, tells apart from the others. */
  const variant =
    <A>(tag: string, shapes: Readonly<Record<string, Shape<A>>>, otherwise = ""): Shape<A> =>
    (value, path) => {
      if (noObject !== undefined) insist({ [noObject]: isObject(value) }, path)
      const name = stringOf(objectOf(value)[tag] ?? otherwise)
      const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
      if (shape !== undefined) return shape(value, inside(path, name))
      throw words.noVariant?.(path, tag, name, quoted(Object.keys(shapes)))
    }

  const list =
    <A>(shape: Shape<A>): Shape<ReadonlyArray<A>> =>
    (value, path) => {
      if (Array.isArray(value)) return value.map((item, index) => shape(item, words.item(path, index)))
      throw refused(path, words.noList.replace("{path}", path))
    }

  /** A value for which something holds; where it does not, what stands `at` a path is refused. */
  const where =
    <A>(shape: Shape<A>, holds: (value: A) => boolean, said: Said<A>, at?: string): Shape<A> =>
    (value, path) => {
      const read = shape(value, path)
      if (holds(read)) return read
      throw refused(at ?? path, (typeof said === "string" ? said : said(read)).replaceAll("{path}", path))
    }

  /** A value of a type. */
  const typed = <A>(is: (value: unknown) => value is A, said: Said<unknown>): Shape<A> =>
    where(anything, is, said) as Shape<never>

  return { closed, variant, list, insist, where, typed }
}
