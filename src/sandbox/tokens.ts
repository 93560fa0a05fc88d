/** How many tokens a text has, and how a stream cuts it. */

/** What is a token: up to eight letters, three digits, or one other sign. Tokens never cross white space. */
const pattern = /[\p{L}\p{M}]{1,8}|\d{1,3}|[^\s\p{L}\p{M}\d]/gu

/** Characters that are counted; the rest of a longer text is taken to be like them, so that counting holds up nobody. */
const COUNTED = 256 * 1024

/** The one tokenizer of the sandbox: the count of a text is the sum of the counts of its words. */
export const countTokens = (text: string): number => {
  const counted = text.slice(0, COUNTED).match(pattern)?.length ?? 0
  return text.length <= COUNTED ? counted : Math.ceil((counted * text.length) / COUNTED)
}

/** Cuts a text into what a model would stream: words with the white space that follows them. Joined, they are the text again. */
export const words = (text: string): ReadonlyArray<string> => text.match(/\S+\s*|\s+/g) ?? []

/** Cuts the text of a tool call's arguments into what a model would stream. */
export const fragments = (json: string): ReadonlyArray<string> => json.match(/.{1,12}/gsu) ?? []

/** At most so many UTF-16 units from the beginning of a text, without half a character at their end. */
export const beginning = (text: string, length: number): string => text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "")
