/** Schemas that GPT's words are held to: those of `strict` tools and formats (docs/upstreams.md#structured-output-of-gpt). */
import { Refusal } from "../http.ts"
import { arrayOf, type Json, type JsonObject, objectOf, printed, stringOf } from "../json.ts"
import { schemasIn } from "../schemas.ts"

const unenforced =
  /^(?:minLength|maxLength|patternProperties|unevaluated\w+|propertyNames|m\w+Properties|m\w+Contains|contains|uniqueItems|allOf|oneOf|not|if|then|else|dependent\w+)$/

/** As Python prints a tuple. */
export const tuple = (path: ReadonlyArray<string>): string => `(${path.map((name) => `'${name}'`).join(", ")})`

/** What is wrong with a schema itself, and not with those below it. */
const wrongIn = (schema: JsonObject): string | undefined => {
  const names = Object.keys(objectOf(schema.properties))
  if ((schema.type === "object" || names.length > 0) && schema.additionalProperties !== false)
    return "'additionalProperties' is required to be supplied and to be false."
  const required = new Set(arrayOf(schema.required))
  const missing = names.find((name) => !required.has(name))
  if (missing !== undefined)
    return `'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`
  const keyword = Object.keys(schema).find((keyword) => unenforced.test(keyword))
  return keyword && `'${keyword}' is not permitted.`
}

const check = (given: Json | undefined, schema: Json | undefined, what: string, param: string, code: string): void => {
  const { name, strict } = objectOf(given)
  if (strict !== true) return
  const refused = (wrong: string) =>
    new Refusal({ status: 400, message: `Invalid schema for ${what} '${stringOf(name)}': ${wrong}`, code, param })
  const { type = "None" } = objectOf(schema)
  // Those of functions are objects.
  if (type !== "object" && what === "response_format")
    throw refused(`schema must be a JSON Schema of 'type: "object"', got 'type: "${printed(type)}"'.`)
  for (const [path, inner] of schemasIn(schema, ["anyOf"])) {
    const wrong = wrongIn(inner)
    if (wrong !== undefined) throw refused(`In context=${tuple(path)}, ${wrong}`)
  }
}

/** `format`: what has the schema of the answer, and where that stands in the request. Chat's functions stand inside their tools. */
export const checkStrict = (tools: Json | undefined, format: Json | undefined, place: string): void => {
  check(format, objectOf(format).schema, "response_format", place, "invalid_json_schema")
  for (const [at, tool] of arrayOf(tools).entries()) {
    const inside = objectOf(tool).function
    const path = `tools[${at}]${inside === undefined ? "" : ".function"}.parameters`
    const called = inside ?? tool
    check(called, objectOf(called).parameters, "function", path, "invalid_function_parameters")
  }
}
