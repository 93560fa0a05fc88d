/** What a request may hold: shapes that check a value and read it. Each vendor puts what they refuse into its own words. */
import { invalid } from "./http.ts"
import { isObject, type Json, objectOf, stringOf } from "./json.ts"

/** Reads a value, or throws a `Refusal`. `path` is where it stands, as the vendor writes it. */
export type Shape<A = unknown> = (value: Json | undefined, path: string) => A

/** Shapes by field: `name!` must be given, and a field whose shape is `false` is not known. */
export type Fields = Readonly<Record<string, Shape | false>>

type Bare<Name> = Name extends `${infer Text}!` ? Text : Name
type Names<Text> = Text extends `${infer First} ${infer Rest}` ? Bare<First> | Names<Rest> : Bare<Text>
type Read<Field> = Field extends Shape<infer A> ? A : never
type ReadAll<F> = {
  readonly [K in keyof F as Bare<K>]: K extends `${string}!` ? Read<F[K]> : Read<F[K]> | undefined
}

/**
 * What is said where something does not hold, in the order in which it is looked at. `{path}` stands for where that is: words
 * that are new for every value of a long request would cost more than the check.
 */
export type Rules = Readonly<Record<string, boolean>>

/** How a vendor writes paths, and refuses. What it does not refuse is absent. */
export interface Words {
  /** Null is as good as absent. */
  readonly nullable?: boolean
  readonly field: (path: string, name: string) => string
  readonly item: (path: string, index: number) => string
  /** The path of what a variant holds, where that is not its own. */
  readonly inside?: (path: string, name: string) => string
  readonly unknown: (path: string, name: string) => Error
  readonly missing: (path: string, name: string) => Error
  readonly noObject?: (path: string) => Error
  readonly noList: (path: string) => Error
  readonly noVariant: (path: string, tag: string, name: string, known: ReadonlyArray<string>) => Error
  /** A refusal of what stands at a path, in these words. */
  readonly refused?: Refuses
}

type Refuses = (path: string, message: string) => Error
const plainly: Refuses = (_, message) => invalid(message)

/** The path of a field, in words that separate names by dots. */
export const under = (path: string, name: string | number): string => (path === "" ? String(name) : `${path}.${name}`)

export const quoted = (names: ReadonlyArray<string>): string => names.map((name) => `'${name}'`).join(", ")

export const anything: Shape<Json | undefined> = (value) => value

/** Refuses what stands at a path with the first of the rules that does not hold. */
export const insistOn = (rules: Rules, path = "", refused = plainly): void => {
  const broken = Object.entries(rules).find(([, holds]) => !holds)
  if (broken !== undefined) throw refused(path, broken[0].replaceAll("{path}", path))
}

export const shapesIn = (words: Words) => {
  const { refused = plainly, inside = (path) => path } = words
  const given = (value: Json | undefined) => value !== undefined && !(value === null && words.nullable === true)

  /** An object with these fields and no others; of those that are only named nothing is checked. */
  const closed = <const N extends string, const F extends Fields>(
    names: N,
    fields: F = {} as F
  ): Shape<Readonly<Record<Names<N>, Json | undefined>> & ReadAll<F>> => {
    const free = (names.match(/\S+/g) ?? []).map((name) => [name, anything] as const)
    const all = [...free, ...Object.entries(fields)].filter((entry): entry is [string, Shape] => entry[1] !== false)
    const known = new Map(all.map(([name, shape]) => [name.replace("!", ""), shape]))
    const required = all.flatMap(([name]) => (name.endsWith("!") ? [name.slice(0, -1)] : []))
    return (value, path) => {
      if (words.noObject !== undefined && !isObject(value)) throw words.noObject(path)
      const object = objectOf(value)
      for (const name of Object.keys(object)) if (!known.has(name)) throw words.unknown(path, name)
      for (const name of required) if (!given(object[name])) throw words.missing(path, name)
      const read: Record<string, unknown> = {}
      for (const [name, shape] of known)
        if (given(object[name])) read[name] = shape(object[name], words.field(path, name))
      return read as ReturnType<ReturnType<typeof closed<N, F>>>
    }
  }

  /** An object that one of its fields, named by `tag`, tells apart from the others. */
  const variant =
    <A>(tag: string, shapes: Readonly<Record<string, Shape<A>>>, otherwise = ""): Shape<A> =>
    (value, path) => {
      if (words.noObject !== undefined && !isObject(value)) throw words.noObject(path)
      const name = stringOf(objectOf(value)[tag] ?? otherwise)
      const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
      if (shape === undefined) throw words.noVariant(path, tag, name, Object.keys(shapes))
      return shape(value, inside(path, name))
    }

  const list =
    <A>(shape: Shape<A>): Shape<ReadonlyArray<A>> =>
    (value, path) => {
      if (!Array.isArray(value)) throw words.noList(path)
      return value.map((item, index) => shape(item, words.item(path, index)))
    }

  const insist = (rules: Rules, path = "") => insistOn(rules, path, refused)

  /** What else must hold for a value; where it does not, what stands `at` a path is refused. */
  const where =
    <A>(shape: Shape<A>, rules: (value: A) => Rules, at?: string): Shape<A> =>
    (value, path) => {
      const read = shape(value, path)
      insist(rules(read), at ?? path)
      return read
    }

  /** A value of which something is known. */
  const typed =
    <A>(is: (value: unknown) => value is A, said: string | ((path: string, value: unknown) => string)): Shape<A> =>
    (value, path) => {
      if (!is(value))
        throw refused(path, typeof said === "string" ? said.replaceAll("{path}", path) : said(path, value))
      return value
    }

  return { closed, variant, list, insist, where, typed }
}

/** A shape whose value is read on. */
export const reads =
  <A, B>(shape: Shape<A>, read: (value: A, path: string) => B): Shape<B> =>
  (value, path) =>
    read(shape(value, path), path)
