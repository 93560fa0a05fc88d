/** Schemas of requests: what a value may be. Each refuses what is not so as OpenAI's API does, with the path of the parameter. */
import { type Json, objectOf, stringOf } from "../json.ts"
import { insist, OpenAiRefusal } from "./shared.ts"

/** Throws an `OpenAiRefusal` unless the value is as it should be. */
export type Shape = (value: Json | undefined, path: string) => void

const at = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`)
const quoted = (names: ReadonlyArray<string>): string => names.map((name) => `'${name}'`).join(", ")

export const anything: Shape = () => {}

export const text: Shape = (value, path) =>
  insist(typeof value === "string", `Invalid type for '${path}': expected a string.`, path, "invalid_type")

/** An object with these fields and no others; null is as good as absent. Names that end in `!` must be given. */
export const closed = (fields: Readonly<Record<string, Shape>>): Shape => {
  const known = new Map(Object.entries(fields).map(([name, shape]) => [name.replace("!", ""), shape]))
  const required = Object.keys(fields).flatMap((name) => (name.endsWith("!") ? [name.slice(0, -1)] : []))
  return (value, path) => {
    const given = objectOf(value)
    for (const name of Object.keys(given)) {
      insist(known.has(name), `Unknown parameter: '${at(path, name)}'.`, at(path, name), "unknown_parameter")
    }
    for (const name of required) {
      const missing = given[name] === undefined || given[name] === null
      insist(!missing, `Missing required parameter: '${at(path, name)}'.`, at(path, name), "missing_required_parameter")
    }
    for (const [name, shape] of known) {
      const field = given[name]
      if (field !== undefined && field !== null) shape(field, at(path, name))
    }
  }
}

/** Fields of which nothing is checked. */
export const free = (...names: ReadonlyArray<string>): Readonly<Record<string, Shape>> =>
  Object.fromEntries(names.map((name) => [name, anything]))

/** An object that one of its fields, named by `tag`, tells apart from the others. */
export const variant =
  (tag: string, shapes: Readonly<Record<string, Shape>>, otherwise = ""): Shape =>
  (value, path) => {
    const name = stringOf(objectOf(value)[tag] ?? otherwise)
    const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined
    if (shape === undefined) {
      const message = `Invalid value: '${name}'. Supported values are: ${quoted(Object.keys(shapes))}.`
      throw new OpenAiRefusal(message, at(path, tag), "invalid_value")
    }
    shape(value, path)
  }

export const list =
  (shape: Shape, { filled = false }: { readonly filled?: boolean } = {}): Shape =>
  (value, path) => {
    if (!Array.isArray(value)) {
      throw new OpenAiRefusal(`Invalid type for '${path}': expected an array of objects.`, path, "invalid_type")
    }
    insist(
      !filled || value.length > 0,
      `Invalid '${path}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
      path,
      "empty_array"
    )
    for (const [index, item] of value.entries()) shape(item, `${path}[${index}]`)
  }

/** A string, or a list that is not empty. */
export const textOr =
  (shape: Shape): Shape =>
  (value, path) =>
    typeof value === "string" ? undefined : list(shape, { filled: true })(value, path)

/** What the model or the request makes impossible. */
export const never =
  (message: string, code?: string): Shape =>
  (_, path) => {
    throw new OpenAiRefusal(message, path, code)
  }
