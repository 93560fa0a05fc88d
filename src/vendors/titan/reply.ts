/** Amazon's Titan embeddings, on Bedrock: what is answered. */
import { Result } from "effect"
import { invalidBody, type UpstreamFault } from "../../catalog/UpstreamFault.ts"
import { embeddingLimits } from "../../contract/Embeddings.ts"
import { arrayOf, type Json, type JsonObject, numberOf } from "../../wire/json.ts"

/** The vector of one string, and how many tokens it has. */
interface Embedded {
  readonly embedding: ReadonlyArray<number>
  readonly tokens: number
}

/** A loop: to call a function for each of 1,024 numbers takes 7 µs, where to parse them takes 30. */
const areNumbers = (values: ReadonlyArray<Json>): values is ReadonlyArray<number> => {
  for (let at = 0; at < values.length; at++) if (typeof values[at] !== "number") return false
  return true
}

/** Every number of a vector is read: a body that is parsed exactly has them as JavaScript's, but takes longer. */
export const reply = (body: JsonObject): Result.Result<Embedded, UpstreamFault> => {
  const embedding = arrayOf(body.embedding)
  const tokens = numberOf(body.inputTextTokenCount)
  return embedding.length === embeddingLimits.dimensions && areNumbers(embedding) && tokens !== undefined
    ? Result.succeed({ embedding, tokens: Math.round(tokens) })
    : Result.fail(invalidBody)
}
