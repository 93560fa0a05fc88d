/**
 * The order of an object's keys. JavaScript has keys that are numbers first (`{"b":1,"10":2,"2":3}` becomes `2`, `10`, `b`), so an
 * object that would change is kept with the order in which it was written. Copies are ordinary objects, in JavaScript's order.
 */

const define = (fields: object, key: string, value: unknown): object =>
  Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true })

export const put = <Value>(fields: { [key: string]: Value }, key: string, value: Value): void => {
  // An assignment to this name would set the prototype.
  if (key === "__proto__") define(fields, key, value)
  else fields[key] = value
}

/** Texts that may have such keys. */
export const hasNumberedKey = (text: string): boolean => /"(?:0|[1-9]\d*)"\s*:/.test(text)

let printed = 0

class InOrder {
  readonly #entries: ReadonlyArray<readonly [string, unknown]>
  constructor(entries: ReadonlyArray<readonly [string, unknown]>) {
    this.#entries = entries
    for (const [key, value] of entries) define(this, key, value)
  }
  static entries(value: object): ReadonlyArray<readonly [string, unknown]> {
    return #entries in value ? value.#entries : Object.entries(value)
  }
  /** The engine's printer has no say in the order; it tells that it met such an object. */
  toJSON(): object {
    printed++
    return { ...this }
  }
}

/** The object, whose keys were written in this order. */
export const inOrder = (fields: Readonly<Record<string, unknown>>, keys: Iterable<string>): object => {
  const written = [...new Set(keys)]
  const kept = Object.keys(fields)
  if (written.every((key, at) => key === kept[at])) return fields
  return new InOrder(written.map((key) => [key, fields[key]]))
}

export const entriesInOrder = InOrder.entries

/** How many such objects the engine's printer has met so far. */
export const printedInOrder = (): number => printed
