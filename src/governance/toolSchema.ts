/** The parts of a tool's schema: how the content of each is read, and where its references lead (JSON Schema core, 8.2). */
import { getOrInsert } from "../wire/getOrInsert.ts"
import { isRaw } from "../wire/json.ts"
import type { Slices } from "../wire/slices.ts"
import { meaningsOf } from "../wire/words.ts"

/** Counts a value, and characters, that were read; true when a slice's worth of them was. */
export type Tick = (characters?: number) => boolean

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
export type Role = NamingRole | "schema" | "definitions" | "mapping" | "value"
type NamingRole = "properties" | "dependents" | "patterns" | "naming" | "discriminator"
const roles = meaningsOf<Role>(
  ["properties", "properties"],
  ["dependentSchemas dependentRequired dependencies", "dependents"],
  ["patternProperties", "patterns"],
  ["$defs definitions", "definitions"],
  ["propertyNames", "naming"],
  ["discriminator", "discriminator"],
  ["enum const default example examples", "value"]
)
const lists: ReadonlySet<string> = new Set(["required", "propertyOrdering"])

export interface Pace {
  readonly tick: Tick
  /** Characters of the patterns of all tools so far. */
  patterns: number
  /** Steps along the pointers of all tools so far. */
  steps: number
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
  return lists.has(key) && Array.isArray(value) && role !== "definitions" && role !== "mapping" ? strings(value) : []
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
export const isHeld = (value: unknown): value is object => typeof value === "object" && value !== null && !isRaw(value)
export const childOf = (parent: Node, key: string, value: object, depth = 1): Node => {
  const { referred } = parent
  return { value, role: roleOf(parent, key), depth, key, parent, referred }
}

/** Characters of one name or reference, at most. */
export const maxText = 16_384
/** Places that a reference may lead to, at most: it is one, unless identifiers repeat. */
export const maxPlaces = 16
/** Steps along all pointers of a request, at most: each is some 200 ns, and a pointer has as many as it has segments, from each place. */
export const maxSteps = 1_000_000

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

/** Where a reference leads within its own schema, decoded; undefined for one that leads elsewhere. */
export const fragmentOf = (reference: string): string | undefined => {
  const { fragment, segment } = parse(reference)
  return segment === undefined && reference.includes("#") ? fragment : undefined
}

/**
 * Where references may begin: by `#` and an anchor, by the last segment of an identifier, by `?` and that of a relative one, and by the
 * whole of an absolute one.
 */
type Places = Map<string, Array<Node>>

export const references = ["$ref", "$dynamicRef", "$recursiveRef"]
const anchors = ["$anchor", "$dynamicAnchor"]
/** The second is of draft 4. */
const identifiers = ["$id", "id"]
const isResource = ({ parent, value }: Node): boolean =>
  parent === undefined || identifiers.some((keyword) => typeof entryOf(value, keyword) === "string")

/** The places in a schema and in the values that it holds. */
function* placesIn(root: Node, { tick }: Pace): Slices<Places> {
  const places: Places = new Map()
  const add = (name: string, node: Node) => getOrInsert(places, name, () => []).push(node)
  const stack = [root]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    for (const keyword of [...anchors, ...identifiers]) {
      const text = entryOf(node.value, keyword)
      if (typeof text !== "string") continue
      if (tick(text.length + 256)) yield
      const { segment, fragment, href } = parse(anchors.includes(keyword) ? `#${text}` : text)
      if (segment !== undefined) {
        add(segment, node)
        add(href ?? `?${segment}`, node)
      }
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
function* follow(start: Node, pointer: string, pace: Pace): Slices<Node | undefined> {
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
    pace.steps++
    if (pace.tick()) yield
  }
  return node
}

/** Reads the references of one schema. Its identifiers are looked for when the first reference names one. */
export const makeReferences = (root: Node, pace: Pace) => {
  const { tick } = pace
  let places: Places | undefined
  const resources = new Map<Node, ReadonlyArray<Node>>()
  /** The schema and those around it that have an identifier; of so many that it is too much, some. */
  const around = (node: Node | undefined): ReadonlyArray<Node> =>
    node === undefined
      ? []
      : getOrInsert(resources, node, () => {
          const outer = around(node.parent)
          return isResource(node) ? [node, ...outer.slice(0, maxPlaces)] : outer
        })

  /**
   * Where a reference leads, in every way that it may be read: one without a URI begins at the whole schema and at each one around
   * it that has an identifier, and relative URIs are compared by their last segment. Undefined where that is too much to read.
   */
  return function* (node: Node, reference: string): Slices<ReadonlyArray<Node> | undefined> {
    if (reference.length > maxText) return undefined
    if (tick(2 * reference.length)) yield
    const { href, segment, fragment } = parse(reference)
    const isAnchor = fragment !== "" && fragment[0] !== "/"
    if (segment !== undefined || isAnchor) places ??= yield* placesIn(root, pace)
    const at = (name: string): ReadonlyArray<Node> => (places?.get(name) ?? []).slice(0, maxPlaces + 1)
    const starts =
      segment === undefined ? around(node) : href === undefined ? at(segment) : [...at(`?${segment}`), ...at(href)]
    const found = isAnchor && starts.length > 0 ? at(`#${fragment}`) : starts
    if (found.length > maxPlaces) return undefined
    if (fragment[0] !== "/") return found
    const targets: Array<Node> = []
    for (const start of starts) {
      const target = yield* follow(start, fragment, pace)
      if (target !== undefined) targets.push(target)
    }
    if (pace.steps > maxSteps) return undefined
    return targets
  }
}
