import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { ChatRequest } from "../../src/contract/Chat.ts"
import { CreateChatCompletion } from "../../src/contract/ChatGroup.ts"
import { CountRequest, MessagesRequest } from "../../src/contract/Messages.ts"
import { CountMessageTokens, CreateMessage } from "../../src/contract/MessagesGroup.ts"
import { ResponsesRequest } from "../../src/contract/Responses.ts"
import { CreateResponse } from "../../src/contract/ResponsesGroup.ts"

/** Each endpoint has two schemas: the documented one, and the lean one that a request is judged by. */
const pairs: ReadonlyArray<
  readonly [name: string, documented: Schema.Codec<unknown>, judged: Schema.ConstraintDecoder<unknown>]
> = [
  ["chat", CreateChatCompletion, ChatRequest],
  ["messages", CreateMessage, MessagesRequest],
  ["count_tokens", CountMessageTokens, CountRequest],
  ["responses", CreateResponse, ResponsesRequest]
]

describe("what the contract documents, the gateway accepts", () => {
  for (const [name, documented, judged] of pairs) {
    const judge = Schema.decodeUnknownResult(judged)
    it.prop(name, { request: documented }, ({ request }) => {
      const verdict = judge(JSON.parse(JSON.stringify(request)))
      expect(Result.isSuccess(verdict) ? undefined : String(verdict.failure)).toBe(undefined)
    })
  }
})
