/** Shapes of Gemini's requests, with the refusals of Google's JSON parser. */
import { invalid } from "../http.ts"
import { isObject, stringOf } from "../json.ts"
import { type Shape, shapesIn } from "../shape.ts"

/** The message for a missing field too: the only required field is a function's name. */
const misnamed =
  "Invalid function name at '{path}'. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 128."

export const { closed, list, insist, where, typed } = shapesIn({
  name: (field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  item: (path, index) => `${path}[${index}]`,
  unknown: (path, name) => {
    const at = path === "" ? "" : ` at '${path}'`
    return invalid(`Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`)
  },
  missing: misnamed,
  noObject: "Invalid value at '{path}'",
  noList: "Invalid value at '{path}'",
  refused: (_, message) => invalid(message)
})
export const text: Shape<string> = typed(
  (value) => typeof value === "string",
  "Invalid value at '{path}' (TYPE_STRING)"
)
export const struct = typed(isObject, "Invalid value at '{path}' (type.googleapis.com/google.protobuf.Struct)")
export const functionName = where(stringOf, (name) => /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name), misnamed)
