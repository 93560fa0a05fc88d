/** A part of a tool's schema, and how its content is read. */
import type { Tick } from "./listedNames.ts"

/**
 * How the content of a keyword is read. One that is not listed holds a schema, or an array of them, because a reference may point
 * into any:
 * - `properties`: keys are property names, values schemas
 * - `dependents`: the same, and a value may be a property name or a list of them
 * - `patterns`: keys are regular expressions over property names, values schemas
 * - `definitions`: keys name schemas, not properties, so that only the values are looked at
 * - `naming`: a schema that describes property names, so that its `enum`, `const` and `pattern` name properties
 * - `discriminator`: its `propertyName` names a property
 * - `mapping`: keys are values, and values references
 * - `value`: plain data
 */
const keywords = {
  schema: [],
  properties: ["properties"],
  dependents: ["dependentSchemas", "dependentRequired", "dependencies"],
  patterns: ["patternProperties"],
  definitions: ["$defs", "definitions"],
  naming: ["propertyNames"],
  discriminator: ["discriminator"],
  mapping: [],
  value: ["enum", "const", "default", "example", "examples"]
}
export type Role = keyof typeof keywords
const roles = new Map(
  Object.entries(keywords).flatMap(([role, words]) => words.map((word): [string, Role] => [word, role as Role]))
)
/** Lists of property names. */
const lists: ReadonlySet<string> = new Set(["required", "propertyOrdering"])

export interface Pace {
  readonly tick: Tick
  /** Characters of the patterns of all tools so far. */
  patterns: number
}

export interface Node {
  readonly value: object
  readonly role: Role
  readonly depth: number
  readonly key: string
  readonly parent: Node | undefined
  /** Reached by a reference into what is otherwise not read as a schema. */
  readonly referred: boolean
}

const none: ReadonlyArray<string> = []
const strings = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).filter((entry) => typeof entry === "string")

export const isPattern = (role: Role, key: string): boolean =>
  role === "patterns" || (role === "naming" && key === "pattern")

/** The property names, or the patterns for them, that the entry `key: value` of a node brings up. */
export const namesOf = (role: Role, key: string, value: unknown): ReadonlyArray<string> => {
  if (role === "properties" || role === "patterns") return [key]
  if (role === "dependents") return [key, ...strings(value)]
  if (role === "naming" && (key === "enum" || key === "const" || key === "pattern")) return strings(value)
  if (role === "discriminator" && key === "propertyName") return strings(value)
  return lists.has(key) && Array.isArray(value) && role !== "definitions" && role !== "mapping" ? strings(value) : none
}

export const roleOf = ({ role, value }: Node, key: string): Role => {
  // What lies within a value is a value, whatever its keys are called.
  if (Array.isArray(value) || role === "value") return role
  if (role === "discriminator" && key === "mapping") return "mapping"
  // What a name must not be does not name it.
  if (role === "naming") return roles.get(key) ?? (key === "not" ? "schema" : "naming")
  return role === "schema" || role === "discriminator" ? (roles.get(key) ?? "schema") : "schema"
}

export const entryOf = (value: object, key: string): unknown =>
  Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
export const isHeld = (value: unknown): value is object => typeof value === "object" && value !== null
export const childOf = (parent: Node, key: string, value: object, depth = 1): Node => {
  const { referred } = parent
  return { value, role: roleOf(parent, key), depth, key, parent, referred }
}
