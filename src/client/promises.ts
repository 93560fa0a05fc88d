/** The client for programs that do not use Effect: promises, async iterables, abort signals. It needs no library. */
import { type Accumulator, chatAccumulator, messagesAccumulator, responsesAccumulator } from "./accumulate.ts"
import { type CallOptions, makeConnection, type Operation, type PromiseClientOptions } from "./connection.ts"
import type * as Contract from "./contract.ts"
import { operations } from "./contract.ts"
import { EventStream } from "./EventStream.ts"
import { type EventFormat, formats, type MessageStreamEvent, type ResponseStreamEvent } from "./events.ts"
import type { ForModel, Purpose } from "./ModelName.ts"

type Json<P extends Purpose, R> = ForModel<P, R> & { readonly stream?: false | null }
/** `stream` need not be given. */
type Streamed<P extends Purpose, R> = ForModel<P, R> & { readonly stream?: true }
type Call<R, A> = (request: R, options?: CallOptions) => Promise<A>
type StreamCall<R, Event, Final> = (request: R, options?: CallOptions) => EventStream<Event, Final>

/**
 * Calls reject with `ApiError` or `MessagesError` (refusals), or with `ConnectionError` (no answer). Streams start when they are
 * read, throw these or `StreamError`, and end their request when the loop is left.
 */
export interface PromiseClient {
  readonly chat: {
    readonly completions: Call<Json<"chat", Contract.ChatRequest>, Contract.ChatCompletion>
    readonly stream: StreamCall<
      Streamed<"chat", Contract.ChatRequest>,
      Contract.ChatCompletionChunk,
      Contract.ChatCompletion
    >
  }
  readonly messages: {
    readonly create: Call<Json<"messages", Contract.MessagesRequest>, Contract.Message>
    readonly stream: StreamCall<Streamed<"messages", Contract.MessagesRequest>, MessageStreamEvent, Contract.Message>
    readonly countTokens: Call<ForModel<"messages", Contract.CountTokensRequest>, Contract.CountTokensReply>
  }
  readonly responses: {
    readonly create: Call<Json<"responses", Contract.ResponsesRequest>, Contract.Response>
    readonly stream: StreamCall<
      Streamed<"responses", Contract.ResponsesRequest>,
      ResponseStreamEvent,
      Contract.Response
    >
  }
  readonly embeddings: {
    readonly create: Call<ForModel<"embeddings", Contract.EmbeddingsRequest>, Contract.EmbeddingList>
  }
  readonly models: {
    readonly list: (options?: CallOptions) => Promise<Contract.ModelList>
    /** The entry of the list with this ID; 404 where the key may not use it. */
    readonly retrieve: Call<string, Contract.Model>
  }
  /** Never sent again: an answer of 503 is the answer. */
  readonly health: (options?: CallOptions) => Promise<Contract.Health | Contract.Draining>
}

export const createClient = (options: PromiseClientOptions): PromiseClient => {
  const { request, stream } = makeConnection(options)
  const send =
    <R extends object, A>(operation: Operation, added?: { readonly stream: false }): Call<R, A> =>
    (body, call) =>
      request<A>({ operation, body: { ...body, ...added } }, call)
  const sendStreamed =
    <R extends object, Event, Final>(
      operation: Operation,
      format: EventFormat<Event>,
      accumulator: () => Accumulator<Event, Final>
    ): StreamCall<R, Event, Final> =>
    (body, call) =>
      new EventStream(stream({ operation, body: { ...body, stream: true } }, format, call), accumulator())

  const whole = { stream: false } as const
  return {
    chat: {
      completions: send(operations.createChatCompletion, whole),
      stream: sendStreamed(operations.createChatCompletion, formats.chat, chatAccumulator)
    },
    messages: {
      create: send(operations.createMessage, whole),
      stream: sendStreamed(operations.createMessage, formats.messages, messagesAccumulator),
      countTokens: send(operations.countMessageTokens)
    },
    responses: {
      create: send(operations.createResponse, whole),
      stream: sendStreamed(operations.createResponse, formats.responses, responsesAccumulator)
    },
    embeddings: { create: send(operations.createEmbeddings) },
    models: {
      list: (call) => request({ operation: operations.listModels }, call),
      retrieve: (id, call) => request({ operation: operations.getModel, id }, call)
    },
    health: (call) => request({ operation: operations.getHealth, retryable: false }, call)
  }
}
