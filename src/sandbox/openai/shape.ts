/** Shapes of requests to GPT: what is not so is refused as OpenAI's API does, with the path of the parameter and a code. */
import { Refusal } from "../http.ts"
import { quoted, type Shape, shapesIn, under } from "../shape.ts"

const codes: ReadonlyArray<readonly [code: string, said: RegExp]> = [
  ["unknown_parameter", /^Unknown parameter/],
  ["missing_required_parameter", /^Missing required/],
  ["unsupported_parameter", /^Unsupported parameter|^Background mode|hosted shells|gives one choice/],
  ["unsupported_value", /^Unsupported value/],
  ["unsupported_content_type", /^This model does not support (?:image|file)/],
  ["invalid_type", /^Invalid type/],
  ["invalid_function_parameters", /^Invalid schema/],
  ["invalid_image_url", /^Invalid image URL/],
  ["invalid_image_format", /^The image data/],
  ["invalid_encrypted_content", /could not be verified/],
  ["previous_response_not_found", /^Previous response/],
  ["empty_array", /: empty array/],
  ["array_above_max_length", /: array too long/],
  ["string_above_max_length", /: string too long/],
  ["integer_below_min_value", /: integer below/],
  ["integer_above_max_value", /: integer above/],
  ["decimal_above_max_value", /: expected a value between/],
  ["invalid_value", /^Invalid value:|does not match pattern|that begins with|too large|cannot be mixed/]
]

/** Without a path, what it says first in quotation marks is the parameter. */
const refused = (path: string, message: string): Refusal =>
  new Refusal({
    status: 400,
    message,
    code: codes.find(([, said]) => said.test(message))?.[0],
    param: path || /'([^']+)'/.exec(message)?.[1]
  })

export const { closed, variant, list, insist, where, typed } = shapesIn({
  nullable: true,
  field: under,
  item: (path, index) => `${path}[${index}]`,
  unknown: (path, name) => refused(under(path, name), `Unknown parameter: '${under(path, name)}'.`),
  missing: (path, name) => refused(under(path, name), `Missing required parameter: '${under(path, name)}'.`),
  noList: (path) => refused(path, `Invalid type for '${path}': expected an array of objects.`),
  noVariant: (path, tag, name, known) =>
    refused(under(path, tag), `Invalid value: '${name}'. Supported values are: ${quoted(known)}.`),
  refused
})

export const text = typed((value) => typeof value === "string", "Invalid type for '{path}': expected a string.")

/** A list with an item at least. */
export const filled = <A>(shape: Shape<A>): Shape<ReadonlyArray<A>> =>
  where(list(shape), (items) => ({
    "Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead.":
      items.length > 0
  }))

/** What the model or the request makes impossible. */
export const never = (message: string): Shape<never> => typed((_): _ is never => false, message)

/** What is said of a parameter that the model does not take. */
export const unsupported = (name: string): string =>
  `Unsupported parameter: '${name}' is not supported with this model.`
