/** The tokenizer, and the pieces of a stream. */

/** A token: up to eight letters, three digits, or one other sign; white space separates tokens. */
const pattern = /[\p{L}\p{M}]{1,8}|\d{1,3}|[^\s\p{L}\p{M}\d]/gu

/** Characters that are counted; a longer text is extrapolated, so that counting does not block other requests. */
const COUNTED = 256 * 1024

/** The count of a text is the sum of the counts of its words. */
export const countTokens = (text: string): number => {
  const counted = text.slice(0, COUNTED).match(pattern)?.length ?? 0
  return text.length <= COUNTED ? counted : Math.ceil((counted * text.length) / COUNTED)
}

/** The pieces of a streamed text: words with the white space after them. */
export const words = (text: string): ReadonlyArray<string> => text.match(/\S+\s*|\s+/g) ?? []

export const fragments = (json: string): ReadonlyArray<string> => json.match(/.{1,12}/gsu) ?? []

/** The first UTF-16 units of a text, without half a character at the end. */
export const beginning = (text: string, length: number): string => text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "")
