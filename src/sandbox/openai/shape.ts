/** Schemas of requests: what a value may be. Each refuses what is not so as OpenAI's API does, with the path of the parameter. */
import { type Shape, shapesIn } from "../shape.ts"
import { insist, OpenAiRefusal } from "./shared.ts"

export { anything, free, type Shape } from "../shape.ts"

const under = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`)
const quoted = (names: ReadonlyArray<string>): string => names.map((name) => `'${name}'`).join(", ")
const refusal = (message: string, path: string, code: string) => new OpenAiRefusal(message, path, code)

const shapes = shapesIn({
  nullable: true,
  field: under,
  item: (path, index) => `${path}[${index}]`,
  inside: (path) => path,
  unknown: (path, name) =>
    refusal(`Unknown parameter: '${under(path, name)}'.`, under(path, name), "unknown_parameter"),
  missing: (path, name) =>
    refusal(`Missing required parameter: '${under(path, name)}'.`, under(path, name), "missing_required_parameter"),
  noList: (path) => refusal(`Invalid type for '${path}': expected an array of objects.`, path, "invalid_type"),
  noVariant: (path, tag, name, known) =>
    refusal(`Invalid value: '${name}'. Supported values are: ${quoted(known)}.`, under(path, tag), "invalid_value")
})

export const { closed, variant } = shapes

export const text: Shape = (value, path) =>
  insist(typeof value === "string", `Invalid type for '${path}': expected a string.`, path, "invalid_type")

/** A list; `filled`: with an item at least. */
export const list = (shape: Shape, { filled = false }: { readonly filled?: boolean } = {}): Shape => {
  const items = shapes.list(shape)
  return (value, path) => {
    insist(
      !filled || !Array.isArray(value) || value.length > 0,
      `Invalid '${path}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
      path,
      "empty_array"
    )
    items(value, path)
  }
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
