/** The client for programs that do not use Effect: promises, async iterables, abort signals. */
import { Cause, Effect, Exit, Stream } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import type { Completion, CompletionChunk } from "../api/Chat.ts"
import type { ChatRequest } from "../api/ChatGroup.ts"
import type { EmbeddingList, EmbeddingsRequest } from "../api/Embeddings.ts"
import type { Message } from "../api/MessagesEvents.ts"
import type { CountReply, CountRequest, MessagesRequest } from "../api/MessagesGroup.ts"
import type { ResponsesRequest } from "../api/ResponsesGroup.ts"
import type { ResponseObject } from "../api/ResponsesReply.ts"
import type { Draining, Health, ModelList } from "../api/System.ts"
import type { StreamError } from "./events.ts"
import { type Client, type ClientOptions, makeClient, type Reply, type WithModel } from "./GatewayClient.ts"
import type { GatewayHeaders } from "./headers.ts"
import type { ModelName } from "./ModelName.ts"
import type { MessageStreamEvent, ResponseStreamEvent } from "./readers.ts"

export interface CallOptions {
  /** Ends the call, at any moment; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Told once who answers: before the promise settles, or before a stream's first event. Refusals carry theirs. */
  readonly onHeaders?: ((headers: GatewayHeaders) => void) | undefined
}

export interface PromiseClientOptions extends ClientOptions {
  /** Another `fetch`: through a proxy, say, or with a client certificate. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

type Json<R> = WithModel<R, false | null>
/** `stream` need not be given. */
type Streamed<R> = WithModel<R, true>
type Model<R> = R & { readonly model: ModelName }
type Ask<R, A> = (request: R, options?: CallOptions) => Promise<A>
type Listen<R, A> = (request: R, options?: CallOptions) => AsyncIterable<A>

/**
 * Calls reject with `ApiError`, `MessagesError` (refusals), `HttpClientError` (no answer) or `SchemaError` (a request or
 * reply that the contract does not know). Streams start when they are iterated, throw these or `StreamError`, and end
 * their request when the loop is left.
 */
export interface PromiseClient {
  readonly chat: {
    readonly completions: Ask<Json<ChatRequest>, Completion>
    readonly stream: Listen<Streamed<ChatRequest>, CompletionChunk>
  }
  readonly messages: {
    readonly create: Ask<Json<MessagesRequest>, Message>
    readonly stream: Listen<Streamed<MessagesRequest>, MessageStreamEvent>
    readonly countTokens: Ask<Model<CountRequest>, typeof CountReply.Type>
  }
  readonly responses: {
    readonly create: Ask<Json<ResponsesRequest>, ResponseObject>
    readonly stream: Listen<Streamed<ResponsesRequest>, ResponseStreamEvent>
  }
  readonly embeddings: { readonly create: Ask<Model<EmbeddingsRequest>, EmbeddingList> }
  readonly models: { readonly list: (options?: CallOptions) => Promise<typeof ModelList.Type> }
  readonly health: (options?: CallOptions) => Promise<typeof Health.Type | typeof Draining.Type>
}

/** Fails with the signal's reason, as `fetch` does. */
const aborted = (signal: AbortSignal) =>
  Effect.callback<never, unknown>((resume) => {
    const abort = () => resume(Effect.fail(signal.reason))
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })

export const createClient = ({ fetch, ...options }: PromiseClientOptions): PromiseClient => {
  const provide = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
    const plain = Effect.provideService(effect, HttpClient.TracerPropagationEnabled, false)
    return fetch === undefined ? plain : Effect.provideService(plain, FetchHttpClient.Fetch, fetch)
  }
  const client: Client = Effect.runSync(makeClient(options).pipe(Effect.provide(FetchHttpClient.layer)))

  const open = <A, E>(call: Effect.Effect<Reply<A>, E>, { onHeaders }: CallOptions = {}) =>
    Effect.map(provide(call), ({ body, headers }) => {
      onHeaders?.(headers)
      return body
    })
  const ask = async <A, E>(call: Effect.Effect<Reply<A>, E>, options?: CallOptions): Promise<A> => {
    const opened = open(call, options)
    const exit = await Effect.runPromiseExit(
      options?.signal === undefined ? opened : Effect.raceFirst(opened, aborted(options.signal))
    )
    if (Exit.isSuccess(exit)) return exit.value
    throw Cause.squash(exit.cause)
  }
  const listen = <A, E>(
    call: Effect.Effect<Reply<Stream.Stream<A, StreamError>>, E>,
    options?: CallOptions
  ): AsyncIterable<A> => {
    const events = Stream.unwrap(open(call, options))
    return Stream.toAsyncIterable(
      options?.signal === undefined ? events : Stream.interruptWhen(events, aborted(options.signal))
    )
  }

  return {
    chat: {
      completions: (request, options) => ask(client.chat.completions({ ...request, stream: false }), options),
      stream: (request, options) => listen(client.chat.completions({ ...request, stream: true }), options)
    },
    messages: {
      create: (request, options) => ask(client.messages.create({ ...request, stream: false }), options),
      stream: (request, options) => listen(client.messages.create({ ...request, stream: true }), options),
      countTokens: (request, options) => ask(client.messages.countTokens(request), options)
    },
    responses: {
      create: (request, options) => ask(client.responses.create({ ...request, stream: false }), options),
      stream: (request, options) => listen(client.responses.create({ ...request, stream: true }), options)
    },
    embeddings: { create: (request, options) => ask(client.embeddings.create(request), options) },
    models: { list: (options) => ask(client.models.list(), options) },
    health: (options) => ask(client.health(), options)
  }
}
