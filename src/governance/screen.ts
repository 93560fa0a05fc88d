import { foldName } from "./fold.ts"

/** The parameter names that describe an outbound destination (docs/api.md#tool-screen). */
export const forbiddenNames: ReadonlyArray<string> = [
  ...["destination", "destination_url", "dest_url", "dst_url"],
  ...["webhook", "webhook_url", "webhooks"],
  ...["callback", "callback_url"],
  ...["forward_to", "forward_url", "send_to", "post_to", "push_to"],
  ...["target_url", "target_host"],
  ...["upload_url", "ingest_url", "notification_url", "notify_url", "report_url", "sink_url"],
  ...["exfil_url", "exfiltrate"]
]

/** `spec` compares names case-insensitively; `strict` also sees through spelling tricks (see `foldName`). */
export type ScreenMode = "spec" | "strict"

/**
 * Why a tool may not leave. `path` is a JSON Pointer into the tool's schema; `parameter` is the name as the caller wrote
 * it, and empty when the schema was refused for its size.
 */
export interface ScreenRefusal {
  readonly tool: string
  readonly parameter: string
  readonly path: string
  readonly kind: "destination" | "too-deep" | "too-large"
  readonly message: string
}

/** Schemas nested inside each other, at most. */
export const maxSchemaDepth = 256
/** Objects and arrays in one tool's schema, at most; those inside plain values (`enum`, `default`, …) do not count. */
export const maxSchemaNodes = 100_000

/**
 * How the content of a keyword is read:
 * - `schema`: a schema, or an array of schemas
 * - `properties`: keys are property names, values schemas
 * - `dependents`: the same, and a value may be a list of property names
 * - `patterns`: keys are regular expressions over property names, values schemas
 * - `definitions`: keys name schemas, not properties, so that only the values are looked at
 * - `naming`: a schema that describes property names, so that its `enum`, `const` and `pattern` name properties
 * - `value`: plain data
 */
type Role = "schema" | "properties" | "dependents" | "patterns" | "definitions" | "naming" | "value"

// A keyword that is not listed is read as a schema, because `$ref` may point into any of them.
const roles: ReadonlyMap<string, Role> = new Map([
  ["properties", "properties"],
  ["dependentSchemas", "dependents"],
  ["dependentRequired", "dependents"],
  ["dependencies", "dependents"],
  ["patternProperties", "patterns"],
  ["$defs", "definitions"],
  ["definitions", "definitions"],
  ["propertyNames", "naming"],
  ["enum", "value"],
  ["const", "value"],
  ["default", "value"],
  ["example", "value"],
  ["examples", "value"]
])

/** Longer names are not folded; what they cost would grow with them, and they name nothing that anyone reads. */
export const maxFoldedName = 128

interface Node {
  readonly value: object
  readonly role: Role
  readonly depth: number
  readonly key: string
  readonly parent: Node | undefined
  /** Reached by a reference into what is otherwise not read as a schema. */
  readonly referred: boolean
}

const exactNames = new Set(forbiddenNames)
const foldedNames = new Map(forbiddenNames.map((name) => [foldName(name), name]))

const match = (name: string, mode: ScreenMode): string | undefined => {
  if (name.length > maxFoldedName) return undefined
  const lower = name.toLowerCase()
  if (exactNames.has(lower)) return lower
  return mode === "strict" ? foldedNames.get(foldName(name)) : undefined
}

/** The names a pattern spells out: `^webhook_url$`, `^(webhook|callback)$`, `^dest[_]url$`. Other patterns match nothing. */
const namesOfPattern = (pattern: string): ReadonlyArray<string> =>
  pattern.replace(/\(\?:|\\[AbZz]|[\^$()\\[\]]/g, "").split("|")

const strings = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).filter((entry) => typeof entry === "string")

