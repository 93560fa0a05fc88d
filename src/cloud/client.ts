/**
 * The one place where a call leaves the process: Effect's `HttpClient` over undici's dispatcher. Effect's own client over undici takes
 * 181 µs of processor time a call where this takes 53, more than everything else that a whole reply costs.
 *
 * It sends no trace headers, follows no redirects and has no deadlines: those are its callers'. The scope ends the call: a reply that
 * has not ended is destroyed where the scope fails, and has a second to end where it succeeds, so that its connection is used again.
 */
import { Dispatcher } from "@effect/platform-node/NodeHttpClient"
import type Undici from "@effect/platform-node/Undici"
import { Cause, Context, Effect, Exit, Inspectable, Option, Pipeable, type Pull, Scope, Stream } from "effect"
import {
  Cookies,
  Headers,
  HttpBody,
  HttpClient,
  HttpClientError,
  HttpClientRequest,
  HttpClientResponse,
  HttpIncomingMessage,
  UrlParams
} from "effect/http"
import { GatewayError, noRoom } from "../catalog/GatewayError.ts"
import { singleUse } from "../stream/singleUse.ts"

/** What a call may use, and what is told of it while it runs. */
export interface CallContext {
  /** The first byte of the request is about to be sent. */
  readonly sent: () => void
  /** Takes memory for bytes of a whole reply, and says whether there was any. */
  readonly take: (bytes: number) => boolean
  /** So many bytes have come of a whole reply that began as a success. */
  readonly received: (bytes: number) => void
}

export const CurrentCall = Context.Reference<CallContext>("gateway/cloud/CurrentCall", {
  defaultValue: () => ({ sent: () => {}, take: () => true, received: () => {} })
})

/** Largest whole reply, and largest error reply, in bytes. */
const maxReplyBytes = 32 * 1024 * 1024
const maxErrorBytes = 64 * 1024
/** Bytes that wait for a reader before the cloud has to. */
const maxWaiting = 16 * 1024
/** Bodies above this many bytes are given to undici as an iterable: it holds a whole one until the reply has ended. */
const heldBytes = 4 * 1024
/** How long a reply that is not read to its end may take to end, in milliseconds. */
const afterwards = 1_000

const abandoned = new GatewayError({ reason: "upstream", message: "the call was given up", code: "cancelled" })
const tooLarge = new GatewayError({
  reason: "upstream",
  message: "the cloud that serves this model sent a reply that is too large",
  code: "too-large"
})

type Request = HttpClientRequest.HttpClientRequest
type Failure = HttpClientError.HttpClientError
type Chunks = [Uint8Array, ...Array<Uint8Array>]

const isFilled = (chunks: Array<Uint8Array>): chunks is Chunks => chunks.length > 0

/** A reply whose head has come: undici pushes its body, and one reader pulls it, as a stream or whole. */
class Response extends Inspectable.Class implements HttpClientResponse.HttpClientResponse {
  readonly [HttpIncomingMessage.TypeId]: typeof HttpIncomingMessage.TypeId = HttpIncomingMessage.TypeId
  readonly [HttpClientResponse.TypeId]: typeof HttpClientResponse.TypeId = HttpClientResponse.TypeId
  readonly request: Request
  readonly status: number
  readonly headers: Headers.Headers
  private readonly controller: Undici.Dispatcher.DispatchController
  private readonly call: Pick<CallContext, "received" | "take">
  private chunks: Array<Uint8Array> = []
  private size = 0
  /** Most bytes of a body that is read whole. */
  private limit: number | undefined
  private ended: Exit.Exit<void, Failure> | undefined
  private discarding: NodeJS.Timeout | undefined
  private resume: (() => void) | undefined
  private notifying = false

  constructor(
    request: Request,
    status: number,
    headers: Headers.Headers,
    controller: Undici.Dispatcher.DispatchController,
    call: Pick<CallContext, "received" | "take">
  ) {
    super()
    this.request = request
    this.status = status
    this.headers = headers
    this.controller = controller
    this.call = call
  }

