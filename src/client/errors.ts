/** The errors of a call that are no refusals of the gateway. */

/** What failed after the first byte of a reply. */
export type Failure = Pick<StreamError, "type" | "message" | "cause">

/**
 * A reply that failed after its first byte: the gateway reported it in the stream (`type` is its `error.type` or `code`), or
 * the stream ended without its last event, broke off, or could not be read (`type` is `stream_error`).
 */
export class StreamError extends Error {
  readonly _tag = "StreamError"
  override readonly name = "StreamError"
  readonly type: string
  readonly requestId: string | undefined

  constructor({ type, message, cause, requestId }: Failure & { readonly requestId?: string | undefined }) {
    super(message, { cause })
    this.type = type
    this.requestId = requestId
  }
}

/** No gateway answered; `cause` is the error of `fetch`. */
export class ConnectionError extends Error {
  readonly _tag = "ConnectionError"
  override readonly name = "ConnectionError"
}
