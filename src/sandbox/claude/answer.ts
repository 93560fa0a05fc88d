/** How a Messages request is answered or refused, whatever platform frames the answer. */
import { planOf } from "../answer.ts"
import type { JsonObject } from "../json.ts"
import type { ClaudeContext } from "./context.ts"
import { type ClaudeEvent, eventsOf, messageOf, type ReplyIdentity } from "./reply.ts"
import type { ClaudeRequest } from "./request.ts"
import { readClaude } from "./request.ts"

/** A checked request with its answer in both forms; the platform frames whichever was asked for. */
export interface ClaudeAnswer {
  readonly request: ClaudeRequest
  readonly outputTokens: number
  readonly message: () => JsonObject
  readonly events: () => ReadonlyArray<ClaudeEvent>
}

/** Answers a Messages request. Throws a `Refusal` where the platform would refuse it. */
export const answerClaude = (body: JsonObject, context: ClaudeContext, identity: ReplyIdentity): ClaudeAnswer => {
  const read = readClaude(body, context)
  const { directives } = read.turn
  // Claude has no prompt filter of its own: what it will not answer, it refuses.
  const refused = directives.flags.has("filter-prompt")
    ? { ...directives, flags: new Set([...directives.flags, "refuse"]) }
    : directives
  const request = { ...read, turn: { ...read.turn, directives: refused } }
  const plan = planOf(request.turn)
  return {
    request,
    outputTokens: plan.outputTokens,
    message: () => messageOf(plan, request, identity),
    events: () => eventsOf(plan, request, identity)
  }
}

const types: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error"
}

const inStream: Readonly<Record<string, number>> = {
  throttlingException: 429,
  validationException: 400,
  serviceUnavailableException: 529,
  modelTimeoutException: 504
}

/** The error event of a Messages stream; `name` is an error type of this API, or one of Bedrock's exceptions. */
export const claudeErrorEvent = (name: string, message: string): JsonObject =>
  name.endsWith("_error")
    ? { type: "error", error: { type: name, message } }
    : claudeError(inStream[name] ?? 500, message)

/** An Anthropic error body. */
export const claudeError = (status: number, message: string, requestId?: string): JsonObject => ({
  type: "error",
  error: { type: types[status] ?? (status < 500 ? "invalid_request_error" : "api_error"), message },
  ...(requestId === undefined ? {} : { request_id: requestId })
})
