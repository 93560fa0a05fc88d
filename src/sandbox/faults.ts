/** What goes wrong on demand: what every cloud does with the directives of a request. */
import type { Directives } from "./directives.ts"
import { type Frame, Refusal, type Reply } from "./http.ts"

export type Failure = ReturnType<typeof failureOf>

/** A stream as its cloud frames it: its headers and events, the last of which ends it, one that is not JSON, and its error. */
export interface Stream {
  readonly headers: Readonly<Record<string, string>>
  readonly frames: ReadonlyArray<Frame>
  readonly garbage: Frame
  /** `after` is how many events came before it. */
  readonly error: (failure: Failure, after: number) => Frame
}

/** An answer as its cloud makes it: whole, or as a stream where the caller wants one. */
export interface Answer {
  readonly directives: Directives
  readonly whole: () => Reply
  readonly stream?: (() => Stream) | false
}

export type Failed = (status: number, message: string, retryAfter?: string) => Reply

/** The HTTP status that each of Bedrock's in-stream exceptions has when it comes before the stream; others are 500. */
const statuses = new Map([
  ["throttlingException", 429],
  ["serviceUnavailableException", 503],
  ["modelStreamErrorException", 424],
  ["modelTimeoutException", 408],
  ["validationException", 400]
])

const failureOf = (name: string) => ({
  name,
  status: statuses.get(name) ?? 500,
  message: `The sandbox was asked for ${name}.`
})

/** The answer, unless its directives want something else. */
const provoked = ({ directives, whole, stream }: Answer, failed: Failed): Reply => {
  const { status, delay, exception, garbage, cut, stall, flags } = directives
  if (status !== undefined)
    return { ...failed(status.code, "The sandbox was asked for this status.", status.retryAfter), delay }
  // No cloud API answers these two, but what stands between may.
  if (flags.has("redirect"))
    return { status: 302, headers: { location: "http://127.0.0.1:9/elsewhere", "content-length": "0" }, frames: [] }
  if (flags.has("html")) {
    const page = "<!doctype html><title>Service page</title><p>Not the API you were looking for.</p>"
    return { status: 200, headers: { "content-type": "text/html" }, frames: [page] }
  }
  const silent = stall === undefined ? "finish" : "stall"
  const ending = cut === undefined ? silent : "cut"
  if (stream) {
    const { headers, frames, garbage: noise, error } = stream()
    const sent = frames.slice(0, flags.has("no-terminal") ? -1 : undefined)
    if (garbage !== undefined) sent.splice(garbage, 0, noise)
    if (exception !== undefined)
      sent.splice(exception.after, sent.length, error(failureOf(exception.name), exception.after))
    return { status: 200, headers, frames: sent.slice(0, cut ?? stall), ending, delay }
  }
  if (exception !== undefined) {
    const { status, message } = failureOf(exception.name)
    return failed(status, message)
  }
  const reply = whole()
  if (garbage !== undefined)
    return { ...reply, headers: { "content-type": "application/json" }, frames: ["{not json"], delay }
  if (ending === "finish") return { ...reply, delay }
  const bytes = Buffer.concat(reply.frames.map((frame) => Buffer.from(frame)))
  return { ...reply, frames: [bytes.subarray(0, bytes.length >> 1)], ending, delay }
}

/** Answers as the directives want; what the cloud refuses is written as `refused` says. */
export const answered = (
  answer: () => Answer,
  failed: Failed,
  refused: (refusal: Refusal) => Reply = ({ status, message }) => failed(status, message)
): Reply => {
  try {
    return provoked(answer(), failed)
  } catch (error) {
    if (error instanceof Refusal) return refused(error)
    throw error
  }
}
