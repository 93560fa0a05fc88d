/** Shapes of requests to Gemini: what is not so is refused in the words of Google's JSON parser. */
import { invalid, type Refusal } from "../http.ts"
import { isObject } from "../json.ts"
import { type Shape, shapesIn } from "../shape.ts"

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const at = (path: string): string => (path === "" ? "" : ` at '${path}'`)
const unlike = (path: string): Refusal => invalid(`Invalid value${at(path)}`)

export const { closed, list, insist, where, typed } = shapesIn({
  field: (path, name) => (path === "" ? snake(name) : `${path}.${snake(name)}`),
  item: (path, index) => `${path}[${index}]`,
  unknown: (path, name) =>
    invalid(`Invalid JSON payload received. Unknown name "${name}"${at(path)}: Cannot find field.`),
  missing: unlike,
  noObject: unlike,
  noList: unlike,
  noVariant: unlike
})

export const text: Shape<string> = typed(
  (value) => typeof value === "string",
  (path) => `Invalid value${at(path)} (TYPE_STRING)`
)

/** Any JSON object. */
export const struct = typed(isObject, (path) => `Invalid value${at(path)} (type.googleapis.com/google.protobuf.Struct)`)
