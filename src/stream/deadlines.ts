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

/** What is asked of the upstream. */
export interface Asking {
  /** Whether it is waited for: a caller that reads slowly keeps us from reading, which is no silence of the upstream. */
  readonly waiting: boolean
  /** Since when it is, by the clock of `Silence`; 0 while it has not answered. */
  readonly askedAt: number
}

export interface DeadlineOptions {
  readonly asking: Asking
  /** Longest silence of the upstream. */
  readonly idle: Duration.Duration
  /** Longest whole reply. */
  readonly ceiling: Duration.Duration
  /** Ends the upstream call; the error comes out of the stream. */
  readonly stop: (error: GatewayError) => void
  /** Ends the connection of a caller that does not even read the last words. */
  readonly cutOff: () => void
}

/** They run from now on: the wait for the reply's head counts. Timers, so that the events pay next to nothing. */
export class Deadlines {
  private readonly options: DeadlineOptions
  private readonly idle: Silence
  private readonly ceiling: NodeJS.Timeout
  private last: NodeJS.Timeout | undefined
  private stopped = false

  constructor(options: DeadlineOptions) {
    this.options = options
    const { asking } = options
    this.idle = new Silence(
      Duration.toMillis(options.idle),
      () => asking.askedAt,
      () => {
        if (asking.waiting) this.stop(idleError)
      }
    )
    this.ceiling = setTimeout(this.stop, Duration.toMillis(options.ceiling), ceilingError)
  }

  /** Ends the reply for another reason. */
  readonly stop = (error: GatewayError): void => {
    if (this.stopped) return
    this.stopped = true
    this.idle.close()
    this.options.stop(error)
    this.last = setTimeout(this.options.cutOff, grace)
  }

  /** The reply is over. */
  clear(): void {
    this.idle.close()
    clearTimeout(this.ceiling)
    clearTimeout(this.last)
  }
}
