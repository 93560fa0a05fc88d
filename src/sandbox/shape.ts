/** What a request may hold: shapes of values, which each vendor puts into its own words. */
import { isObject, type Json, objectOf, stringOf } from "./json.ts"

/** Throws a `Refusal` unless the value is as it should be. `path` is where it stands, as the vendor writes it. */
export type Shape = (value: Json | undefined, path: string) => void
export type Fields = Readonly<Record<string, Shape>>

/** How a vendor writes paths, and refuses. What it does not refuse is absent. */
export interface Words {
  /** Null is as good as absent. */
  readonly nullable?: boolean
  readonly field: (path: string, name: string) => string
  readonly item: (path: string, index: number) => string
  /** The path of what a variant holds. */
  readonly inside: (path: string, name: string) => string
  readonly unknown: (path: string, name: string) => Error
  readonly missing: (path: string, name: string) => Error
  readonly noObject?: (path: string) => Error
  readonly noList: (path: string) => Error
  readonly noVariant: (path: string, tag: string, name: string, known: ReadonlyArray<string>) => Error
}

export const anything: Shape = () => {}

/** Fields of which nothing is checked. */
export const free = (...names: ReadonlyArray<string>): Fields =>
  Object.fromEntries(names.map((name) => [name, anything]))

/** Several shapes, one after the other. */
export const all =
  (...shapes: ReadonlyArray<Shape>): Shape =>
  (value, path) => {
    for (const shape of shapes) shape(value, path)
  }

export const shapesIn = (words: Words) => {
  const given = (value: Json | undefined) => value !== undefined && !(value === null && words.nullable === true)

  /** An object with these fields and no others. Names that end in `!` must be given. */
  const closed = (fields: Fields): Shape => {
    const known = new Map(Object.entries(fields).map(([name, shape]) => [name.replace("!", ""), shape]))
    const required = Object.keys(fields).flatMap((name) => (name.endsWith("!") ? [name.slice(0, -1)] : []))
    return (value, path) => {
      if (words.noObject !== undefined && !isObject(value)) throw words.noObject(path)
      const object = objectOf(value)
      for (const name of Object.keys(object)) if (!known.has(name)) throw words.unknown(path, name)
      for (const name of required) if (!given(object[name])) throw words.missing(path, name)
      for (const [name, shape] of known) if (given(object[name])) shape(object[name], words.field(path, name))
    }
  }

  /** An object that one of its fields, named by `tag`, tells apart from the others. */
  const variant =
    (tag: string, shapes: Fields, otherwise = ""): Shape =>
    (value, path) => {
      const name = stringOf(objectOf(value)[tag] ?? otherwise)
      const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
      if (shape === undefined) throw words.noVariant(path, tag, name, Object.keys(shapes))
      shape(value, words.inside(path, name))
    }

  const list =
    (shape: Shape): Shape =>
    (value, path) => {
      if (!Array.isArray(value)) throw words.noList(path)
      for (const [index, item] of value.entries()) shape(item, words.item(path, index))
    }

  return { closed, variant, list }
}
