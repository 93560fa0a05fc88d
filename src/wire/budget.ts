/**
 * What one request may hold, over its body and every JSON text inside it, so that reading it stays cheap
 * (docs/api.md#limits).
 */

/** Deepest nesting of arrays and objects in a body. */
export const maxDepth = 256
/**
 * Most commas and colons outside strings: twice the values of objects, once those of arrays. 2,048 messages with 20 images, 5 files
 * and a text each have 292,864 (docs/decisions.md#sizes).
 */
export const maxTokens = 300_000
/** Longest name of a property, in bytes of UTF-8. */
export const maxNameBytes = 1024
/** Most fields of a request itself. */
export const maxFields = 1024
/** Longest number, in characters. */
export const maxNumber = 1024

/** Counts down while texts are read. */
export interface Budget {
  tokens: number
}

export const newBudget = (): Budget => ({ tokens: maxTokens })

const count = (limit: number): string => limit.toLocaleString("en-US")

/** What is wrong, to be said after the place. */
export const problems = {
  depth: (limit: number) => `nested deeper than ${limit} levels`,
  tokens: `too many values: a request may hold about ${count(maxTokens / 2)}; send fewer, or send them as text`,
  name: `the name of a property is longer than ${count(maxNameBytes)} bytes; shorten it, or move the text into the value`,
  fields: `more than ${count(maxFields)} fields; send what belongs together as one object`,
  number: `a number of more than ${count(maxNumber)} characters; send it as a string`
} as const
