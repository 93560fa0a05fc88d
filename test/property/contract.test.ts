import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { ChatRequest } from "../../src/contract/Chat.ts"
import { EmbeddingsRequest } from "../../src/contract/Embeddings.ts"
import { CountRequest, MessagesRequest } from "../../src/contract/Messages.ts"
import { ResponsesRequest } from "../../src/contract/Responses.ts"

const requests: Readonly<Record<string, Schema.Codec<unknown>>> = {
  chat: ChatRequest,
  messages: MessagesRequest,
  count_tokens: CountRequest,
  responses: ResponsesRequest,
  embeddings: EmbeddingsRequest
}

/** Without the nulls, which a request may have in the place of nothing. */
const said = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(said)
  if (typeof value !== "object" || value === null) return value
  const fields = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(fields.map(([name, inner]) => [name, said(inner)]))
}

describe("what the contract documents is accepted, and nothing of it is lost but nulls", () => {
  for (const [name, schema] of Object.entries(requests)) {
    const decode = Schema.decodeUnknownResult(schema)
    it.prop(name, { request: Schema.toEncoded(Schema.toCodecJson(schema)) }, ({ request }) => {
      const sent = JSON.parse(JSON.stringify(request))
      const decoded = decode(sent)
      // What a field needs beside another one is not in its type.
      if (Result.isFailure(decoded)) expect(decoded.failure.message).toMatch(/must be a string unless/)
      else expect(said(decoded.success)).toEqual(said(sent))
    })
  }
})
