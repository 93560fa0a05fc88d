/** TypeScript declarations of the schemas of the OpenAPI document, with what they say about themselves. */
import type { JsonSchema } from "./jsonSchema.ts"

const schemaOf = (value: unknown): JsonSchema => Object(value)
const list = (value: unknown): ReadonlyArray<JsonSchema> => (Array.isArray(value) ? value.map(schemaOf) : [])
const words = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value.map(String) : [])
const literal = (value: unknown): string => (typeof value === "string" ? JSON.stringify(value) : String(value))
const nameOf = (reference: string): string => reference.split("/").at(-1) ?? reference

/** Every object of another type: in a union of types it would hide which is which. */
const isOther = ({ properties }: JsonSchema): boolean => schemaOf(schemaOf(properties).type).not !== undefined

/** `^((?:a|b)[\s\S]*?)$` and the like are prefixes. */
const template = (pattern: unknown): string | undefined => {
  const found = /^\^\(?(?:\(\?:)?\(?([A-Za-z_|]+)\)?\)?\(?(?:\[\\s\\S\]|\.)\*\??\)?\)?\$$/.exec(String(pattern))
  return found?.[1] === undefined ? undefined : `\`\${${found[1].split("|").map(literal).join(" | ")}}\${string}\``
}

const comment = (schema: JsonSchema, indent: string): string => {
  const { description, default: fallback, examples, minimum, maximum, maxLength, maxItems } = schema
  const inner = list(schema.anyOf).find((part) => part.type !== "null" && part.$ref === undefined) ?? {}
  const limits = [
    [minimum ?? inner.minimum, "at least"],
    [maximum ?? inner.maximum, "at most"],
    [maxLength ?? inner.maxLength, "characters, at most"],
    [maxItems ?? inner.maxItems, "items, at most"]
  ].flatMap(([value, what]) => (value === undefined ? [] : [`${what} ${value}`]))
  const lines = [
    ...(typeof description === "string" ? [description] : []),
    ...(limits.length === 0 ? [] : [`Limits: ${limits.join(", ")}.`]),
    ...(fallback === undefined ? [] : [`@default ${JSON.stringify(fallback)}`]),
    ...(Array.isArray(examples) && typeof description === "string" ? [`@example ${JSON.stringify(examples[0])}`] : [])
  ].map((line) => line.replace(/\*\//g, "*\\/"))
  if (lines.length === 0) return ""
  return lines.length === 1
    ? `${indent}/** ${lines[0]} */\n`
    : `${indent}/**\n${lines.map((line) => `${indent} * ${line}`).join("\n")}\n${indent} */\n`
}

const typeOf = (schema: JsonSchema, indent: string): string => {
  if (typeof schema.$ref === "string") return nameOf(schema.$ref)
  if (Array.isArray(schema.enum)) return schema.enum.map(literal).join(" | ")
  const anyOf = list(schema.anyOf).filter((part) => !isOther(part) && part.not === undefined)
  if (anyOf.length > 0) {
    const named = anyOf.some((part) => Array.isArray(part.enum))
    const members = anyOf.map((part) =>
      named && part.type === "string" && part.enum === undefined ? "(string & {})" : typeOf(part, indent)
    )
    return [...new Set(members)].join(" | ")
  }
  switch (schema.type) {
    case "object":
      return objectOf(schema, indent)
    case "array": {
      const item = typeOf(schemaOf(schema.items), indent)
      return `ReadonlyArray<${item}>`
    }
    case "integer":
      return "number"
    case "string":
      return template(schema.pattern) ?? "string"
    case "number":
    case "boolean":
    case "null":
      return schema.type
    default:
      return "unknown"
  }
}

const objectOf = ({ properties, required, additionalProperties }: JsonSchema, indent: string): string => {
  const inner = `${indent}  `
  const needed = new Set(words(required))
  const fields = Object.entries(schemaOf(properties)).map(([name, value]) => {
    const schema = schemaOf(value)
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    return `${comment(schema, inner)}${inner}readonly ${key}${needed.has(name) ? "" : "?"}: ${typeOf(schema, inner)}\n`
  })
  if (additionalProperties === true) fields.push(`${inner}readonly [name: string]: unknown\n`)
  else if (typeof additionalProperties === "object" && additionalProperties !== null) {
    fields.push(`${inner}readonly [name: string]: ${typeOf(schemaOf(additionalProperties), inner)}\n`)
  }
  if (fields.length === 0) fields.push(`${inner}readonly [name: string]: unknown\n`)
  return `{\n${fields.join("")}${indent}}`
}

/** One exported type a schema. */
export const declarations = (schemas: Readonly<Record<string, unknown>>): string =>
  Object.entries(schemas)
    .map(([name, value]) => {
      const schema = schemaOf(value)
      const body = typeOf(schema, "")
      return schema.type === "object" && body.startsWith("{")
        ? `${comment({ description: schema.description }, "")}export interface ${name} ${body}\n`
        : `${comment({ description: schema.description }, "")}export type ${name} = ${body}\n`
    })
    .join("\n")
