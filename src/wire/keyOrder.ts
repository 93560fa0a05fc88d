/**
 * The order of an object's keys. JavaScript has keys that are numbers first (`{"b":1,"10":2,"2":3}` becomes `2`, `10`, `b`), so an
 * object that would change is kept with the order in which it was written. Copies are ordinary objects, in JavaScript's order.
 */

export const put = <Value>(fields: { [key: string]: Value }, key: string, value: Value): void => {
  // An assignment to this name would set the prototype.
  if (key === "__proto__") {
    Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true })
  } else fields[key] = value
}

/** Texts that may have such keys. */
export const hasNumberedKey = (text: string): boolean => /"(?:0|[1-9]\d*)"\s*:/.test(text)

/** The largest of the numbers that come first. */
const maxIndex = 2 ** 32 - 2

/** The keys of one object as they are read, each once, from the first on that may be a number. */
export class KeyOrder {
  readonly keys: Array<string>
  /** Whether JavaScript has another order. */
  differs = false
  private largest = -1
  private named: boolean
  constructor(before: Array<string>) {
    this.keys = before
    this.named = before.length > 0
  }
  add(key: string): void {
    this.keys.push(key)
    const index = Number(key)
    if (!(Number.isInteger(index) && index >= 0 && index <= maxIndex) || String(index) !== key) this.named = true
    else if (this.named || index < this.largest) this.differs = true
    else this.largest = index
  }
}

const written = Symbol("keys as they were written")
const otherOrder = Symbol("JavaScript has another order")
/** Whether the engine's printer is to stop at such an object, which takes as long to print as it would have to be printed again. */
let stops = false

/** The engine's printer has no say in the order; it tells that it met such an object. One with a key of this name does not, and has JavaScript's order. */
const inOrder = Object.defineProperty({}, "toJSON", {
  value(this: object): object {
    if (stops) throw otherOrder
    return this
  }
})

export const keepOrder = (fields: object, keys: ReadonlyArray<string>): object =>
  Object.defineProperty(Object.setPrototypeOf(fields, inOrder), written, { value: keys })

export const keysInOrder = (value: object): ReadonlyArray<string> => Reflect.get(value, written) ?? Object.keys(value)

/** By the engine's printer; undefined where it would change the order of keys. */
export const engineText = (value: unknown): string | undefined => {
  const outer = stops
  stops = true
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error === otherOrder) return undefined
    throw error
  } finally {
    stops = outer
  }
}