/** The property names that the entry `key: value` of a node brings up. */
const namesOf = (role: Role, key: string, value: unknown): ReadonlyArray<string> => {
  switch (role) {
    case "properties":
      return [key]
    case "dependents":
      return Array.isArray(value) ? [key, ...strings(value)] : [key]
    case "patterns":
      return namesOfPattern(key)
    case "naming":
      if (key === "enum" || key === "const") return strings(value)
      if (key === "pattern") return strings(value).flatMap(namesOfPattern)
      return key === "required" && Array.isArray(value) ? strings(value) : []
    case "schema":
      return key === "required" && Array.isArray(value) ? strings(value) : []
    default:
      return []
  }
}

const roleOf = (node: Node, key: string): Role => {
  if (Array.isArray(node.value)) return node.role
  switch (node.role) {
    case "schema":
      return roles.get(key) ?? "schema"
    case "naming":
      // What a name must not be does not name it.
      return roles.get(key) ?? (key === "not" ? "schema" : "naming")
    default:
      return "schema"
  }
}

const pointer = (node: Node, key: string): string => {
  const keys = [key]
  for (let at: Node | undefined = node; at?.parent !== undefined; at = at.parent) keys.push(at.key)
  return keys
    .reverse()
    .map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("")
}

/** Caller-made text inside a message: no more than a line's worth, and cut between characters. */
const quote = (text: string): string =>
  `'${
    text.length > 128
      ? `${text
          .slice(0, 127)
          .toWellFormed()
          .replace(/\uFFFD$/, "")}…`
      : text.toWellFormed()
  }'`

const refuse = (
  tool: string,
  kind: ScreenRefusal["kind"],
  path: string,
  parameter = "",
  listed = ""
): ScreenRefusal => {
  const reads = parameter.toLowerCase() === listed ? "" : ` (reads as '${listed}')`
  const why = {
    destination: `parameter ${quote(parameter)}${reads} at ${quote(path)} names an outbound destination, which is not allowed. Remove it or rename it: 'url', 'uri', 'endpoint', 'host' and 'hostname' are allowed.`,
    "too-deep": `its parameter schema is nested deeper than ${maxSchemaDepth} levels and cannot be checked. Flatten it, or share parts of it with '$defs' and '$ref'.`,
    "too-large": `its parameter schema has more than ${maxSchemaNodes} objects and arrays and cannot be checked. Split the tool or shorten its schema.`
  }
  return { tool, parameter, path, kind, message: `Tool ${quote(tool)}: ${why[kind]}` }
}

const unescapePointer = (part: string): string => {
  if (!part.includes("%") && !part.includes("~")) return part
  let plain = part
  try {
    plain = decodeURIComponent(part)
  } catch {
    // Not percent-encoded, then: the key as it stands.
  }
  return plain.replaceAll("~1", "/").replaceAll("~0", "~")
}

