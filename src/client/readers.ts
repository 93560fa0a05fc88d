/** What one event of a stream comes to, by the format of its surface. Schemas are not needed: the gateway has read the events. */
import { isObject } from "../wire/isObject.ts"
import type { ChatCompletionChunk, MessageEvent, ResponseEvent } from "./contract.ts"

/** An event of a stream: its name, where it has one, and its data. */
export interface Event {
  readonly event: string | undefined
  readonly data: string
}

export interface Problem {
  readonly type: string
  readonly message: string
  readonly cause?: unknown
}
/** An event without a value or a problem is passed over. */
export interface Reading<A> {
  readonly value?: A
  readonly problem?: Problem
  /** The reply is complete: an end after this event is a good end. */
  readonly last?: boolean
}
export type Reader<A> = (event: Event) => Reading<A>

export const broken = (message: string, cause?: unknown): Problem => ({ type: "stream_error", message, cause })
export const unreadable = (cause: unknown) => ({
  problem: broken("the gateway sent an event that cannot be read", cause)
})

type Fields = Readonly<Record<string, unknown>>

/** Reads the data of an event, which must be a JSON object, with what makes a value of it. */
const read = <A>(data: string, interpret: (fields: Fields) => Reading<A> | undefined): Reading<A> => {
  let fields: unknown
  try {
    fields = JSON.parse(data)
  } catch (error) {
    return unreadable(error)
  }
  return (isObject(fields) ? interpret(fields) : undefined) ?? unreadable(data.slice(0, 200))
}

const problem = (type: unknown, message: unknown): Problem => ({
  type: typeof type === "string" ? type : "api_error",
  message: typeof message === "string" ? message : "the gateway reported an error"
})
const errorIn = ({ error }: Fields): Problem | undefined =>
  isObject(error) ? problem(error.type, error.message) : undefined

export const chatReader: Reader<ChatCompletionChunk> = ({ data }) =>
  data === "[DONE]"
    ? { last: true }
    : read(data, (fields) => {
        const failed = errorIn(fields)
        if (failed !== undefined) return { problem: failed }
        return Array.isArray(fields.choices) ? { value: fields as unknown as ChatCompletionChunk } : undefined
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
  ping: true
}
/** The format grows by event types that older clients are to pass over. */
export const messagesReader: Reader<MessageStreamEvent> = ({ event, data }) => {
  if (event === "error") return read(data, (fields) => ({ problem: errorIn(fields) ?? problem(undefined, undefined) }))
  if (event === undefined || !Object.hasOwn(messageEvents, event)) return {}
  return read(data, (fields) =>
    fields.type === event
      ? { value: fields as unknown as MessageStreamEvent, last: event === "message_stop" }
      : undefined
  )
}

/** The data of one event of a responses stream; `type` tells them apart. Those of later kinds come as well. */
export type ResponseStreamEvent = Exclude<ResponseEvent, { readonly type: "error" }>
const lastResponses: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete", "response.failed"])
export const responsesReader: Reader<ResponseStreamEvent> = ({ data }) =>
  read(data, (fields) => {
    const { type } = fields
    if (typeof type !== "string") return undefined
    return type === "error"
      ? { problem: problem(fields.code, fields.message) }
      : { value: fields as unknown as ResponseStreamEvent, last: lastResponses.has(type) }
  })
