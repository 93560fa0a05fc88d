/** The client for programs that do not use Effect: promises, async iterables, abort signals. It needs no library. */
import { type Accumulator, chatAccumulator, messagesAccumulator, responsesAccumulator } from "./accumulate.ts"
import { type CallOptions, makeConnection, type Operation, type PromiseClientOptions } from "./connection.ts"
import type * as Contract from "./contract.ts"
import { operations } from "./contract.ts"
import { EventStream } from "./EventStream.ts"
import { type EventFormat, formats } from "./events.ts"
import type { ForModel, Purpose } from "./ModelName.ts"

type Whole<P extends Purpose, R> = ForModel<P, R> & { readonly stream?: false | null }
/** `stream` need not be given. */
type Streamed<P extends Purpose, R> = ForModel<P, R> & { readonly stream?: true }

/**
 * Calls reject with `ApiError` or `MessagesError` (refusals), or with `ConnectionError` (no answer). Streams start when they are
 * read, throw these or `StreamError`, and end their request when the loop is left.
 */
export const createClient = (options: PromiseClientOptions) => {
  const { request, stream } = makeConnection(options)
  const send = <A>(operation: Operation, body: object, call?: CallOptions) => request<A>({ operation, body }, call)
  const sendStreamed = <Event, Final>(
    operation: Operation,
    body: object,
    format: EventFormat<Event>,
    accumulator: Accumulator<Event, Final>,
    call?: CallOptions
  ) => new EventStream(stream({ operation, body: { ...body, stream: true } }, format, call), accumulator)

  return {
    chat: {
      completions: (body: Whole<"chat", Contract.ChatRequest>, call?: CallOptions) =>
        send<Contract.ChatCompletion>(operations.createChatCompletion, { ...body, stream: false }, call),
      stream: (body: Streamed<"chat", Contract.ChatRequest>, call?: CallOptions) =>
        sendStreamed(operations.createChatCompletion, body, formats.chat, chatAccumulator(), call)
    },
    messages: {
      create: (body: Whole<"messages", Contract.MessagesRequest>, call?: CallOptions) =>
        send<Contract.Message>(operations.createMessage, { ...body, stream: false }, call),
      stream: (body: Streamed<"messages", Contract.MessagesRequest>, call?: CallOptions) =>
        sendStreamed(operations.createMessage, body, formats.messages, messagesAccumulator(), call),
      countTokens: (body: ForModel<"messages", Contract.CountTokensRequest>, call?: CallOptions) =>
        send<Contract.CountTokensReply>(operations.countMessageTokens, body, call)
    },
    responses: {
      create: (body: Whole<"responses", Contract.ResponsesRequest>, call?: CallOptions) =>
        send<Contract.ResponseObject>(operations.createResponse, { ...body, stream: false }, call),
      stream: (body: Streamed<"responses", Contract.ResponsesRequest>, call?: CallOptions) =>
        sendStreamed(operations.createResponse, body, formats.responses, responsesAccumulator(), call)
    },
    embeddings: {
      create: (body: ForModel<"embeddings", Contract.EmbeddingsRequest>, call?: CallOptions) =>
        send<Contract.EmbeddingList>(operations.createEmbeddings, body, call)
    },
    models: {
      list: (call?: CallOptions) => request<Contract.ModelList>({ operation: operations.listModels }, call),
      /** The entry of the list with this ID; 404 where the key may not use it. */
      retrieve: (id: string, call?: CallOptions) =>
        request<Contract.Model>({ operation: operations.getModel, id }, call)
    },
    /** Never sent again: an answer of 503 is the answer. */
    health: (call?: CallOptions) =>
      request<Contract.Health | Contract.Draining>({ operation: operations.getHealth, retryable: false }, call)
  } as const
}

export type PromiseClient = ReturnType<typeof createClient>
