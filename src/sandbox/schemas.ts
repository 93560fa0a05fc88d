/** The schemas within a JSON Schema, for vendors that hold their models to one. */
import { arrayOf, isObject, type Json, type JsonObject, objectOf } from "./json.ts"

type Path = ReadonlyArray<string>

/** A schema and all below it, outermost first, each with the keys that lead to it. `lists`: keywords that hold lists of schemas. */
export const schemasIn = (
  given: Json | undefined,
  lists: ReadonlyArray<string>,
  path: Path = []
): ReadonlyArray<readonly [path: Path, schema: JsonObject]> => {
  const schema = objectOf(given)
  const below: ReadonlyArray<readonly [Path, Json]> = [
    ...["properties", "$defs", "definitions"].flatMap((keyword) =>
      Object.entries(objectOf(schema[keyword])).map(([name, inner]) => [[keyword, name], inner] as const)
    ),
    ...lists.flatMap((keyword) => arrayOf(schema[keyword]).map((inner, at) => [[keyword, String(at)], inner] as const)),
    ...(isObject(schema.items) ? [[["items"], schema.items] as const] : [])
  ]
  return [[path, schema], ...below.flatMap(([step, inner]) => schemasIn(inner, lists, [...path, ...step]))]
}
