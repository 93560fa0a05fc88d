import type { Paths } from "../../src/catalog/Resolver.ts"

/** The paths of the endpoints, as callers are told them. */
export const paths: Paths = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  count_tokens: "/v1/messages/count_tokens",
  responses: "/v1/responses",
  embeddings: "/v1/embeddings"
}
