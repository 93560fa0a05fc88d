/** Shapes of requests to Claude: what is not so is refused in Anthropic's words. */
import { invalid, type Refusal } from "../http.ts"
import { isObject, objectOf, stringOf } from "../json.ts"
import { quoted, type Shape, shapesIn, under } from "../shape.ts"

/** The refusal of what stands at a path; with no path, of the request. */
const refused = (path: string, message: string): Refusal => invalid(path === "" ? message : `${path}: ${message}`)

export const { closed, variant, list, insist, where, typed } = shapesIn({
  item: under,
  inside: under,
  unknown: (path, name) => refused(under(path, name), "Extra inputs are not permitted"),
  missing: "Field required",
  noObject: "Input should be a valid dictionary",
  noList: "Input should be a valid list",
  noVariant: (path, tag, name, known) =>
    refused(path, `Input tag '${name}' found using '${tag}' does not match any of the expected tags: ${known}`),
  refused
})

const isText = (value: unknown): value is string => typeof value === "string"
export const text = typed(isText, "Input should be a valid string")
export const dictionary = typed(isObject, "Input should be a valid dictionary")

export const oneOf = <const S extends string>(values: ReadonlyArray<S>, said = quoted(values)): Shape<S> =>
  typed((value): value is S => values.some((one) => one === value), `Input should be ${said}`)

export const matching = (pattern: RegExp): Shape<string> =>
  typed(
    (value): value is string => isText(value) && pattern.test(value),
    `String should match pattern '${pattern.source}'`
  )

/** A whole number that is not less. */
export const whole = (least: number): Shape<number> =>
  where(
    typed((value): value is number => Number.isInteger(value), "Input should be a valid integer"),
    (value) => ({ [`Input should be greater than or equal to ${least}`]: value >= least })
  )

const unenforced =
  /^(?:minimum|maximum|exclusive\w+|multipleOf|minLength|maxLength|pattern|maxItems|uniqueItems|oneOf|not|if|patternProperties)$/

/** A JSON Schema for `strict` tools and for `output_config.format`: closed objects, and only keywords that can be enforced. */
export const enforced: Shape = (given, path) => {
  const schema = objectOf(given)
  const wrong = Object.keys(schema).find((keyword) => unenforced.test(keyword))
  const open = schema.type === "object" && schema.additionalProperties !== false
  insist({ "For 'object' type, 'additionalProperties' must be explicitly set to false": !open }, path)
  insist({ [`For '${stringOf(schema.type)}' type, property '${wrong}' is not supported`]: wrong === undefined }, path)
  if (isObject(schema.items)) enforced(schema.items, `${path}.items`)
  for (const keyword of ["properties", "$defs"])
    for (const [name, inner] of Object.entries(objectOf(schema[keyword]))) enforced(inner, `${path}.${keyword}.${name}`)
}
