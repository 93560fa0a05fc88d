/** The table of a usage record's fields, made from its schema. */
import { Schema } from "effect"
import { UsageRecord } from "../../src/limits/UsageRecord.ts"

type Json = ReturnType<typeof JSON.parse>

const typeOf = (schema: Json): string => {
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" or ")
  if (schema.enum !== undefined) return schema.enum.map((one: string) => `\`${one}\``).join(", ")
  if (schema.type === "object" && schema.additionalProperties?.type !== undefined)
    return `object of ${typeOf(schema.additionalProperties)}s`
  return schema.type === "array" ? `array of ${typeOf(schema.items)}s` : schema.type
}

const rows = (schema: Json, before: string): ReadonlyArray<string> =>
  Object.entries<Json>(schema.properties).flatMap(([name, property]) => {
    const isOptional = !schema.required.includes(name)
    // What may be absent is stated as what may be null, too, which JSON has no use for.
    const [own] = isOptional ? property.anyOf : [property]
    const object = [own, ...(own.anyOf ?? [])].find(({ properties }) => properties !== undefined)
    const row = `| \`${before}${name}\` | ${typeOf(own)}${isOptional ? "; may be absent" : ""} | ${own.description} |`
    return [row, ...(object === undefined ? [] : rows(object, `${before}${name}.`))]
  })

export const recordTable = (): string => {
  const { schema } = Schema.toJsonSchemaDocument(UsageRecord)
  return ["| Field | Type | What it holds |", "|---|---|---|", ...rows(schema, "")].join("\n")
}
