/** Schemas that GPT's words are held to: those of `strict` tools and formats (docs/upstreams.md#structured-output-of-gpt). */
import { Refusal } from "../http.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, stringOf } from "../json.ts"

const unenforced =
  /^(?:minLength|maxLength|pattern|format|minimum|maximum|multipleOf|patternProperties|unevaluated\w+|propertyNames|m\w+Properties|m\w+Contains|contains|m\w+Items|uniqueItems|default|allOf|oneOf|not|if|then|else|dependent\w+)$/

/** The schemas directly below one, with the keywords that lead to them. */
const below = (schema: JsonObject): ReadonlyArray<readonly [ReadonlyArray<string>, Json]> => [
  ...["properties", "$defs", "definitions"].flatMap((keyword) =>
    Object.entries(objectOf(schema[keyword])).map(([name, inner]) => [[keyword, name], inner] as const)
  ),
  ...arrayOf(schema.anyOf).map((inner, at) => [["anyOf", String(at)], inner] as const),
  ...(isObject(schema.items) ? [[["items"], schema.items] as const] : [])
]

/** As Python prints a tuple. */
const tuple = (path: ReadonlyArray<string>): string => `(${path.map((name) => `'${name}'`).join(", ")})`

/** What is wrong with a schema, outermost first. */
const wrongIn = (schema: JsonObject, path: ReadonlyArray<string> = []): string | undefined => {
  const context = `In context=${tuple(path)}, `
  const names = Object.keys(objectOf(schema.properties))
  const isOfObjects = schema.type === "object" || names.length > 0
  if (isOfObjects && schema.additionalProperties !== false)
    return `${context}'additionalProperties' is required to be supplied and to be false.`
  const missing = names.find((name) => !arrayOf(schema.required).includes(name))
  if (missing !== undefined)
    return `${context}'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`
  const keyword = Object.keys(schema).find((keyword) => unenforced.test(keyword))
  if (keyword !== undefined) return `${context}'${keyword}' is not permitted.`
  for (const [step, inner] of below(schema)) {
    const wrong = wrongIn(objectOf(inner), [...path, ...step])
    if (wrong !== undefined) return wrong
  }
  return undefined
}

const check = (given: Json | undefined, schema: Json | undefined, what: string, param: string, code: string): void => {
  const { name, strict } = objectOf(given)
  const wrong = strict === true ? wrongIn(objectOf(schema)) : undefined
  if (wrong === undefined) return
  throw new Refusal({ status: 400, message: `Invalid schema for ${what} '${stringOf(name)}': ${wrong}`, code, param })
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
