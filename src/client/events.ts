/** Reads the events of a streamed reply from its text, by the format of its surface. The gateway has checked them against its schemas. */
import { isObject, objectOf, textOf } from "../wire/json.ts"
import { type Event, eventReader, maxEventBytes } from "../wire/sse.ts"
import type { ChatCompletionChunk, MessageEvent, ResponseEvent } from "./contract.ts"
import { type Failure, StreamError } from "./errors.ts"

/** What one event comes to: a value, a failure, or neither where it is to be passed over. */
interface Reading<A> {
  readonly value?: A
  readonly failure?: Failure
  /** The reply is complete: an end after this event is a good end. */
  readonly last?: boolean
  /** Nothing follows, so that the end of the connection need not be waited for. */
  readonly over?: boolean
}
export type EventFormat<A> = (event: Event) => Reading<A>

type Fields = Readonly<Record<string, unknown>>

const streamFailure = (message: string, cause?: unknown): Failure => ({ type: "stream_error", message, cause })
const unreadable = (cause: unknown) => ({
  failure: streamFailure("the gateway sent an event that cannot be read", cause)
})

/** Reads the data of an event, which must be a JSON object, with what makes a value of it. */
const parse = <A>(data: string, interpret: (fields: Fields) => Reading<A> | undefined): Reading<A> => {
  let fields: unknown
  try {
    fields = JSON.parse(data)
  } catch (error) {
    return unreadable(error)
  }
  return (isObject(fields) ? interpret(fields) : undefined) ?? unreadable(data.slice(0, 200))
}

const reported = ({ type, message }: Fields): Failure => ({
  type: textOf(type) ?? "api_error",
  message: textOf(message) ?? "the gateway reported an error"
})

const chat: EventFormat<ChatCompletionChunk> = ({ data }) =>
  data === "[DONE]"
    ? { last: true, over: true }
    : parse(data, (fields) => {
        if (isObject(fields.error)) return { failure: reported(fields.error) }
        return Array.isArray(fields.choices) ? { value: fields as ChatCompletionChunk } : undefined
      })

/** The data of one event of a messages stream; `type` tells them apart. */
export type MessageStreamEvent = Exclude<MessageEvent, { readonly type: "error" }>
const messageEvents: Readonly<Record<MessageStreamEvent["type"], true>> = {
  message_start: true,
  content_block_start: true,
  content_block_delta: true,
  content_block_stop: true,
  message_delta: true,
  message_stop: true,
  gateway_governance: true,
  gateway_guards: true,
  ping: true
}
/** The format grows by event types that older clients are to pass over. */
const messages: EventFormat<MessageStreamEvent> = ({ event, data }) => {
  if (event === "error") return parse(data, ({ error }) => ({ failure: reported(objectOf(error)) }))
  if (event === undefined || !Object.hasOwn(messageEvents, event)) return {}
  return parse(data, (fields) =>
    fields.type === event ? { value: fields as MessageStreamEvent, last: event === "message_stop" } : undefined
  )
}

/** The data of one event of a responses stream; `type` tells them apart. Those of later kinds come as well. */
export type ResponseStreamEvent = Exclude<ResponseEvent, { readonly type: "error" }>
const lastResponses: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete", "response.failed"])
const responses: EventFormat<ResponseStreamEvent> = ({ data }) =>
  parse(data, (fields) => {
    const { type } = fields
    if (typeof type !== "string") return undefined
    const last = lastResponses.has(type)
    return type === "error"
      ? { failure: reported({ ...fields, type: fields.code }) }
      : { value: fields as ResponseStreamEvent, last, over: last }
  })

export const formats = { chat, messages, responses }

/** Reads one reply: the same for both clients, whose streams differ. It ends well only after the last event of its format. */
export const replyReader = <A>(format: EventFormat<A>, requestId: string | undefined) => {
  const read = eventReader(maxEventBytes)
  const fail = (failure: Failure) => new StreamError({ ...failure, requestId })
  let ended = false
  return {
    /** The values that a piece of text brought, the failure that came after them, and whether nothing follows. */
    read: (
      text: string
    ): { readonly values: ReadonlyArray<A>; readonly failure?: StreamError; readonly over?: boolean } => {
      const { complete, events } = read(text)
      const values: Array<A> = []
      for (const event of events) {
        const { value, failure, last, over } = format(event)
        ended ||= last === true
        if (failure !== undefined) return { values, failure: fail(failure) }
        if (value !== undefined) values.push(value)
        if (over === true) return { values, over }
      }
      return complete ? { values } : { values, failure: fail(unreadable("an event of more than 10 MiB").failure) }
    },
    end: (): StreamError | undefined =>
      ended ? undefined : fail(streamFailure("the reply ended before its last event, so it may be incomplete")),
    broken: (cause: unknown): StreamError =>
      fail(streamFailure("the connection broke in the middle of the reply", cause))
  }
}
