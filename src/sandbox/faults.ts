/** Faults on demand: the effect of directives, for every cloud. */
import type { Directives } from "./directives.ts"
import { type Frame, Refusal, type Reply } from "./http.ts"

export type Failure = ReturnType<typeof failureOf>

/** A stream in its cloud's framing. The last frame is the terminal event; `garbage` is an event that is not JSON. */
interface Stream {
  readonly headers: Readonly<Record<string, string>>
  readonly frames: ReadonlyArray<Frame>
  readonly garbage: Frame
  /** `after` is how many events came before it. */
  readonly error: (failure: Failure, after: number) => Frame
}

export interface Answer {
  readonly directives: Directives
  readonly whole: () => Reply
  readonly stream?: (() => Stream) | false
}

export type Failed = (status: number, message: string, retryAfter?: string) => Reply

/** The HTTP status of each of Bedrock's in-stream exceptions before the stream; others are 500. */
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

/** The answer, or the fault that its directives ask for. */
const provoked = ({ directives, whole, stream }: Answer, failed: Failed): Reply => {
  const { status, delay, exception, garbage, cut, stall, flags } = directives
  if (status !== undefined)
    return { ...failed(status.code, "The sandbox was asked for this status.", status.retryAfter), delay }
  // A proxy in between may send these two.
  if (flags.has("redirect"))
    return { status: 302, headers: { location: "http://127.0.0.1:9/elsewhere", "content-length": "0" }, frames: [] }
  if (flags.has("html")) {
    const page = "<!doctype html><title>Service page</title><p>Not the API you were looking for.</p>"
    return { status: 200, headers: { "content-type": "text/html" }, frames: [page] }
  }
  const ending = cut !== undefined ? "cut" : stall !== undefined ? "stall" : "finish"
  if (stream) {
    const { headers, frames, garbage: noise, error } = stream()
    const sent = frames.slice(0, flags.has("no-terminal") ? -1 : undefined)
    if (garbage !== undefined) sent.splice(garbage, 0, noise)
    if (exception !== undefined)
      sent.splice(exception.after, sent.length, error(failureOf(exception.name), exception.after))
    return { status: 200, headers, frames: sent.slice(0, cut ?? stall), ending, delay }
  }
  const failure = exception && failureOf(exception.name)
  if (failure !== undefined) return failed(failure.status, failure.message)
  const reply = whole()
  if (garbage !== undefined)
    return { ...reply, headers: { "content-type": "application/json" }, frames: ["{not json"], delay }
  if (ending === "finish") return { ...reply, delay }
  const bytes = Buffer.concat(reply.frames.map((frame) => Buffer.from(frame)))
  return { ...reply, frames: [bytes.subarray(0, bytes.length >> 1)], ending, delay }
}

/** Answers with the faults of the directives; `refused` formats a refusal. */
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
