/** Removes the fields that a deployment's API refuses, by the paths of the catalog. */

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

interface Step {
  readonly key: string
  /** Whether the step goes into every element of an array. */
  readonly elements: boolean
}

/** The paths of a deployment, taken apart once. */
const known = new WeakMap<ReadonlyArray<string>, ReadonlyArray<ReadonlyArray<Step>>>()
const stepsOf = (paths: ReadonlyArray<string>) => {
  const steps =
    known.get(paths) ??
    paths.map((path) =>
      path.split(".").map((part) => ({ key: part.replace(/\[\]$/, ""), elements: part.endsWith("[]") }))
    )
  known.set(paths, steps)
  return steps
}

/** The value without what the path names: `a.b` inside objects, `a[].b` in every element. Shared where unchanged. */
const without = (value: unknown, path: ReadonlyArray<Step>, at = 0): unknown => {
  const step = path[at]
  if (step === undefined || !isObject(value)) return value
  const { key, elements } = step
  if (!Object.hasOwn(value, key)) return value
  const child = value[key]
  if (at === path.length - 1) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
  if (elements && !Array.isArray(child)) return value
  const changed =
    Array.isArray(child) && elements
      ? mapShared(child, (item) => without(item, path, at + 1))
      : without(child, path, at + 1)
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
  for (const path of stepsOf(paths)) result = without(result, path)
  return isObject(result) ? result : body
}
