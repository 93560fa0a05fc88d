/** How long a streamed reply may take: the idle limit, the ceiling, and the end of its key or of the server. */
import { Duration } from "effect"
import { GatewayError } from "../model/GatewayError.ts"
import { Silence } from "./Silence.ts"

/** The whole of a request took too long. */
export const ceilingError = new GatewayError({
  reason: "timeout",
  message: "the reply took longer than a request may take",
  code: "ceiling"
})

const idleError = new GatewayError({
  reason: "timeout",
  message: "the cloud that serves this model has been silent for too long",
  code: "idle"
})

/** How long a caller that does not read may hold a reply that has been stopped, in milliseconds. */
const grace = 2_000

export interface DeadlineOptions {
  /** Longest silence of the upstream. */
  readonly idle: Duration.Duration
  /** Longest whole reply. */
  readonly ceiling: Duration.Duration
  /** Ends the upstream call; the error comes out of the stream. */
  readonly stop: (error: GatewayError) => void
  /** Ends the connection of a caller that does not even read the last words. */
  readonly cutOff: () => void
}

export interface Deadlines {
  /** Ends the reply for another reason. */
  readonly stop: (error: GatewayError) => void
  /** The reply is over. */
  readonly clear: () => void
  /** The upstream is waited for: anew, or still. */
  readonly asked: (anew: boolean) => void
  /** It is not waited for. */
  readonly answered: () => void
}

/** They run from now on: the wait for the reply's head counts. Timers, so that the events pay next to nothing. */
export const makeDeadlines = (options: DeadlineOptions): Deadlines => {
  let last: NodeJS.Timeout | undefined
  let stopped = false
  // A caller that reads slowly keeps us from reading; that is no silence of the upstream.
  let waiting = true

  const stop = (error: GatewayError) => {
    if (stopped) return
    stopped = true
    idle.close()
    options.stop(error)
    last = setTimeout(options.cutOff, grace)
  }
  const idle = new Silence(Duration.toMillis(options.idle), () => {
    if (waiting) stop(idleError)
  })
  const ceiling = setTimeout(stop, Duration.toMillis(options.ceiling), ceilingError)

  const asked = (anew: boolean) => {
    waiting = true
    if (anew) idle.heard()
  }
  const answered = () => {
    waiting = false
  }
  const clear = () => {
    idle.close()
    clearTimeout(ceiling)
    clearTimeout(last)
  }
  return { stop, clear, asked, answered }
}
