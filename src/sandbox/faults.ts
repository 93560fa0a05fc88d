/** What goes wrong on demand: what every cloud does with the directives of a request. */
import type { Directives } from "./directives.ts"
import type { Frame, Reply } from "./http.ts"

/** How a cloud frames a stream: its headers, an event that is not JSON, and its in-stream error. */
export interface Framing {
  readonly headers: Readonly<Record<string, string>>
  readonly garbage: string | Uint8Array
  /** `after` is how many events came before it. */
  readonly error: (name: string, after: number) => string | Uint8Array
}

/** A stream with the directives' faults in it. */
const streamed = (frames: ReadonlyArray<Frame>, directives: Directives, framing: Framing): Reply => {
  const { cut, stall, garbage, exception, flags, delay } = directives
  let sent = flags.has("no-terminal") ? frames.filter((frame) => frame.terminal !== true) : frames
  if (garbage !== undefined) sent = [...sent.slice(0, garbage), { bytes: framing.garbage }, ...sent.slice(garbage)]
  if (exception !== undefined) {
    sent = [...sent.slice(0, exception.after), { bytes: framing.error(exception.name, exception.after) }]
  }
  const reply = { status: 200, headers: framing.headers, delay }
  if (cut !== undefined) return { ...reply, frames: sent.slice(0, cut), ending: "cut" }
  if (stall !== undefined) return { ...reply, frames: sent.slice(0, stall), ending: "stall" }
  return { ...reply, frames: sent }
}

/** An unstreamed reply with the directives' faults in it. */
const unstreamed = (reply: Reply, directives: Directives): Reply => {
  const { cut, stall, garbage, delay } = directives
  const bytes = Buffer.concat(reply.frames.map((frame) => Buffer.from(frame.bytes)))
  const half = [{ bytes: bytes.subarray(0, bytes.length >> 1) }]
  if (garbage !== undefined)
    return { ...reply, headers: { "content-type": "application/json" }, frames: [{ bytes: "{not json" }], delay }
  if (cut !== undefined) return { ...reply, frames: half, ending: "cut", delay }
  if (stall !== undefined) return { ...reply, frames: half, ending: "stall", delay }
  return { ...reply, delay }
}

/** Replies that no cloud API makes, but what stands between may; `undefined` when none is asked for. */
const detour = (directives: Directives): Reply | undefined => {
  if (directives.flags.has("redirect")) {
    return { status: 302, headers: { location: "http://127.0.0.1:9/elsewhere", "content-length": "0" }, frames: [] }
  }
  if (directives.flags.has("html")) {
    const page = "<!doctype html><title>Service page</title><p>Not the API you were looking for.</p>"
    return { status: 200, headers: { "content-type": "text/html" }, frames: [{ bytes: page }] }
  }
  return undefined
}

/** An answer as its cloud makes it. */
export interface Answer {
  /** The cloud's own error. */
  readonly failed: (status: number, message: string, retryAfter?: string) => Reply
  /** Absent where the caller wants the whole. */
  readonly stream?: (() => Framing & { readonly frames: ReadonlyArray<Frame> }) | undefined
  readonly whole: () => Reply
}

/** The answer, unless the directives want something else. */
export const answered = (directives: Directives, { failed, stream, whole }: Answer): Reply => {
  const { status, delay, exception } = directives
  if (status !== undefined) {
    return { ...failed(status.code, "The sandbox was asked for this status.", status.retryAfter), delay }
  }
  const other = detour(directives)
  if (other !== undefined) return other
  if (stream !== undefined) {
    const { frames, ...framing } = stream()
    return streamed(frames, directives, framing)
  }
  if (exception !== undefined) return failed(exceptionStatus[exception.name] ?? 500, exceptionMessage(exception.name))
  return unstreamed(whole(), directives)
}

/** The HTTP status that each of Bedrock's in-stream exceptions has when it comes before the stream; others are 500. */
export const exceptionStatus: Readonly<Record<string, number>> = {
  throttlingException: 429,
  serviceUnavailableException: 503,
  internalServerException: 500,
  modelStreamErrorException: 424,
  modelTimeoutException: 408,
  validationException: 400
}

/** What an in-stream error says. */
export const exceptionMessage = (name: string): string => `The sandbox was asked for ${name}.`
