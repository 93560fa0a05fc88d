/** Sends requests with `fetch`, retries where that helps, and reads the replies. */
import { ApiError, MessagesError } from "../contract/ApiError.ts"
import { isObject, objectOf, readObject, textOf } from "../wire/json.ts"
import type { operations } from "./contract.ts"
import { ConnectionError, StreamError } from "./errors.ts"
import { type EventFormat, replyReader } from "./events.ts"
import { type GatewayHeaders, isEventStream, readHeaders } from "./headers.ts"
import { baseOf, idProblem, keyOf } from "./options.ts"
import { type RetryOptions, redirectProblem, refusalTimeout, retryPolicy } from "./policy.ts"

export interface CallOptions {
  /** Ends the call, at any moment; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called once with the reply's headers, of a refusal too: before the promise settles, or before a stream's first event. */
  readonly onHeaders?: ((headers: GatewayHeaders) => void) | undefined
}

export interface PromiseClientOptions extends RetryOptions {
  /** Where the gateway is, without `/v1`. */
  readonly baseUrl: string | URL
  readonly apiKey: string
  /** Another `fetch`: through a proxy, say, or with a client certificate. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

export type Operation = (typeof operations)[keyof typeof operations]

interface OperationRequest {
  readonly operation: Operation
  /** What stands for `{id}` in its path. */
  readonly id?: string
  /** Absent in a GET. */
  readonly body?: unknown
  /** Whether it may be sent again; true unless given. */
  readonly retryable?: boolean
}

const headersOf = ({ headers }: Response): GatewayHeaders => readHeaders(Object.fromEntries(headers))

/** Longest time of a timer, in milliseconds: a longer one is over at once. */
const longestTimer = 2 ** 31 - 1

/** Waits, or fails with the signal's reason. */
const sleep = (milliseconds: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const end = () => {
      signal?.removeEventListener("abort", abort)
      resolve()
    }
    const timer = setTimeout(end, Math.min(milliseconds, longestTimer))
    signal?.addEventListener("abort", abort, { once: true })
  })

/** The reply to a refused request, whose body has to come in time. */
const inTime = ({ body }: Response) =>
  new Response(body?.pipeThrough(new TransformStream(), { signal: AbortSignal.timeout(refusalTimeout) }))

const readText = async (response: Response, signal?: AbortSignal) => {
  try {
    return await (response.ok ? response : inTime(response)).text()
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason
    throw new ConnectionError(`the reply did not come whole (status ${response.status})`, { cause })
  }
}

const refusals = { ApiErrorBody: ApiError, MessagesErrorBody: MessagesError }

/** The refusal that a body is, in the class of its operation; what is not of the gateway's shape is `unexpected_reply`. */
const refusalOf = (
  { operation }: OperationRequest,
  { headers, status }: Response,
  { requestId, retryAfter }: GatewayHeaders,
  body: Readonly<Record<string, unknown>> | undefined
) => {
  const error = objectOf(body?.error)
  const [type, message] = [textOf(error.type), textOf(error.message)]
  const fields =
    type !== undefined && message !== undefined
      ? { type, message, code: textOf(error.code), details: isObject(error.details) ? error.details : undefined }
      : {
          type: "unexpected_reply",
          message:
            redirectProblem(status, headers.get("location")) ??
            `what answers there is not the gateway, or another version of it (status ${status})`
        }
  return new refusals[operation.refusal]({ status, ...fields, requestId, retryAfter })
}

export const makeConnection = ({ baseUrl, apiKey, fetch = globalThis.fetch, ...options }: PromiseClientOptions) => {
  const { backoff, retries, waitAfter } = retryPolicy(options)
  const base = baseOf(baseUrl)
  const key = keyOf(apiKey)

  /** The reply, whatever its status, after the attempts that help. */
  const send = async ({ operation, id = "", body, retryable = true }: OperationRequest, signal?: AbortSignal) => {
    const problem = idProblem(id)
    if (problem !== undefined) throw new TypeError(problem)
    const address = base + operation.path.replace("{id}", encodeURIComponent(id))
    // Outside of the attempts: what cannot be sent is not the connection's fault.
    const init = {
      method: operation.method,
      headers: new Headers({
        "x-api-key": key,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      }),
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      redirect: "manual"
    } as const
    for (let n = 0; ; n++) {
      const more = retryable && n < retries
      let wait: number | undefined
      try {
        signal?.throwIfAborted()
        const response = await fetch(address, init)
        wait = more && !response.ok ? waitAfter(n, response.status, headersOf(response)) : undefined
        if (wait === undefined) return response
        // Read, the body frees its connection for the next attempt.
        await readText(response).catch(() => undefined)
      } catch (cause) {
        if (signal?.aborted === true) throw signal.reason
        if (!more) throw new ConnectionError(`no gateway answers at ${base}`, { cause })
        wait = backoff(n)
      }
      await sleep(wait, signal)
    }
  }

  /** The body of a reply whose status is an answer. */
  const request = async <A>(asked: OperationRequest, { signal, onHeaders }: CallOptions = {}): Promise<A> => {
    const answers: ReadonlyArray<number> = asked.operation.answers
    const response = await send(asked, signal)
    const headers = headersOf(response)
    const body = readObject(await readText(response, signal))
    onHeaders?.(headers)
    if (!answers.includes(response.status) || body === undefined) throw refusalOf(asked, response, headers, body)
    // The gateway has checked it, and the operation decides its type.
    return body as A
  }

  /** The events of a streamed reply. */
  async function* stream<Event>(
    asked: OperationRequest,
    format: EventFormat<Event>,
    { signal: given, onHeaders }: CallOptions = {}
  ): AsyncGenerator<Event, void, undefined> {
    const left = new AbortController()
    const signal = given === undefined ? left.signal : AbortSignal.any([given, left.signal])
    const response = await send(asked, signal)
    const headers = headersOf(response)
    if (!response.ok || response.body === null || !isEventStream(response.headers.get("content-type"))) {
      const body = readObject(await readText(response, signal))
      onHeaders?.(headers)
      throw refusalOf(asked, response, headers, body)
    }
    try {
      onHeaders?.(headers)
    } catch (cause) {
      // The caller's own: nobody reads the reply.
      left.abort()
      throw cause
    }
    const reader = replyReader(format, headers.requestId)
    const bytes = response.body.getReader()
    const decoder = new TextDecoder()
    try {
      for (;;) {
        const { done, value } = await bytes.read()
        const { values, failure, over } = reader.read(decoder.decode(value, { stream: !done }))
        yield* values
        const error = done ? (failure ?? reader.end()) : failure
        if (error !== undefined) throw error
        if (done || over === true) return
      }
    } catch (error) {
      if (given?.aborted === true) throw given.reason
      throw error instanceof StreamError ? error : reader.broken(error)
    } finally {
      await bytes.cancel().catch(() => undefined)
      left.abort()
    }
  }

  return { request, stream }
}
