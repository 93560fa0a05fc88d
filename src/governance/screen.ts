import { type Slices, sliceValues } from "../wire/slices.ts"
import { foldCase, foldLetters } from "./fold.ts"
import { makeNameReader, type Tick } from "./listedNames.ts"

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

/** `spec` compares names case-insensitively; `strict` also sees through spelling tricks (see `foldLetters`). */
export type ScreenMode = "spec" | "strict"

const readers = {
  spec: makeNameReader(forbiddenNames, foldCase),
  strict: makeNameReader(forbiddenNames, foldLetters)
}

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
/** Characters of one name or reference, and of all patterns for names, at most. */
export const maxText = 16_384
export const maxPatterns = 262_144
/** Places that a reference may lead to, at most: it is one, unless identifiers repeat. */
export const maxPlaces = 16

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
type Role = keyof typeof keywords
const roles = new Map(
  Object.entries(keywords).flatMap(([role, words]) => words.map((word): [string, Role] => [word, role as Role]))
)
/** Lists of property names. */
const lists: ReadonlySet<string> = new Set(["required", "propertyOrdering"])

interface Pace {
  readonly tick: Tick
  /** Characters of the patterns of all tools so far. */
  patterns: number
}

interface Node {
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

const isPattern = (role: Role, key: string): boolean => role === "patterns" || (role === "naming" && key === "pattern")

/** The property names, or the patterns for them, that the entry `key: value` of a node brings up. */
const namesOf = (role: Role, key: string, value: unknown): ReadonlyArray<string> => {
  if (role === "properties" || role === "patterns") return [key]
  if (role === "dependents") return [key, ...strings(value)]
  if (role === "naming" && (key === "enum" || key === "const" || key === "pattern")) return strings(value)
  if (role === "discriminator" && key === "propertyName") return strings(value)
  return lists.has(key) && Array.isArray(value) && role !== "definitions" && role !== "mapping" ? strings(value) : none
}

const roleOf = ({ role, value }: Node, key: string): Role => {
  // What lies within a value is a value, whatever its keys are called.
  if (Array.isArray(value) || role === "value") return role
  if (role === "discriminator" && key === "mapping") return "mapping"
  // What a name must not be does not name it.
  if (role === "naming") return roles.get(key) ?? (key === "not" ? "schema" : "naming")
  return role === "schema" || role === "discriminator" ? (roles.get(key) ?? "schema") : "schema"
}

const entryOf = (value: object, key: string): unknown =>
  Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
const isHeld = (value: unknown): value is object => typeof value === "object" && value !== null
const childOf = (parent: Node, key: string, value: object, depth = 1): Node => {
  const { referred } = parent
  return { value, role: roleOf(parent, key), depth, key, parent, referred }
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
  `'${text
    .slice(0, 128)
    .toWellFormed()
    .replace(/\uFFFD$/, "")}${text.length > 128 ? "…" : ""}'`

const refuse = (tool: string, kind: ScreenRefusal["kind"], path: string, parameter = "", listed = "") => {
  const reads = parameter.toLowerCase() === listed ? "" : ` (reads as '${listed}')`
  const why = {
    destination: `parameter ${quote(parameter)}${reads} at ${quote(path)} names an outbound destination, which is not allowed. Remove it: where data goes is for the tool's code to decide, not for the model.`,
    "too-deep": `its parameter schema is nested deeper than ${maxSchemaDepth} levels and cannot be checked. Flatten it, or share parts of it with '$defs' and '$ref'.`,
    "too-large": `its parameter schema cannot be checked at ${quote(path)}. It may have ${maxSchemaNodes} objects and arrays, names and references of ${maxText} characters that lead to at most ${maxPlaces} places, and patterns for names of ${maxPatterns} characters. Split the tool or shorten its schema.`
  }
  return { tool, parameter, path, kind, message: `Tool ${quote(tool)}: ${why[kind]}` }
}

/** Percent-decoded, where that gives text. */
const decode = (text: string): string =>
  text.replace(/(?:%[\da-f]{2})+/gi, (encoded) => {
    try {
      return decodeURIComponent(encoded)
    } catch {
      return encoded
    }
  })

/** A reference: its URI in whole, where it is absolute, and the last segment, which is the same whatever it is relative to. */
const parse = (reference: string) => {
  const [, uri = "", fragment = ""] = /^([^#]*)#?(.*)$/s.exec(reference.trim()) ?? []
  const end = uri.slice(-maxText)
  const href = /^[a-z][a-z\d+.-]*:/i.test(uri) ? decode(URL.parse(end)?.href ?? end) : undefined
  const segment = /(?:^|[/:])([^/:?]*)(?:\?.*)?$/s.exec(href ?? decode(end))?.[1]?.replace(/^\.\.?$/, "")
  return { href, segment: uri === "" ? undefined : segment, fragment: decode(fragment.slice(0, maxText)) }
}

/** Where references may begin, by `#` and an anchor or by the last segment of an identifier. */
type Places = Map<string, Array<{ readonly node: Node; readonly href: string | undefined }>>

const references = ["$ref", "$dynamicRef", "$recursiveRef"]
const anchors = ["$anchor", "$dynamicAnchor"]
/** The second is of draft 4. */
const identifiers = ["$id", "id"]
const isResource = ({ parent, value }: Node): boolean =>
  parent === undefined || identifiers.some((keyword) => typeof entryOf(value, keyword) === "string")

/** The places in a schema and in the values that it holds. */
function* placesIn(root: Node, { tick }: Pace): Slices<Places> {
  const places: Places = new Map()
  const add = (name: string, node: Node, href?: string) => {
    const others = places.get(name) ?? []
    others.push({ node, href })
    places.set(name, others)
  }
  const stack = [root]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    for (const keyword of [...anchors, ...identifiers]) {
      const text = entryOf(node.value, keyword)
      if (typeof text !== "string") continue
      if (tick(text.length + 256)) yield
      const { segment, fragment, href } = parse(anchors.includes(keyword) ? `#${text}` : text)
      if (segment !== undefined) add(segment, node, href)
      if (fragment !== "") add(`#${fragment}`, node)
    }
    for (const [key, value] of Object.entries(node.value)) {
      if (isHeld(value)) stack.push(childOf(node, key, value))
      if (tick()) yield
    }
  }
  return places
}

/** What a JSON pointer leads to, with the role that the way there gives it. */
function* follow(start: Node, pointer: string, { tick }: Pace): Slices<Node | undefined> {
  let node = start
  for (let from = 1; from > 0; ) {
    const slash = pointer.indexOf("/", from)
    const key = pointer
      .slice(from, slash < 0 ? undefined : slash)
      .replaceAll("~1", "/")
      .replaceAll("~0", "~")
    const value = entryOf(node.value, key)
    if (!isHeld(value)) return undefined
    node = childOf(node, key, value)
    from = slash + 1
    if (tick()) yield
  }
  return node
}

function* screenTool(tool: string, schema: object, mode: ScreenMode, pace: Pace): Slices<ScreenRefusal | undefined> {
  // Breadth first and without recursion: the outermost parameter is reported, and no depth overflows the stack.
  const root: Node = { value: schema, role: "schema", depth: 1, key: "", parent: undefined, referred: false }
  const queue: Array<Node> = [root]
  // What references reach is looked at once in each role, so that they may point anywhere, in circles too.
  const seen: Partial<Record<Role, Set<object>>> = {}
  const isNew = ({ role, value }: Node): boolean => {
    seen[role] ??= new Set()
    return seen[role].size !== seen[role].add(value).size
  }
  let places: Places | undefined
  const { inName, inPattern } = readers[mode]
  const { tick } = pace

  /**
   * Where a reference leads, in every way that it may be read: one without a URI begins at the whole schema and at each one around
   * it that has an identifier, and relative URIs are compared by their last segment. Undefined where that is too much to read.
   */
  function* targetsOf(node: Node, reference: string): Slices<ReadonlyArray<Node> | undefined> {
    if (reference.length > maxText) return undefined
    if (tick(2 * (reference.length + node.depth))) yield
    const { href, segment, fragment } = parse(reference)
    const isAnchor = fragment !== "" && fragment[0] !== "/"
    const starts: Array<Node> = []
    if (segment !== undefined || isAnchor) places ??= yield* placesIn(root, pace)
    if (segment === undefined) {
      for (let at: Node | undefined = node; at !== undefined; at = at.parent) if (isResource(at)) starts.push(at)
    } else {
      for (const other of places?.get(segment) ?? []) {
        if (href === undefined || other.href === undefined || href === other.href) starts.push(other.node)
      }
    }
    const found = isAnchor && starts.length > 0 ? (places?.get(`#${fragment}`) ?? []).map(({ node }) => node) : starts
    if (found.length > maxPlaces) return undefined
    if (fragment[0] !== "/") return found
    const targets: Array<Node> = []
    for (const start of starts) {
      const target = yield* follow(start, fragment, pace)
      if (target !== undefined) targets.push(target)
    }
    return targets
  }

  for (const node of queue) {
    const inArray = Array.isArray(node.value)
    const isMapping = node.role === "mapping"
    for (const key of isMapping ? Object.keys(node.value) : inArray ? none : references) {
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
      for (const name of inArray ? none : namesOf(node.role, key, value)) {
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
): Slices<ScreenRefusal | undefined> {
  let left = sliceValues
  const tick = (characters = 0): boolean => {
    left -= 1 + (characters >> 2)
    if (left > 0) return false
    left = sliceValues
    return true
  }
  const pace = { tick, patterns: 0 }
  for (const { name, schema } of tools) {
    const refusal = isHeld(schema) ? yield* screenTool(name, schema, mode, pace) : undefined
    if (refusal !== undefined) return refusal
  }
  return undefined
}
