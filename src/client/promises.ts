/** The client for programs that do not use Effect: promises, async iterables, abort signals. It needs no library. */
import { type Accumulator, chatAccumulator, messagesAccumulator, responsesAccumulator } from "./accumulate.ts"
import { type CallOptions, makeConnection, type PromiseClientOptions } from "./connection.ts"
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  CountTokensReply,
  CountTokensRequest,
  Draining,
  EmbeddingList,
  EmbeddingsRequest,
  Health,
  Message,
  MessagesRequest,
  ModelList,
  Response,
  ResponsesRequest
} from "./contract.ts"
import { EventStream } from "./EventStream.ts"
import type { ModelFor } from "./ModelName.ts"
import {
  chatReader,
  type MessageStreamEvent,
  messagesReader,
  type Reader,
  type ResponseStreamEvent,
  responsesReader
} from "./readers.ts"

type Purpose = "chat" | "messages" | "responses" | "embeddings"
type Model<P extends Purpose, R> = R & { readonly model: ModelFor<P> }
type Json<P extends Purpose, R> = Model<P, R> & { readonly stream?: false | null }
/** `stream` need not be given. */
type Streamed<P extends Purpose, R> = Model<P, R> & { readonly stream?: true }
type Ask<R, A> = (request: R, options?: CallOptions) => Promise<A>
type Listen<R, Event, Final> = (request: R, options?: CallOptions) => EventStream<Event, Final>

/**
 * Calls reject with `ApiError` or `MessagesError` (refusals), or with `ConnectionError` (no answer). Streams start when they are
 * read, throw these or `StreamError`, and end their request when the loop is left.
 */
export interface PromiseClient {
  readonly chat: {
    readonly completions: Ask<Json<"chat", ChatRequest>, ChatCompletion>
    readonly stream: Listen<Streamed<"chat", ChatRequest>, ChatCompletionChunk, ChatCompletion>
  }
  readonly messages: {
    readonly create: Ask<Json<"messages", MessagesRequest>, Message>
    readonly stream: Listen<Streamed<"messages", MessagesRequest>, MessageStreamEvent, Message>
    readonly countTokens: Ask<Model<"messages", CountTokensRequest>, CountTokensReply>
  }
  readonly responses: {
    readonly create: Ask<Json<"responses", ResponsesRequest>, Response>
    readonly stream: Listen<Streamed<"responses", ResponsesRequest>, ResponseStreamEvent, Response>
  }
  readonly embeddings: { readonly create: Ask<Model<"embeddings", EmbeddingsRequest>, EmbeddingList> }
  readonly models: { readonly list: (options?: CallOptions) => Promise<ModelList> }
  /** Never sent again: an answer of 503 is the answer. */
  readonly health: (options?: CallOptions) => Promise<Health | Draining>
}

export const createClient = (options: PromiseClientOptions): PromiseClient => {
  const { ask, listen } = makeConnection(options)
  const post =
    <R, A>(path: string): Ask<R, A> =>
    (request, call) =>
      ask<A>({ path, body: request }, call)
  const whole =
    <R extends object, A>(path: string): Ask<R, A> =>
    (request, call) =>
      ask<A>({ path, body: { ...request, stream: false } }, call)
  const stream =
    <R extends object, Event, Final>(
      path: string,
      read: Reader<Event>,
      accumulator: () => Accumulator<Event, Final>
    ): Listen<R, Event, Final> =>
    (request, call) =>
      new EventStream(listen({ path, body: { ...request, stream: true } }, read, call), accumulator())

  return {
    chat: {
      completions: whole("/v1/chat/completions"),
      stream: stream("/v1/chat/completions", chatReader, chatAccumulator)
    },
    messages: {
      create: whole("/v1/messages"),
      stream: stream("/v1/messages", messagesReader, messagesAccumulator),
      countTokens: post("/v1/messages/count_tokens")
    },
    responses: {
      create: whole("/v1/responses"),
      stream: stream("/v1/responses", responsesReader, responsesAccumulator)
    },
    embeddings: { create: post("/v1/embeddings") },
    models: { list: (call) => ask({ path: "/v1/models" }, call) },
    health: (call) => ask({ path: "/health", again: false }, call, (status) => status === 200 || status === 503)
  }
}
