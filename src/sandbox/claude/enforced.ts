/** Schemas that Claude is held to: closed objects, and only keywords that can be enforced. */
import { isObject, objectOf, stringOf } from "../json.ts"
import type { Shape } from "../shape.ts"
import { refusal } from "./shape.ts"

const unenforced =
  /^(?:minimum|maximum|exclusive\w+|multipleOf|minLength|maxLength|pattern|maxItems|uniqueItems|oneOf|not|if|patternProperties)$/

/** A JSON Schema for `strict` tools and for `output_config.format`. */
export const enforced: Shape = (given, path) => {
  const schema = objectOf(given)
  if (schema.type === "object" && schema.additionalProperties !== false) {
    throw refusal(path, "For 'object' type, 'additionalProperties' must be explicitly set to false")
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (unenforced.test(keyword)) {
      throw refusal(path, `For '${stringOf(schema.type)}' type, property '${keyword}' is not supported`)
    }
    if (keyword === "items" && isObject(value)) enforced(value, `${path}.items`)
    if (keyword !== "properties" && keyword !== "$defs") continue
    for (const [name, inner] of Object.entries(objectOf(value))) enforced(inner, `${path}.${keyword}.${name}`)
  }
}
