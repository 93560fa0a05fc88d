/** Removes the fields that a deployment's API refuses, by the paths of the catalog. */

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value without what the path names: `a.b` inside objects, `a[].b` in every element. Shared where unchanged. */
const without = (value: unknown, path: ReadonlyArray<string>): unknown => {
  const [head, ...rest] = path
  if (head === undefined || !isObject(value)) return value
  const elements = head.endsWith("[]")
  const key = elements ? head.slice(0, -2) : head
  if (!Object.hasOwn(value, key)) return value
  const child = value[key]
  if (rest.length === 0) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
  if (elements && !Array.isArray(child)) return value
  const changed =
    Array.isArray(child) && elements ? mapShared(child, (item) => without(item, rest)) : without(child, rest)
  return changed === child ? value : { ...value, [key]: changed }
}

/** `map` that answers the same array when nothing changed. */
const mapShared = (items: ReadonlyArray<unknown>, f: (item: unknown) => unknown): ReadonlyArray<unknown> => {
  let changed: Array<unknown> | undefined
  for (const [at, item] of items.entries()) {
    const next = f(item)
    if (next !== item) changed ??= [...items]
    if (changed !== undefined) changed[at] = next
  }
  return changed ?? items
}

export const strip = (
  body: Readonly<Record<string, unknown>>,
  paths: ReadonlyArray<string> = []
): Readonly<Record<string, unknown>> => {
  let result: unknown = body
  for (const path of paths) result = without(result, path.split("."))
  return isObject(result) ? result : body
}
