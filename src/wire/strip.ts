/**
 * Removes fields from JSON, by paths: `a.b` inside objects, `a[].b` in every element of an array; `a{kind}.b` and `a[kind].b` only
 * in objects of that kind (`kindOf`); `a.b=text` only where the field is that text.
 */
import { isObject, type Json, type JsonObject, textOf } from "./json.ts"

/** Told of each field that went: its path without brackets, and what it held. */
export type OnDrop = (path: string, value: Json) => void

/** Paths, taken apart once into a tree. */
export interface Strip {
  /** Fields that go. */
  readonly drop: ReadonlyArray<string>
  /** Fields that go where they are this text. */
  readonly dropIf: ReadonlyArray<{ readonly key: string; readonly text: string }>
  /** What stands before a field of `drop` in its path, without brackets: `tools.`. */
  readonly before: string
  /** Fields that are looked into. */
  readonly into: ReadonlyArray<Step & { readonly inner: Strip }>
}

interface Step {
  readonly key: string
  readonly elements: boolean
  /** Undefined: any. */
  readonly kind: string | undefined
  /** What the last field of a path must be; undefined: anything. */
  readonly text: string | undefined
}

/** What an object says that it is: a block or a tool by its `type`, a message by its `role`; `?` where it says neither. */
export const kindOf = ({ type, role }: JsonObject): string => textOf(type) ?? textOf(role) ?? "?"

/** The path without brackets, as `OnDrop` has it. */
export const plainPath = (path: string): string => path.replaceAll(/[[{].*?[\]}]/g, "")

const stepsOf = (path: string): ReadonlyArray<Step> =>
  path.split(".").map((part) => {
    const [, key = "", bracket = "", kind = "", text] = /^(.*?)(?:([[{])(.*)[\]}])?(?:=(.*))?$/.exec(part) ?? []
    return { key, elements: bracket === "[", kind: kind === "" ? undefined : kind, text }
  })

const treeOf = (paths: ReadonlyArray<ReadonlyArray<Step>>, before = ""): Strip => {
  const deeper = new Map<string, { step: Step; rest: Array<ReadonlyArray<Step>> }>()
  const drop: Array<string> = []
  const dropIf: Array<Strip["dropIf"][number]> = []
  for (const [step, ...rest] of paths) {
    if (step === undefined) continue
    if (rest.length === 0 && step.text !== undefined) dropIf.push({ key: step.key, text: step.text })
    else if (rest.length === 0) drop.push(step.key)
    else {
      const name = JSON.stringify(step)
      const known = deeper.get(name) ?? { step, rest: [] }
      known.rest.push(rest)
      deeper.set(name, known)
    }
  }
  const into = [...deeper.values()].map(({ step, rest }) => ({ ...step, inner: treeOf(rest, `${before}${step.key}.`) }))
  return { drop, dropIf, before, into }
}

export const compileStrip = (paths: ReadonlyArray<string> = []): Strip => treeOf(paths.map(stepsOf))

/** The same fields but one, which stays. */
export const sparing = (fields: Strip, path: string): Strip => spare(fields, stepsOf(path))

const spare = (fields: Strip, [step, ...rest]: ReadonlyArray<Step>): Strip => {
  if (step === undefined) return fields
  const { key, text } = step
  if (rest.length === 0) {
    return text === undefined
      ? { ...fields, drop: fields.drop.filter((one) => one !== key) }
      : { ...fields, dropIf: fields.dropIf.filter((one) => one.key !== key || one.text !== text) }
  }
  const into = fields.into.map((one) =>
    isSame(one, step) && one.kind === step.kind ? { ...one, inner: spare(one.inner, rest) } : one
  )
  return { ...fields, into }
}

const isSame = (one: Step, other: Step): boolean => one.key === other.key && one.elements === other.elements

/** Whether the field at the path goes, itself or with what holds it; from objects of any kind. */
export const drops = (fields: Strip, path: string): boolean => goes(fields, stepsOf(path))

const goes = ({ drop, into }: Strip, [step, ...rest]: ReadonlyArray<Step>): boolean =>
  step !== undefined && (drop.includes(step.key) || into.some((one) => isSame(one, step) && goes(one.inner, rest)))

/**
 * The object without the fields; never changed itself, and shared where nothing goes. One walk, whatever the number of paths.
 */
export const strip = (fields: JsonObject, { drop, dropIf, before, into }: Strip, onDrop?: OnDrop): JsonObject => {
  let result = fields
  for (const key of drop) {
    if (!Object.hasOwn(fields, key)) continue
    if (result === fields) {
      result = Object.fromEntries(Object.entries(fields).filter(([name]) => !drop.includes(name)))
    }
    onDrop?.(before + key, fields[key] ?? null)
  }
  for (const { key, text } of dropIf) {
    if (result[key] !== text) continue
    result = without(result, key)
    onDrop?.(before + key, text)
  }
  for (const step of into) {
    const { key } = step
    if (!Object.hasOwn(result, key)) continue
    const child = result[key]
    const changed = step.elements ? stripAll(child, step, onDrop) : stripOne(child, step, onDrop)
    if (changed === undefined || changed === child) continue
    // An object of which nothing is left says nothing.
    if (isObject(changed) && Object.keys(changed).length === 0) result = without(result, key)
    else result = { ...result, [key]: changed }
  }
  return result
}

const without = (fields: JsonObject, key: string): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => name !== key))

type Inner = Pick<Strip["into"][number], "inner" | "kind">

const stripOne = (value: Json | undefined, { inner, kind }: Inner, onDrop?: OnDrop): Json | undefined =>
  isObject(value) && (kind === undefined || kind === kindOf(value)) ? strip(value, inner, onDrop) : value

/** The same array when nothing changed. */
const stripAll = (value: Json | undefined, inner: Inner, onDrop?: OnDrop): Json | undefined => {
  if (!Array.isArray(value)) return value
  const items: ReadonlyArray<Json> = value
  let changed: Array<Json> | undefined
  for (let at = 0; at < items.length; at++) {
    const item = items[at]
    const next = stripOne(item, inner, onDrop)
    if (next === undefined || next === item) continue
    changed ??= [...items]
    changed[at] = next
  }
  return changed ?? value
}
