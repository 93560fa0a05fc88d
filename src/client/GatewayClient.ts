/**
 * The client for Effect programs, made from the contract.
 *
 * ```ts
 * const program = Effect.gen(function* () {
 *   const gateway = yield* GatewayClient
 *   const { body, headers } = yield* gateway.chat.completions({
 *     model: "claude-sonnet-4-5:il5",
 *     messages: [{ role: "user", content: "What can you do?" }]
 *   })
 *   return [body.choices[0]?.message.content, headers.servedBy]
 * }).pipe(Effect.provide(GatewayClient.layer({ baseUrl, apiKey })), Effect.provide(FetchHttpClient.layer))
 * ```
 */
import { Context, Effect, Layer, Option, Redacted, type Schema, Stream } from "effect"
import { FetchHttpClient, HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { Api } from "../contract/Api.ts"
import { ApiError, MessagesError } from "../contract/Errors.ts"
import { ApiKey, MessagesKey } from "../contract/Security.ts"
import type * as Contract from "./contract.ts"
import type { StreamError } from "./errors.ts"
import { type EventFormat, formats, type MessageStreamEvent, type ResponseStreamEvent, replyReader } from "./events.ts"
import { type GatewayHeaders, isEventStream, readHeaders } from "./headers.ts"
import type { ForModel, Purpose } from "./ModelName.ts"
import { baseOf, idProblem, keyOf } from "./options.ts"
import { type RetryOptions, redirectProblem, refusalTimeout, retryPolicy } from "./policy.ts"

/** What the gateway answered, and who answered. */
export interface Reply<A> {
  readonly body: A
  readonly headers: GatewayHeaders
}

/** A refusal of the gateway's (`ApiError`, `MessagesError`), no answer, or an answer that the contract does not know. */
export type RequestFailure<E> = E | HttpClientError.HttpClientError | Schema.SchemaError
type Call<A, E> = Effect.Effect<Reply<A>, RequestFailure<E>>

type Streams = boolean | null
/** A request with a model ID in it; its `stream` decides what the reply is. */
export type WithModel<P extends Purpose, R, S = Streams> = ForModel<P, R> & { readonly stream?: S }
/** JSON, or with `stream: true` the stream of its events. */
export type ReplyBody<S, A, Event> = S extends true ? Stream.Stream<Event, StreamError> : A

export interface ClientOptions extends RetryOptions {
  /** Where the gateway is, without `/v1`. */
  readonly baseUrl: string | URL
  readonly apiKey: string | Redacted.Redacted<string>
}

type HttpReply = HttpClientResponse.HttpClientResponse
type Send<E> = Effect.Effect<HttpReply, RequestFailure<E>>
type Decode<A, E> = (reply: HttpReply) => Effect.Effect<A, RequestFailure<E>>

const decoders = {
  chat: HttpApiClient.decodeResponse(Api, { group: "chat", endpoint: "completions" }),
  messages: HttpApiClient.decodeResponse(Api, { group: "messages", endpoint: "create" }),
  countTokens: HttpApiClient.decodeResponse(Api, { group: "messages", endpoint: "countTokens" }),
  responses: HttpApiClient.decodeResponse(Api, { group: "responses", endpoint: "create" }),
  embeddings: HttpApiClient.decodeResponse(Api, { group: "embeddings", endpoint: "create" }),
  models: HttpApiClient.decodeResponse(Api, { group: "models", endpoint: "list" }),
  model: HttpApiClient.decodeResponse(Api, { group: "models", endpoint: "get" }),
  health: HttpApiClient.decodeResponse(Api, { group: "health", endpoint: "health" })
}

/** A refusal that was just decoded, with what the reply's headers say about it. */
const annotate = <E>(error: E, { requestId, retryAfter }: GatewayHeaders): E =>
  error instanceof ApiError || error instanceof MessagesError ? Object.assign(error, { requestId, retryAfter }) : error

/** The error of a reply that cannot be used. */
const unusable = (reply: HttpReply, what: string) => {
  const description = `${what} (status ${reply.status})`
  const reason = new HttpClientError.DecodeError({ request: reply.request, response: reply, description })
  return Effect.fail(new HttpClientError.HttpClientError({ reason }))
}

/** The error of a request that has no address. */
const unsendable = (description: string) => {
  const reason = new HttpClientError.InvalidUrlError({ request: HttpClientRequest.get("/v1/models"), description })
  return Effect.fail(new HttpClientError.HttpClientError({ reason }))
}

/** Reads a refusal, which has to come in time. One that is no JSON fails here: the decoder's error of it is a defect over `node:http`. */
const readRefusal = (reply: HttpReply) =>
  Effect.timeoutOrElse(reply.json, {
    duration: refusalTimeout,
    orElse: () => unusable(reply, "the reply did not come whole")
  })

const call = <A, E>(send: Send<E>, decode: Decode<A, E>): Call<A, E> =>
  Effect.flatMap(send, (reply) => {
    const redirect = redirectProblem(reply.status, reply.headers.location)
    if (redirect !== undefined) return unusable(reply, redirect)
    const headers = readHeaders(reply.headers)
    return (reply.status < 400 ? Effect.void : Effect.asVoid(readRefusal(reply))).pipe(
      Effect.andThen(decode(reply)),
      Effect.map((body) => ({ body, headers })),
      Effect.mapError((error) => annotate(error, headers))
    )
  })

const streamValues = <A>(reply: HttpReply, format: EventFormat<A>) =>
  Stream.suspend(() => {
    const { broken, end, read } = replyReader(format, readHeaders(reply.headers).requestId)
    const failWith = (error: StreamError | undefined) => (error === undefined ? Stream.empty : Stream.fail(error))
    return reply.stream.pipe(
      Stream.decodeText,
      Stream.mapError(broken),
      Stream.map((text) => read(text)),
      Stream.takeUntil(({ over }) => over === true),
      Stream.flatMap(({ failure, values }) => Stream.concat(Stream.fromIterable(values), failWith(failure))),
      Stream.concat(Stream.suspend(() => failWith(end())))
    )
  })

/** A whole reply or a stream, as the request's `stream` says, and so the types. */
const callEither = <S, A, Event, E>(
  { stream }: { readonly stream?: Streams },
  send: Send<E>,
  decode: Decode<A | Stream.Stream<unknown, unknown>, E>,
  format: EventFormat<Event>
) =>
  call(send, (reply) => {
    const streams = reply.status === 200 && isEventStream(reply.headers["content-type"])
    const body = streams ? Effect.succeed(streamValues(reply, format)) : decode(reply)
    const isOther = reply.status === 200 && streams !== (stream === true)
    const other = unusable(reply, streams ? "a stream came for a whole reply" : "a whole reply came for a stream")
    return (isOther ? other : body) as ReturnType<Decode<ReplyBody<S, A, Event>, E>>
  })

type Attempt = Effect.Effect<HttpReply, HttpClientError.HttpClientError>

/**
 * Sends again what the gateway refused for now, or never got, by the same rules as the promise client. Effect's
 * `HttpClient.retryTransient` knows no `x-should-retry`, and would send again what 500 and 504 may have charged for.
 */
const withRetries = (send: Attempt, options: RetryOptions): Attempt => {
  const { backoff, retries, waitAfter } = retryPolicy(options)
  // Clients that are not over `fetch` follow none unless told to.
  const once = Effect.flatMap(Effect.serviceOption(FetchHttpClient.RequestInit), (init) =>
    Effect.provideService(send, FetchHttpClient.RequestInit, { ...Option.getOrUndefined(init), redirect: "manual" })
  )
  const attempt = (n: number): Attempt => {
    if (n >= retries) return once
    return Effect.matchEffect(once, {
      onSuccess: (reply) => {
        const wait = reply.status >= 400 ? waitAfter(n, reply.status, readHeaders(reply.headers)) : undefined
        if (wait === undefined) return Effect.succeed(reply)
        // Read, the body frees its connection for the next attempt.
        return Effect.ignore(readRefusal(reply)).pipe(
          Effect.andThen(Effect.sleep(wait)),
          Effect.andThen(attempt(n + 1))
        )
      },
      onFailure: (error) =>
        error.reason._tag === "TransportError"
          ? Effect.andThen(Effect.sleep(backoff(n)), attempt(n + 1))
          : Effect.fail(error)
    })
  }
  return attempt(0)
}

/** As JSON has it: a field that is `undefined`, as most projects may write, is absent. */
const present = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(present)
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(fields.map(([name, inner]) => [name, present(inner)]))
}

