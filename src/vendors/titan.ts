/** Amazon's Titan embeddings, on Bedrock: what is asked, one string a call, what is answered, and how a string is refused. */
import { Predicate, Result } from "effect"
import { countOf } from "../catalog/Tokens.ts"
import { invalidBody, type UpstreamFault } from "../catalog/UpstreamFault.ts"
import { arrayOf, type JsonObject, numberOf } from "../wire/json.ts"

/** The size of its vectors: 256 and 512 would be others. */
export const dimensions = 1024

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

export const request = (text: string): JsonObject => ({ inputText: text, dimensions, normalize: true })

/** Every number of a vector is read: a body that is parsed exactly has them as JavaScript's, but takes longer. */
export const reply = (
  body: JsonObject
): Result.Result<{ readonly embedding: ReadonlyArray<number>; readonly tokens: number }, UpstreamFault> => {
  const embedding = arrayOf(body.embedding)
  const tokens = countOf(Math.round(numberOf(body.inputTextTokenCount) ?? Number.NaN))
  return embedding.length === dimensions && embedding.every(Predicate.isNumber) && tokens !== undefined
    ? Result.succeed({ embedding, tokens })
    : Result.fail(invalidBody)
}
