/**
 * The one place where a call leaves the process: Effect's `HttpClient` over undici's dispatcher. Effect's own client over undici takes
 * 181 µs of processor time a call where this takes 53, more than everything else that a whole reply costs.
 *
 * It sends no trace headers, follows no redirects, and has the deadline of its `CallContext`. When the scope closes before the reply has
 * ended, the reply is destroyed where the scope failed, and has a second to end where it succeeded, so that its connection is used again.
 */
import { Dispatcher } from "@effect/platform-node/NodeHttpClient"
import type Undici from "@effect/platform-node/Undici"
import { Context, Effect, Option, Scope } from "effect"
import { Headers, HttpBody, HttpClient, HttpClientError, HttpClientRequest, UrlParams } from "effect/http"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { ceilingError } from "../stream/deadlines.ts"
import { abandoned, type CallContext, Response } from "./Response.ts"

export const CurrentCall = Context.Reference<CallContext>("gateway/cloud/CurrentCall", {
  defaultValue: () => ({ sent: () => {}, takeMemory: () => true, received: () => {} })
})

/** Larger bodies are given to undici as an iterable, in bytes: it holds a buffer until the reply has ended. */
const maxBufferBytes = 4 * 1024

type Request = HttpClientRequest.HttpClientRequest
type Failure = HttpClientError.HttpClientError

/** Headers by which clouds name a call, in the order in which they are looked for. */
export const requestIdHeaders = ["x-amzn-requestid", "request-id", "apim-request-id", "x-request-id"]

/** The headers of a reply that are kept: those that the gateway reads. */
const keptHeaders = ["content-type", "content-encoding", "retry-after", "x-amzn-errortype", ...requestIdHeaders]

/** Of a header that came twice the first is kept. */
const headersOf = (given: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>): Headers.Headers => {
  const headers: Record<string, string> = {}
  for (const name of keptHeaders) {
    const value = given[name]
    const first = typeof value === "string" ? value : value?.[0]
    if (first !== undefined) headers[name] = first
  }
  return Headers.fromRecordUnsafe(headers)
}

/**
 * Returns a body once, and does not hold it after that. A stream runs for minutes, and its closures would hold what it was made from.
 */
export const singleUse = <A>(body: A): (() => A) => {
  let held: { readonly body: A } | undefined = { body }
  return () => {
    if (held === undefined) throw new Error("used twice")
    const used = held.body
    held = undefined
    return used
  }
}

/** A body that is no longer held once it has been sent. */
function* sentOnce(body: () => Uint8Array): Generator<Uint8Array> {
  yield body()
}

/** undici takes any iterable of bytes, which its types do not say. */
type Options = Omit<Undici.Dispatcher.DispatchOptions, "body"> & {
  readonly body: Uint8Array | Iterable<Uint8Array> | null
}

/** `url` is the whole address, as a URL parser prints it. */
const optionsOf = ({ body, headers, method, url }: Request): Options => {
  const [origin = ""] = /^https?:\/\/[^/]+/.exec(url) ?? []
  const to = { origin, path: url.slice(origin.length), method, headers, headersTimeout: 0, bodyTimeout: 0 }
  if (body._tag !== "Uint8Array") return { ...to, body: null }
  return { ...to, body: body.body.length <= maxBufferBytes ? body.body : sentOnce(singleUse(body.body)) }
}

export const postJson = (url: URL, headers: Readonly<Record<string, string>>, body: Uint8Array): Request =>
  HttpClientRequest.makeWith(
    "POST",
    url.href,
    UrlParams.empty,
    Option.none(),
    Headers.fromRecordUnsafe({ ...headers, "content-length": String(body.length) }),
    HttpBody.uint8Array(body, "application/json")
  )

/** The request without its body and credentials. */
const outline = ({ method, url }: Request): Request =>
  HttpClientRequest.makeWith(method, url, UrlParams.empty, Option.none(), Headers.empty, HttpBody.empty)

/** Not inlined into `execute`: its closures live as long as the reply, and would hold the request's body. */
const dispatch = (
  dispatcher: Undici.Dispatcher,
  options: Options,
  request: Request,
  { deadline, received, sent, takeMemory }: CallContext,
  scope: Scope.Scope
) =>
  Effect.callback<Response, Failure>((resume) => {
    const failed = (cause: unknown) =>
      new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
    let controller: Undici.Dispatcher.DispatchController | undefined
    let response: Response | undefined
    let aborted = false
    const abort = (reason: GatewayError) => {
      aborted = true
      clearTimeout(timer)
      controller?.abort(reason)
    }
    const timer =
      deadline === undefined
        ? undefined
        : setTimeout(() => {
            resume(Effect.fail(failed(ceilingError)))
            abort(ceilingError)
          }, deadline - performance.now())
    dispatcher.dispatch(options as Undici.Dispatcher.DispatchOptions, {
      onRequestStart(started) {
        controller = started
        if (aborted) started.abort(abandoned)
        else sent()
      },
      onResponseStart(started, status, headers) {
        // They are slices of the socket's first read, and would hold all of it.
        started.rawHeaders = null
        if (status < 200 || aborted) return
        const reply = new Response({ status, headers: headersOf(headers), request }, started, { received, takeMemory })
        response = reply
        const close = Scope.addFinalizerExit(scope, (exit) => Effect.sync(() => reply.close(exit)))
        resume(Effect.as(close, reply))
      },
      onResponseData: (_, chunk) => response?.push(chunk),
      onResponseEnd: () => {
        clearTimeout(timer)
        response?.end()
      },
      onResponseError: (_, cause) => {
        clearTimeout(timer)
        if (response !== undefined) response.end(cause)
        else resume(Effect.fail(failed(cause)))
      }
    })
    return Effect.sync(() => abort(abandoned))
  })

const execute = (dispatcher: Undici.Dispatcher, request: Request) =>
  Effect.withFiber<Response, Failure, Scope.Scope>((fiber) =>
    dispatch(
      dispatcher,
      optionsOf(request),
      outline(request),
      fiber.getRef(CurrentCall),
      Context.getUnsafe(fiber.context, Scope.Scope)
    )
  )

export const makeClient = Effect.map(Dispatcher, (dispatcher) =>
  HttpClient.makeWith(
    Effect.flatMap((request: Request) => execute(dispatcher, request)),
    Effect.succeed<Request>
  )
)