/** A client over the `HttpClient` in the context. */
export const makeClient = Effect.fnUntraced(function* ({ baseUrl, apiKey, ...retries }: ClientOptions) {
  const secret = Redacted.make(keyOf(Redacted.isRedacted(apiKey) ? Redacted.value(apiKey) : apiKey))
  const send: HttpApiMiddleware.HttpApiMiddlewareClient<never, never, never> = ({ next, request }) =>
    withRetries(next(HttpClientRequest.setHeader(request, "x-api-key", Redacted.value(secret))), retries)
  const key = Layer.merge(HttpApiMiddleware.layerClient(ApiKey, send), HttpApiMiddleware.layerClient(MessagesKey, send))
  const mode = { responseMode: "response-only" } as const
  /** The document's types and the schemas' differ in nothing but the type of fields that neither knows. */
  const sent = <Payload>(request: unknown) => ({ payload: present(request) as Payload, ...mode })

  const api = yield* Effect.provide(HttpApiClient.make(Api, { baseUrl: baseOf(baseUrl) }), key)
  return {
    chat: {
      completions: <const S extends Streams = false>(request: WithModel<"chat", Contract.ChatRequest, S>) =>
        callEither<S, Contract.ChatCompletion, Contract.ChatCompletionChunk, ApiError>(
          request,
          api.chat.completions(sent(request)),
          decoders.chat,
          formats.chat
        )
    },
    messages: {
      create: <const S extends Streams = false>(request: WithModel<"messages", Contract.MessagesRequest, S>) =>
        callEither<S, Contract.Message, MessageStreamEvent, MessagesError>(
          request,
          api.messages.create(sent(request)),
          decoders.messages,
          formats.messages
        ),
      countTokens: (request: ForModel<"messages", Contract.CountTokensRequest>) =>
        call<Contract.CountTokensReply, MessagesError>(api.messages.countTokens(sent(request)), decoders.countTokens)
    },
    responses: {
      create: <const S extends Streams = false>(request: WithModel<"responses", Contract.ResponsesRequest, S>) =>
        callEither<S, Contract.ResponseObject, ResponseStreamEvent, ApiError>(
          request,
          api.responses.create(sent(request)),
          decoders.responses,
          formats.responses
        )
    },
    embeddings: {
      create: (request: ForModel<"embeddings", Contract.EmbeddingsRequest>) =>
        call<Contract.EmbeddingList, ApiError>(api.embeddings.create(sent(request)), decoders.embeddings)
    },
    models: {
      list: () => call<Contract.ModelList, ApiError>(api.models.list(mode), decoders.models),
      /** The entry of the list with this ID; 404 where the key may not use it. */
      retrieve: (id: string) => {
        const description = idProblem(id)
        const asked: Send<ApiError> =
          description === undefined ? api.models.get({ params: { id }, ...mode }) : unsendable(description)
        return call<Contract.Model, ApiError>(asked, decoders.model)
      }
    },
    /** Never sent again: an answer of 503 is the answer. */
    health: () => call<Contract.Health | Contract.Draining, ApiError>(api.health(mode), decoders.health)
  } as const
})
export interface Client extends Effect.Success<ReturnType<typeof makeClient>> {}

export class GatewayClient extends Context.Service<GatewayClient, Client>()("gateway/Client") {
  static readonly layer = (options: ClientOptions) => Layer.effect(GatewayClient, makeClient(options))
}
