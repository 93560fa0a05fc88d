/** JSON whose numbers are kept as they were written: IDs of 64 bits are common in tools' arguments. */

interface Source {
  readonly source?: string
}
/** ECMAScript's JSON.rawJSON, which TypeScript's library does not know yet. */
const rawJson: (text: string) => unknown = Reflect.get(JSON, "rawJSON")

/** Integers beyond 2^53 and numbers beyond the range keep their text. */
const exactNumber = (_key: string, value: unknown, context?: Source): unknown =>
  typeof value === "number" && !Number.isSafeInteger(value) && (Number.isInteger(value) || !Number.isFinite(value))
    ? rawJson(context?.source ?? "null")
    : value

/** Parses JSON; numbers that JavaScript cannot hold stay as they were written. */
export const parseExact = (text: string): unknown =>
  /\d{16}|\d[eE]/.test(text) ? JSON.parse(text, exactNumber) : JSON.parse(text)
