/**
 * Removes fields from JSON, by paths: `a.b` inside objects, `a[].b` in every element of an array; `a{kind}.b` and `a[kind].b` only
 * in objects of that kind (`kindOf`); `a.b=text` only where the field is that text.
 */
import { isObject, type Json, type JsonObject, textOf, without } from "./json.ts"

/** Called with each field that was removed: its path without brackets, and its value. */
type OnDrop = (path: string, value: Json) => void

interface Step {
  readonly key: string
  readonly elements: boolean
  /** Undefined: any. */
  readonly kind: string | undefined
  /** What the last field of a path must be; undefined: anything. */
  readonly text: string | undefined
}
type Path = ReadonlyArray<Step>

/** Parsed paths, in the order in which their fields are removed. */
export type Strip = ReadonlyArray<Path>

/** The kind of an object: the `type` of a block or a tool, the `role` of a message, else `?`. */
export const kindOf = ({ type, role }: JsonObject): string => textOf(type) ?? textOf(role) ?? "?"

/** The paths without brackets, as `OnDrop` has them. */
export const plainPaths = (paths: Iterable<string> = []): ReadonlySet<string> =>
  new Set(Array.from(paths, (path) => path.replaceAll(/[[{].*?[\]}]/g, "")))

const pathOf = (path: string): Path =>
  path.split(".").map((part) => {
    const [, key = "", bracket = "", kind = "", text] = /^(.*?)(?:([[{])(.*)[\]}])?(?:=(.*))?$/.exec(part) ?? []
    return { key, elements: bracket === "[", kind: kind === "" ? undefined : kind, text }
  })

/** The fields of an object itself before those of the objects in it, which are together. */
const ordered = (paths: Strip, depth = 1): Strip => {
  const groups = Map.groupBy(paths, (path) => (path.length === depth ? "" : JSON.stringify(path[depth - 1])))
  const { "": own = [], ...inner } = Object.fromEntries(groups)
  return [...own, ...Object.values(inner).flatMap((group) => ordered(group, depth + 1))]
}

export const compileStrip = (paths: ReadonlyArray<string> = []): Strip => ordered(paths.map(pathOf))

/** The same paths without one, whose field stays. */
export const withoutPath = (fields: Strip, path: string): Strip => {
  const removed = JSON.stringify(pathOf(path))
  return fields.filter((other) => JSON.stringify(other) !== removed)
}

/** Whether the field at the path is removed, itself or with an object that holds it, from objects of any kind. */
export const drops = (fields: Strip, path: string): boolean => {
  const asked = pathOf(path)
  return fields.some((steps) =>
    steps.every(({ elements, key, text }, n) => {
      const step = asked[n]
      const isLast = n === steps.length - 1
      return key === step?.key && (isLast ? text === undefined : elements === step.elements)
    })
  )
}

/** The object without the fields: a copy, or the object itself where nothing is removed. */
export const strip = (fields: JsonObject, paths: Strip, onDrop: OnDrop = () => {}): JsonObject =>
  paths.reduce((left, path) => remove(left, path, 0, onDrop), fields)

/** `at`: the index of the step that `fields` is for. */
const remove = (fields: JsonObject, path: Path, at: number, onDrop: OnDrop): JsonObject => {
  const step = path[at]
  if (step === undefined || !Object.hasOwn(fields, step.key)) return fields
  const { elements, key, kind, text } = step
  const child = fields[key] ?? null
  if (at === path.length - 1) {
    if (text !== undefined && text !== child) return fields
    onDrop(path.map(({ key }) => key).join("."), child)
    return without(fields, [key])
  }
  const inside = (value: Json): Json =>
    isObject(value) && (kind === undefined || kind === kindOf(value)) ? remove(value, path, at + 1, onDrop) : value
  const changed = elements ? mapShared(child, inside) : inside(child)
  if (changed === child) return fields
  // An object that is empty now is removed, too.
  return isObject(changed) && Object.keys(changed).length === 0 ? without(fields, [key]) : { ...fields, [key]: changed }
}

/** The same array when nothing changed. */
const mapShared = (value: Json, change: (item: Json) => Json): Json => {
  if (!Array.isArray(value)) return value
  const changed = value.map(change)
  return changed.some((item, at) => item !== value[at]) ? changed : value
}
