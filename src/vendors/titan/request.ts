/** Amazon's Titan embeddings, on Bedrock: what is asked, one string a call. */
import { embeddingLimits } from "../../contract/Embeddings.ts"
import type { JsonObject } from "../../wire/json.ts"

export const request = (text: string): JsonObject => ({
  inputText: text,
  dimensions: embeddingLimits.dimensions,
  normalize: true
})
