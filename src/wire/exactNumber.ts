/** Numbers that JavaScript cannot hold keep their text: IDs of 64 bits are common in tools' arguments. */

/** ECMAScript's JSON.rawJSON, which TypeScript's library does not know yet. */
export const rawJson: (text: string) => unknown = Reflect.get(JSON, "rawJSON")

/** The text of a value that `JSON.rawJSON` made. */
export const isRaw: (value: object) => value is { readonly rawJSON: string } =
  Reflect.get(JSON, "isRawJSON") ?? (() => false)

/** Whether printing the number would say another one: integers beyond 2^53, and what is beyond the range. */
const isInexact = (value: number): boolean =>
  !Number.isSafeInteger(value) && (Number.isInteger(value) || !Number.isFinite(value))

/** The number that a text is, or the text where JavaScript would print another one. */
export const writtenNumberOf = (text: string): unknown => {
  const value = Number(text)
  return String(value) === text ? value : rawJson(text)
}

/** The number that a text is, or the text. */
export const exactNumberOf = (text: string): unknown => {
  const value = Number(text)
  return isInexact(value) ? rawJson(text) : value
}

/** JavaScript's number for one that stands as it was written, where it can hold it; any other value as it is. */
export const plainNumber = <Value>(value: Value): Value =>
  typeof value === "object" && value !== null && isRaw(value) ? (exactNumberOf(value.rawJSON) as Value) : value

/** The same of every field of an object, and not of what these hold. */
export const plainFields = <Value>(fields: { readonly [name: string]: Value }): { readonly [name: string]: Value } =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plainNumber(value)]))