  push(chunk: Uint8Array): void {
    if (this.ended !== undefined || this.discarding !== undefined) return
    this.chunks.push(chunk)
    this.size += chunk.length
    if (this.limit !== undefined) this.admit(chunk.length)
    else {
      if (this.size > maxWaiting && this.resume === undefined) this.controller.pause()
      this.notify()
    }
  }

  end(failure?: unknown): void {
    clearTimeout(this.discarding)
    this.ended ??= failure === undefined ? Exit.void : Exit.fail(this.failed(failure))
    this.notify()
  }

  /** Nothing more of it is read. */
  close(exit: Exit.Exit<unknown, unknown>): void {
    if (this.ended !== undefined || this.discarding !== undefined) return
    this.chunks = []
    if (Exit.isFailure(exit)) this.destroy(abandoned)
    else {
      this.discarding = setTimeout(() => this.destroy(abandoned), afterwards)
      this.controller.resume()
    }
  }

  /** Arrays of what one read of the socket brought. */
  get stream() {
    return Stream.fromPull(Effect.succeed(this.pull))
  }

  /** At most 32 MiB of a success, and 64 KiB of anything else. */
  get arrayBuffer() {
    return Effect.suspend(() => {
      this.limit = this.status === 200 ? maxReplyBytes : maxErrorBytes
      this.admit(this.size)
      this.controller.resume()
      return this.whole
    })
  }

  get text() {
    return Effect.map(this.arrayBuffer, (bytes) => new TextDecoder().decode(bytes))
  }
  get json() {
    return Effect.flatMap(this.text, (text) => Effect.try({ try: () => JSON.parse(text), catch: this.failed }))
  }
  get urlParamsBody() {
    return Effect.map(this.text, (text) => UrlParams.fromInput(new URLSearchParams(text)))
  }
  get formData() {
    return Effect.fail(this.failed("forms are not read"))
  }
  get upgrade() {
    return Effect.fail(this.failed("connections are not upgraded"))
  }
  get url() {
    return this.request.url
  }
  get cookies() {
    return Cookies.empty
  }
  get remoteAddress() {
    return Option.none()
  }
  pipe() {
    // biome-ignore lint/complexity/noArguments: Effect's own way to pipe
    return Pipeable.pipeArguments(this, arguments)
  }
  toJSON() {
    return HttpIncomingMessage.inspect(this, { _id: "HttpClientResponse", status: this.status })
  }

  private readonly pull: Pull.Pull<Chunks, Failure> = Effect.suspend(() => {
    const { chunks } = this
    if (isFilled(chunks)) {
      this.chunks = []
      this.size = 0
      if (this.ended === undefined) this.controller.resume()
      return Effect.succeed(chunks)
    }
    if (this.ended === undefined) return Effect.andThen(this.wait, this.pull)
    return Exit.isSuccess(this.ended) ? Cause.done() : Effect.failCause(this.ended.cause)
  })

  private readonly whole: Effect.Effect<ArrayBuffer, Failure> = Effect.suspend(() => {
    if (this.ended === undefined) return Effect.andThen(this.wait, this.whole)
    if (Exit.isFailure(this.ended)) return Effect.failCause(this.ended.cause)
    const bytes = new Uint8Array(this.size)
    let at = 0
    for (const chunk of this.chunks) {
      bytes.set(chunk, at)
      at += chunk.length
    }
    return Effect.succeed(bytes.buffer)
  })

  private readonly wait: Effect.Effect<void> = Effect.callback((resume) => {
    this.resume = () => resume(Effect.void)
    return Effect.sync(() => {
      this.resume = undefined
    })
  })

  /** Notifies the reader once undici has parsed one read of the socket. */
  private notify(): void {
    if (this.notifying || this.resume === undefined) return
    if (this.limit !== undefined && this.ended === undefined) return
    this.notifying = true
    queueMicrotask(() => {
      this.notifying = false
      const { resume } = this
      this.resume = undefined
      resume?.()
    })
  }

  /** More bytes of a body that is read whole. */
  private admit(bytes: number): void {
    if (this.status === 200) this.call.received(bytes)
    if (this.limit !== undefined && this.size > this.limit) this.destroy(tooLarge)
    else if (bytes > 0 && !this.call.take(bytes)) this.destroy(noRoom)
  }

