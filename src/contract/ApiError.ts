/** Refusals as programs meet them, one class a shape of body (docs/api.md#errors). They need no library. */

export interface ErrorFields {
  readonly status: number
  readonly type: string
  readonly message: string
  /** `error.code`: the vendors' own word for what happened, where callers act on it. */
  readonly code?: string | undefined
  /** What a client library reads of an error beside its message (messages endpoints). */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** The gateway's ID of the request; clients know it from the reply's headers. */
  readonly requestId?: string | undefined
  /** Seconds to wait before the next attempt, where the gateway said so. */
  readonly retryAfter?: number | undefined
}

abstract class Refusal extends Error {
  readonly status: number
  /** `error.type`: what a program decides by. */
  readonly type: string
  readonly code: string | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly requestId: string | undefined
  readonly retryAfter: number | undefined

  constructor({ status, type, code, message, details, requestId, retryAfter }: ErrorFields) {
    super(message)
    this.status = status
    this.type = type
    this.code = code
    this.details = details
    this.requestId = requestId
    this.retryAfter = retryAfter
  }
}

/** An error of the chat completions, responses, embeddings, models and health endpoints. */
export class ApiError extends Refusal {
  readonly _tag = "ApiError"
  override readonly name = "ApiError"
}

/** An error of the messages endpoints. */
export class MessagesError extends Refusal {
  readonly _tag = "MessagesError"
  override readonly name = "MessagesError"
}
