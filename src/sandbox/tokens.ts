/** How many tokens a text has, and how a stream cuts it. */

const pattern = /[\p{L}\p{M}]+|\p{N}+|[^\s\p{L}\p{M}\p{N}]/gu

const LETTERS_PER_TOKEN = 8
const DIGITS_PER_TOKEN = 3
/** Characters that are counted; the rest of a longer text is taken to be like them, so that counting holds up nobody. */
const COUNTED = 256 * 1024

/**
 * The one tokenizer of the sandbox: a word of up to eight letters, three digits, or one other sign is a token. Tokens never cross
 * white space, so that the count of a text is the sum of the counts of its words. Texts of more than 256 Ki characters are estimated.
 */
export const countTokens = (text: string): number =>
  text.length <= COUNTED ? tokensIn(text) : Math.ceil((tokensIn(text.slice(0, COUNTED)) * text.length) / COUNTED)

const tokensIn = (text: string): number => {
  let total = 0
  for (const [piece] of text.matchAll(pattern)) {
    const code = piece.charCodeAt(0)
    const size = code >= 48 && code <= 57 ? DIGITS_PER_TOKEN : LETTERS_PER_TOKEN
    total += Math.ceil(piece.length / size)
  }
  return total
}

/** Cuts a text into what a model would stream: words with the white space that follows them. Joined, they are the text again. */
export const words = (text: string): ReadonlyArray<string> => text.match(/\S+\s*|\s+/g) ?? []

/** Cuts the text of a tool call's arguments into what a model would stream. */
export const fragments = (json: string): ReadonlyArray<string> => json.match(/.{1,12}/gs) ?? []
