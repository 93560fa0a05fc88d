/** What goes wrong on demand: what every cloud does with the directives of a request. */
import type { Directives } from "./directives.ts"
import { type Frame, Refusal, type Reply } from "./http.ts"

/** A failure in the middle of a stream. */
export type Failure = ReturnType<typeof failureOf>

/** A stream as its cloud frames it: its headers and events, an event that is not JSON, and its in-stream error. */
export interface Stream {
  readonly headers: Readonly<Record<string, string>>
  readonly frames: ReadonlyArray<Frame>
  readonly garbage: string | Uint8Array
  /** `after` is how many events came before it. */
  readonly error: (failure: Failure, after: number) => string | Uint8Array
}

/** An answer as its cloud makes it. */
export interface Answer {
  /** The cloud's own error. */
  readonly failed: (status: number, message: string, retryAfter?: string) => Reply
  /** Absent where the caller wants the whole. */
  readonly stream?: (() => Stream) | undefined
  readonly whole: () => Reply
}

/** An answer, or what its cloud writes where it refuses the request. */
export const orRefused = (failed: Answer["failed"], answer: () => Reply): Reply => {
  try {
    return answer()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return failed(error.status, error.message)
  }
}

/** The HTTP status that each of Bedrock's in-stream exceptions has when it comes before the stream; others are 500. */
const statuses: Readonly<Record<string, number>> = {
  throttlingException: 429,
  serviceUnavailableException: 503,
  modelStreamErrorException: 424,
  modelTimeoutException: 408,
  validationException: 400
}

const failureOf = (name: string) => ({
  name,
  status: statuses[name] ?? 500,
  message: `The sandbox was asked for ${name}.`
})

/** A stream with the directives' faults in it. */
const streamed = ({ frames, headers, garbage, error }: Stream, asked: Directives) => {
  const { cut, stall, exception, delay } = asked
  const sent = asked.flags.has("no-terminal") ? frames.filter(({ terminal }) => terminal !== true) : [...frames]
  if (asked.garbage !== undefined) sent.splice(asked.garbage, 0, { bytes: garbage })
  if (exception !== undefined) {
    sent.splice(exception.after, sent.length, { bytes: error(failureOf(exception.name), exception.after) })
  }
  const ending = cut !== undefined ? "cut" : stall !== undefined ? "stall" : "finish"
  return { status: 200, headers, delay, frames: sent.slice(0, cut ?? stall), ending } as const
}

/** An unstreamed reply with the directives' faults in it. */
const unstreamed = (reply: Reply, { cut, stall, garbage, delay }: Directives): Reply => {
  const json = { "content-type": "application/json" }
  if (garbage !== undefined) return { ...reply, headers: json, frames: [{ bytes: "{not json" }], delay }
  if (cut === undefined && stall === undefined) return { ...reply, delay }
  const bytes = Buffer.concat(reply.frames.map((frame) => Buffer.from(frame.bytes)))
  const half = [{ bytes: bytes.subarray(0, bytes.length >> 1) }]
  return { ...reply, frames: half, ending: cut === undefined ? "stall" : "cut", delay }
}

/** The answer, unless the directives want something else. */
export const answered = (directives: Directives, { failed, stream, whole }: Answer): Reply => {
  const { status, delay, exception, flags } = directives
  if (status !== undefined) {
    return { ...failed(status.code, "The sandbox was asked for this status.", status.retryAfter), delay }
  }
  // No cloud API answers these two, but what stands between may.
  if (flags.has("redirect")) {
    return { status: 302, headers: { location: "http://127.0.0.1:9/elsewhere", "content-length": "0" }, frames: [] }
  }
  if (flags.has("html")) {
    const page = "<!doctype html><title>Service page</title><p>Not the API you were looking for.</p>"
    return { status: 200, headers: { "content-type": "text/html" }, frames: [{ bytes: page }] }
  }
  if (stream !== undefined) return streamed(stream(), directives)
  if (exception !== undefined) {
    const { status, message } = failureOf(exception.name)
    return failed(status, message)
  }
  return unstreamed(whole(), directives)
}