  private destroy(error: GatewayError): void {
    if (this.ended !== undefined) return
    this.chunks = []
    this.end(error)
    this.controller.abort(error)
  }

  private readonly failed = (cause: unknown): Failure =>
    new HttpClientError.HttpClientError({
      reason: new HttpClientError.DecodeError({ request: this.request, response: this, cause })
    })
}

/** The headers of a reply that the gateway looks at; everything else stays behind. */
const kept = [
  "content-type",
  "content-encoding",
  "retry-after",
  "x-amzn-errortype",
  "x-amzn-requestid",
  "request-id",
  "apim-request-id",
  "x-request-id"
]

/** A header that came twice counts as its first. */
const headersOf = (given: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>): Headers.Headers => {
  const headers: Record<string, string> = {}
  for (const name of kept) {
    const value = given[name]
    const first = typeof value === "string" ? value : value?.[0]
    if (first !== undefined) headers[name] = first
  }
  return Headers.fromRecordUnsafe(headers)
}

/** A body that is let go of as soon as it has been sent. */
function* sentOnce(body: () => Uint8Array): Generator<Uint8Array> {
  yield body()
}

/** Requests have their whole address in `url`. */
const optionsOf = (request: Request): Undici.Dispatcher.DispatchOptions => {
  const { headers, method } = request
  const url = new URL(request.url)
  const to = { origin: url.origin, path: url.pathname + url.search, method, headersTimeout: 0, bodyTimeout: 0 }
  if (request.body._tag !== "Uint8Array") return { ...to, headers, body: null }
  const { body } = request.body
  if (body.length <= heldBytes) return { ...to, headers, body }
  // undici takes any iterable of bytes, which its types do not say.
  return { ...to, headers, body: sentOnce(singleUse(body)) as unknown as Uint8Array }
}

/** What lives as long as the reply. Apart from `execute`, whose variables it would hold, the request's body among them. */
const dispatch = (
  dispatcher: Undici.Dispatcher,
  options: Undici.Dispatcher.DispatchOptions,
  request: Request,
  { received, sent, take }: CallContext,
  scope: Scope.Scope
) =>
  Effect.callback<Response, Failure>((resume) => {
    let controller: Undici.Dispatcher.DispatchController | undefined
    let response: Response | undefined
    let left = false
    dispatcher.dispatch(options, {
      onRequestStart(started) {
        controller = started
        if (left) started.abort(abandoned)
        else sent()
      },
      onResponseStart(started, status, headers) {
        // They are parts of the first read of the socket, all of which they would keep.
        started.rawHeaders = null
        if (status < 200 || left) return
        const reply = new Response(request, status, headersOf(headers), started, { received, take })
        response = reply
        resume(
          Effect.as(
            Scope.addFinalizerExit(scope, (exit) => Effect.sync(() => reply.close(exit))),
            reply
          )
        )
      },
      onResponseData: (_, chunk) => response?.push(chunk),
      onResponseEnd: () => response?.end(),
      onResponseError: (_, cause) => {
        if (response !== undefined) return response.end(cause)
        const reason = new HttpClientError.TransportError({ request, cause })
        resume(Effect.fail(new HttpClientError.HttpClientError({ reason })))
      }
    })
    return Effect.sync(() => {
      left = true
      controller?.abort(abandoned)
    })
  })

const execute = (dispatcher: Undici.Dispatcher, request: Request) =>
  Effect.withFiber<Response, Failure, Scope.Scope>((fiber) =>
    dispatch(
      dispatcher,
      optionsOf(request),
      HttpClientRequest.setBody(request, HttpBody.empty),
      fiber.getRef(CurrentCall),
      Context.get(fiber.context as Context.Context<Scope.Scope>, Scope.Scope)
    )
  )

export const makeClient: Effect.Effect<
  HttpClient.HttpClient.With<Failure, Scope.Scope>,
  never,
  Dispatcher
> = Effect.map(Dispatcher, (dispatcher) =>
  HttpClient.makeWith(
    Effect.flatMap((request: Request) => execute(dispatcher, request)),
    Effect.succeed<Request>
  )
)
