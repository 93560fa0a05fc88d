/** How Titan refuses a string. */

/** Titan's own words for what is too long: `request input token count: 9000`, `expected maxLength: 50000, actual: 60000`. */
const tooLong = /too many input tokens|maxLength/i
const tokenCount = /token count: (\d+)/i

/** What is wrong with an over-long string, in our words; undefined where the message says something else. */
export const describeTooLong = (message: string): string | undefined => {
  if (!tooLong.test(message)) return undefined
  const count = tokenCount.exec(message)?.[1]
  const found = count === undefined ? "" : ` (this has ${count} tokens)`
  return `must be at most 8,192 tokens and 50,000 characters${found}; nothing is truncated, so split the text`
}
