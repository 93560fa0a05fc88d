/**
 * Screens the tools of a request for parameters that describe an outbound destination (docs/api.md#tool-screen): the walk through their
 * schemas.
 */
import { type Slices, sliceValues } from "../wire/slices.ts"
import { readers, type ScreenMode } from "./forbiddenNames.ts"
import {
  childOf,
  entryOf,
  isHeld,
  isPattern,
  makeReferences,
  maxPlaces,
  maxSteps,
  maxText,
  type Node,
  namesOf,
  type Pace,
  type Role,
  references,
  roleOf
} from "./toolSchema.ts"

/** Schemas nested inside each other, at most. */
export const maxSchemaDepth = 256
/** Objects and arrays in one tool's schema, at most; those inside plain values (`enum`, `default`, …) do not count. */
const maxSchemaNodes = 100_000
/** Characters of all patterns for names, at most. */
const maxPatterns = 262_144

const pointer = (node: Node | undefined, key: string): string =>
  node === undefined ? "" : `${pointer(node.parent, node.key)}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`

/** Caller-made text inside a message: no more than a line's worth, and cut between characters. */
const quote = (text: string): string =>
  `'${text
    .slice(0, 128)
    .toWellFormed()
    .replace(/\uFFFD$/, "")}${text.length > 128 ? "…" : ""}'`

/**
 * Why a tool may not leave. `path` is a JSON Pointer into the tool's schema; `parameter` is the name as the caller wrote it, which
 * reads as the listed one, and empty when the schema was refused for its size.
 */
const refuse = (
  tool: string,
  kind: "destination" | "too-deep" | "too-large",
  path: string,
  parameter = "",
  listed = ""
) => {
  const reads = parameter.toLowerCase() === listed ? "" : ` (reads as '${listed}')`
  const why = {
    destination: `parameter ${quote(parameter)}${reads} at ${quote(path)} names an outbound destination, which is not allowed. Remove it, or leave the tool out: where data goes is for the tool's code to decide, not for the model.`,
    "too-deep": `its parameter schema is nested deeper than ${maxSchemaDepth} levels and cannot be checked. Flatten it, or share parts of it with '$defs' and '$ref'.`,
    "too-large": `its parameter schema cannot be checked at ${quote(path)}. It may have ${maxSchemaNodes} objects and arrays, names and references of ${maxText} characters that lead to at most ${maxPlaces} places in ${maxSteps} steps together, and patterns for names of ${maxPatterns} characters. Split the tool or shorten its schema.`
  }
  return { tool, parameter, path, kind, message: `Tool ${quote(tool)}: ${why[kind]}` }
}

type Refusal = ReturnType<typeof refuse>

function* screenTool(tool: string, schema: object, mode: ScreenMode, pace: Pace): Slices<Refusal | undefined> {
  // Breadth first and without recursion: the outermost parameter is reported, and no depth overflows the stack.
  const root: Node = { value: schema, role: "schema", depth: 1, key: "", parent: undefined, referred: false }
  const queue: Array<Node> = [root]
  // What references reach is read a single time in each role, so that they may point anywhere, in circles too.
  const seen: Partial<Record<Role, Set<object>>> = {}
  const isNew = ({ role, value }: Node): boolean => {
    seen[role] ??= new Set()
    return seen[role].size !== seen[role].add(value).size
  }
  const { inName, inPattern } = readers[mode]
  const { tick } = pace
  const targetsOf = makeReferences(root, pace)

  for (const node of queue) {
    const inArray = Array.isArray(node.value)
    const isMapping = node.role === "mapping"
    for (const key of isMapping ? Object.keys(node.value) : inArray ? [] : references) {
      const reference = entryOf(node.value, key)
      if (typeof reference !== "string") continue
      const role = isMapping ? "schema" : node.role
      const targets = yield* targetsOf(node, reference)
      if (targets === undefined) return refuse(tool, "too-large", pointer(node, key))
      for (const target of targets) {
        const again: Node = { ...target, role, depth: 1, referred: true }
        // What the walk reads in this role anyway needs no second look.
        if (target.role !== role && !(role === "schema" && target.role === "naming") && isNew(again)) queue.push(again)
      }
      if (queue.length > maxSchemaNodes) return refuse(tool, "too-large", pointer(node, key))
    }
    for (const key of Object.keys(node.value)) {
      if (tick()) yield
      const value = (node.value as Record<string, unknown>)[key]
      for (const name of inArray ? [] : namesOf(node.role, key, value)) {
        const spells = isPattern(node.role, key)
        if (spells) pace.patterns += name.length
        if (name.length > maxText || pace.patterns > maxPatterns) return refuse(tool, "too-large", pointer(node, key))
        if (tick(name.length)) yield
        const listed = spells ? yield* inPattern(name, tick) : inName(name)
        if (listed !== undefined) return refuse(tool, "destination", pointer(node, key), spells ? listed : name, listed)
      }
      if (!isHeld(value)) continue
      const role = roleOf(node, key)
      if (role === "value") continue
      const isSchema = role === "schema" || role === "naming" || role === "discriminator"
      const depth = inArray || (isSchema && !Array.isArray(value)) ? node.depth + 1 : node.depth
      if (depth > maxSchemaDepth) return refuse(tool, "too-deep", pointer(node, key))
      if (queue.length >= maxSchemaNodes) return refuse(tool, "too-large", pointer(node, key))
      const child = childOf(node, key, value, depth)
      if (!node.referred || isNew(child)) queue.push(child)
    }
  }
  return undefined
}

/**
 * The first reason, in the order of the tools, why a request's tools may not be sent to a model, or `undefined`
 * (docs/api.md#tool-screen). Every place of a schema that names a property is looked at; names that are only values
 * (`enum`, `const`, `default`, `examples`, texts) or that name a definition (`$defs`) are not, unless a reference makes them a
 * schema. A `required` entry counts, since it may be the only place that names its property. Linear in the size of the schemas,
 * in slices of a few milliseconds, and never throws.
 */
export function* screen(
  tools: ReadonlyArray<{ readonly name: string; readonly schema: unknown }>,
  mode: ScreenMode
): Slices<Refusal | undefined> {
  let left = sliceValues
  const tick = (characters = 0): boolean => {
    left -= 1 + (characters >> 2)
    if (left > 0) return false
    left = sliceValues
    return true
  }
  const pace = { tick, patterns: 0, steps: 0 }
  for (const { name, schema } of tools) {
    const refusal = isHeld(schema) ? yield* screenTool(name, schema, mode, pace) : undefined
    if (refusal !== undefined) return refusal
  }
  return undefined
}
