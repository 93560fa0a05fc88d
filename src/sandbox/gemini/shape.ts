/** Shapes of requests to Gemini: what is not so is refused in the words of Google's JSON parser. */
import { Refusal } from "../http.ts"
import type { Json } from "../json.ts"
import { isObject } from "../json.ts"
import { type Fields, free, type Shape, shapesIn } from "../shape.ts"

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const refusal = (message: string): Refusal => new Refusal(400, message)
const invalid = (path: string, type = ""): Refusal => refusal(`Invalid value at '${path}'${type && ` (${type})`}`)

export const { closed, list } = shapesIn({
  field: (path, name) => (path === "" ? snake(name) : `${path}.${snake(name)}`),
  item: (path, index) => `${path}[${index}]`,
  inside: (path) => path,
  unknown: (path, name) => {
    const at = path === "" ? "" : ` at '${path}'`
    return refusal(`Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`)
  },
  missing: (path, name) => refusal(`${path}.${snake(name)}: required field is missing.`),
  noObject: (path) => invalid(path),
  noList: (path) => invalid(path),
  noVariant: (path) => invalid(path)
})

/** Fields of which nothing is checked, in one text. */
export const fields = (names: string): Fields => free(...names.split(" "))

/** What holds for a value, and what is said where it does not. */
export const holds =
  (condition: (value: Json | undefined) => boolean, message: string | ((path: string) => string)): Shape =>
  (value, path) => {
    if (!condition(value)) throw refusal(typeof message === "string" ? message : message(path))
  }

/** A number between two, both included. */
export const within = (least: number, most: number, message: string): Shape =>
  holds((value) => typeof value === "number" && value >= least && value <= most, message)

export const text: Shape = (value, path) => {
  if (typeof value !== "string") throw invalid(path, "TYPE_STRING")
}

/** Any JSON object. */
export const struct: Shape = (value, path) => {
  if (!isObject(value)) throw invalid(path, "type.googleapis.com/google.protobuf.Struct")
}
