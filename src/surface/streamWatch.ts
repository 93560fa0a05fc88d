/** Watches over one streamed reply: heartbeats, the idle limit, the ceiling, and a caller that does not read. */
import { ServerResponse } from "node:http"
import type * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Duration } from "effect"
import { GatewayError } from "../model/GatewayError.ts"
import { ceilingError, type Stopper } from "../provider/Upstream.ts"

export interface StreamLimits {
  /** Longest silence before a comment is sent, and longest wait for the first frame before 200 is committed. */
  readonly heartbeat: Duration.Duration
  /** Longest silence of the upstream. */
  readonly idle: Duration.Duration
  /** Longest whole reply. */
  readonly ceiling: Duration.Duration
}

/** What is sent on silence, so that nobody between takes the connection for dead. */
export const comment = ": keep-alive\n\n"
/** How long a caller that does not read may hold a reply that has been stopped, in milliseconds. */
const grace = 2_000

const idleError = new GatewayError({
  reason: "timeout",
  message: "the cloud that serves this model has been silent for too long",
  code: "idle"
})

type Response = ReturnType<typeof NodeHttpServerRequest.toServerResponse>

/**
 * Heartbeats on silence, the idle limit, the ceiling: timers, so that the events pay next to nothing. A caller that does
 * not even read the last words is cut off.
 */
export const watchStream = (limits: StreamLimits, stopper: Stopper, response: Response) => {
  let committed = false
  const stop = (error: GatewayError) => {
    clearTimeout(idle)
    stopper.stop(error)
    last ??= setTimeout(() => response.destroy(), grace)
  }
  let last: NodeJS.Timeout | undefined
  // A caller that reads slowly keeps us from reading; that is no silence of the upstream.
  let waiting = true
  const idle = setTimeout(() => {
    if (waiting) stop(idleError)
    else idle.refresh()
  }, Duration.toMillis(limits.idle))
  const ceiling = setTimeout(() => stop(ceilingError), Duration.toMillis(limits.ceiling))
  const heartbeat = setTimeout(() => {
    if (committed) keepAlive(response)
    heartbeat.refresh()
  }, Duration.toMillis(limits.heartbeat))
  return {
    stop,
    /** The head has been sent, or is about to be. */
    commit: () => {
      committed = true
    },
    /** The upstream is asked for more. */
    ask: () => {
      waiting = true
      if (stopper.error === undefined) idle.refresh()
    },
    /** The upstream has said something. */
    read: () => {
      waiting = false
    },
    /** The caller has been told something. */
    wrote: () => {
      heartbeat.refresh()
    },
    over: () => {
      clearTimeout(heartbeat)
      clearTimeout(idle)
      clearTimeout(ceiling)
      clearTimeout(last)
    }
  }
}

/** Written past the stream, between its events: each of its writes is whole events. */
const keepAlive = (response: Response) => {
  if (
    response instanceof ServerResponse &&
    response.headersSent &&
    !response.writableEnded &&
    !response.writableNeedDrain
  ) {
    response.write(comment)
  }
}
