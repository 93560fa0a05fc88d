/** Streamed replies as streams of their events, one reader a surface. */
import { Data, Result, Schema, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"
import { ChatEvent, type CompletionChunk } from "../api/Chat.ts"
import { MessagesEvent } from "../api/Messages.ts"
import { ResponsesEvent } from "../api/Responses.ts"
import type { Event } from "../wire/Event.ts"
import { makeEventReader } from "../wire/sse.ts"
import type { GatewayHeaders } from "./headers.ts"

/**
 * A reply that failed after its first byte: the gateway said so in the stream (`type` is its `error.type` or `code`), or
 * the stream ended without its last event, broke off, or could not be read (`type` is `stream_error`).
 */
export class StreamError extends Data.TaggedError("StreamError")<{
  readonly type: string
  readonly message: string
  readonly requestId?: string | undefined
  readonly cause?: unknown
}> {}

type Problem = { readonly type: string; readonly message: string; readonly cause?: unknown }
/** What one event comes to; an event without a value or a problem is passed over. */
interface Reading<A> {
  readonly value?: A
  readonly problem?: Problem
  /** The reply is complete: an end after this event is a good end. */
  readonly last?: boolean
}
export type Reader<A> = (event: Event) => Reading<A>

const broken = (message: string, cause?: unknown): Problem => ({ type: "stream_error", message, cause })
const unreadable = (cause: unknown) => ({ problem: broken("the gateway sent an event that cannot be read", cause) })

const decodeChat = Schema.decodeUnknownResult(ChatEvent)
export const chatReader: Reader<CompletionChunk> = (event) => {
  const decoded = decodeChat({ ...event, event: event.event ?? "message" })
  if (Result.isFailure(decoded)) return unreadable(decoded.failure)
  const { data } = decoded.success
  if (data === "[DONE]") return { last: true }
  return "choices" in data ? { value: data } : { problem: data.error }
}

/** The data of one event of a messages stream; `type` tells them apart. */
export type MessageStreamEvent = Exclude<(typeof MessagesEvent.Type)["data"], { readonly type: "error" }>
const messageEvents: ReadonlySet<string> = new Set(MessagesEvent.members.map(({ fields }) => fields.event.literal))
const decodeMessages = Schema.decodeUnknownResult(MessagesEvent)
export const messagesReader: Reader<MessageStreamEvent> = (event) => {
  // The format grows by event types that older clients are to pass over.
  if (event.event === undefined || !messageEvents.has(event.event)) return {}
  const decoded = decodeMessages(event)
  if (Result.isFailure(decoded)) return unreadable(decoded.failure)
  const { data } = decoded.success
  return data.type === "error" ? { problem: data.error } : { value: data, last: data.type === "message_stop" }
}

/** The data of one event of a responses stream, as the upstream sent it. */
export type ResponseStreamEvent = (typeof ResponsesEvent.Type)["data"]
const lastResponses: ReadonlySet<string> = new Set(["response.completed", "response.incomplete", "response.failed"])
const decodeResponses = Schema.decodeUnknownResult(ResponsesEvent)
export const responsesReader: Reader<ResponseStreamEvent> = (event) => {
  const decoded = decodeResponses(event)
  if (Result.isFailure(decoded)) return unreadable(decoded.failure)
  const { data } = decoded.success
  if (data.type !== "error") return { value: data, last: lastResponses.has(data.type) }
  const { code, message } = data
  return {
    problem: {
      type: typeof code === "string" ? code : "api_error",
      message: typeof message === "string" ? message : "the gateway reported an error"
    }
  }
}

/** Longest event that is taken, in bytes (10 MiB). */
const maxEvent = 10 * 1024 * 1024
const tooLarge = "too-large"

/** Splits bytes into events. */
const splitEvents = <E>(bytes: Stream.Stream<Uint8Array, E>) =>
  bytes.pipe(
    Stream.decodeText,
    Stream.mapAccumArray(
      () => {
        const found: Array<Event | typeof tooLarge> = []
        return { found, reader: makeEventReader((event) => found.push(event), maxEvent) }
      },
      (state, texts) => {
        for (const text of texts) if (!state.reader.feed(text)) state.found.push(tooLarge)
        return [state, state.found.splice(0)] as const
      }
    )
  )

/** The reply's events. It ends well only after the last event of its format. */
export const readEvents = <A>(
  reply: HttpClientResponse.HttpClientResponse,
  read: Reader<A>,
  { requestId }: GatewayHeaders
): Stream.Stream<A, StreamError> =>
  Stream.suspend(() => {
    let complete = false
    const fail = (problem: Problem) => Stream.fail(new StreamError({ ...problem, requestId }))
    const values = splitEvents(reply.stream).pipe(
      Stream.catch((error) => fail(broken("the connection broke in the middle of the reply", error))),
      Stream.flatMap((event) => {
        if (event === tooLarge) return fail(unreadable("an event of more than 10 MiB").problem)
        const { value, problem, last } = read(event)
        if (last === true) complete = true
        if (problem !== undefined) return fail(problem)
        return value === undefined ? Stream.empty : Stream.succeed(value)
      })
    )
    const end = Stream.suspend(() =>
      complete ? Stream.empty : fail(broken("the reply ended before its last event, so it may be incomplete"))
    )
    return Stream.concat(values, end)
  })