/** What `$ref` points to within the tool's schema, with the role that the way there gives it. */
const targetOf = (root: Node, reference: unknown): Node | undefined => {
  if (typeof reference !== "string") return undefined
  const hash = reference.indexOf("#")
  if (hash < 0 || reference[hash + 1] !== "/") return undefined
  const { $id } = root.value as { readonly $id?: unknown }
  if (hash > 0 && (typeof $id !== "string" || reference.slice(0, hash) !== $id.replace(/#$/, ""))) return undefined
  let node = root
  for (let from = hash + 2; ; ) {
    const slash = reference.indexOf("/", from)
    const key = unescapePointer(reference.slice(from, slash < 0 ? reference.length : slash))
    const value: unknown = Object.hasOwn(node.value, key) ? (node.value as Record<string, unknown>)[key] : undefined
    if (typeof value !== "object" || value === null) return undefined
    // What lies within a value is a value, whatever its keys are called.
    const role = node.role === "value" ? "value" : roleOf(node, key)
    node = { value, role, depth: 1, key, parent: node, referred: true }
    if (slash < 0) return node
    from = slash + 1
  }
}

const references = ["$ref", "$dynamicRef", "$recursiveRef"] as const

/** Names that are compared in one step: folding the worst of them takes 20 microseconds. */
const namesOfStep = 128

/** Yields after each step. */
function* screenTool(tool: string, schema: unknown, mode: ScreenMode): Generator<void, ScreenRefusal | undefined> {
  if (typeof schema !== "object" || schema === null) return undefined
  // Breadth first and without recursion: the outermost parameter is reported, and no depth overflows the stack.
  const root: Node = { value: schema, role: "schema", depth: 1, key: "", parent: undefined, referred: false }
  const queue: Array<Node> = [root]
  // What references reach is looked at once in each role, so that they may point anywhere, in circles too.
  const seen = new Map<Role, Set<object>>()
  let compared = 0
  const isNew = (node: Node): boolean => {
    const known = seen.get(node.role)
    if (known === undefined) seen.set(node.role, new Set([node.value]))
    else if (known.has(node.value)) return false
    else known.add(node.value)
    return true
  }
  for (let head = 0; head < queue.length; head++) {
    if (head % 1024 === 1023) yield
    const node = queue[head] as Node
    const inArray = Array.isArray(node.value)
    if (!inArray && (node.role === "schema" || node.role === "naming")) {
      for (const keyword of references) {
        if (!Object.hasOwn(node.value, keyword)) continue
        const found = targetOf(root, (node.value as Record<string, unknown>)[keyword])
        // What the walk reads in this role anyway needs no second look.
        if (found === undefined || found.role === node.role || found.role === "naming") continue
        const target: Node = { ...found, role: node.role }
        if (!isNew(target)) continue
        if (queue.length >= maxSchemaNodes) return refuse(tool, "too-large", pointer(node, keyword))
        queue.push(target)
      }
    }
    for (const [key, value] of Object.entries(node.value) as Array<[string, unknown]>) {
      if (!inArray) {
        for (const name of namesOf(node.role, key, value)) {
          const listed = match(name, mode)
          if (listed !== undefined) return refuse(tool, "destination", pointer(node, key), name, listed)
          if (++compared % namesOfStep === 0) yield
        }
      }
      if (typeof value !== "object" || value === null) continue
      const role = roleOf(node, key)
      if (role === "value") continue
      const isSchema = role === "schema" || role === "naming"
      const depth = inArray || (isSchema && !Array.isArray(value)) ? node.depth + 1 : node.depth
      if (depth > maxSchemaDepth) return refuse(tool, "too-deep", pointer(node, key))
      if (queue.length >= maxSchemaNodes) return refuse(tool, "too-large", pointer(node, key))
      const child: Node = { value, role, depth, key, parent: node, referred: node.referred }
      if (!node.referred || isNew(child)) queue.push(child)
    }
  }
  return undefined
}

type Tools = ReadonlyArray<{ readonly name: string; readonly schema: unknown }>

function* screenAll(tools: Tools, mode: ScreenMode): Generator<void, ScreenRefusal | undefined> {
  for (const { name, schema } of tools) {
    const refusal = yield* screenTool(name, schema, mode)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** The screen of a request's tools, step by step; each takes a few milliseconds at most. */
export class Screen {
  /** Known when `step` has answered true. */
  refusal: ScreenRefusal | undefined
  private readonly walk: Generator<void, ScreenRefusal | undefined>

  constructor(tools: Tools, mode: ScreenMode) {
    this.walk = screenAll(tools, mode)
  }

  /** Screens on; true at the end. */
  readonly step = (): boolean => {
    const next = this.walk.next()
    if (next.done !== true) return false
    this.refusal = next.value
    return true
  }
}

/**
 * The first reason, in the order of the tools, why a request's tools may not be sent to a model, or `undefined`
 * (docs/api.md#tool-screen). Every place of a schema that names a property is looked at; names that are only values
 * (`enum`, `const`, `default`, `examples`, texts) or that name a definition (`$defs`) are not, unless a `$ref` into them
 * makes them a schema. A `required` entry counts, since it may be the only place that names its property. Linear in the size of
 * the schemas, and never throws.
 */
export const screenTools = (tools: Tools, mode: ScreenMode): ScreenRefusal | undefined => {
  const screen = new Screen(tools, mode)
  while (!screen.step());
  return screen.refusal
}
