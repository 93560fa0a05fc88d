/** Sends again what never got an answer. Once a reply has begun, nothing is sent again. */
import { Data, Duration, Effect, Schedule } from "effect"
import { HttpClientError, type HttpClientResponse } from "effect/http"
import { readHeaders } from "./headers.ts"

export interface RetryOptions {
  /** How often a request is sent again; 0 never. 2 unless given. */
  readonly retries?: number | undefined
  /** Longest wait before the next attempt; a longer `retry-after` ends the attempts. 30 seconds unless given. */
  readonly maxRetryDelay?: Duration.Input | undefined
}

type Reply = HttpClientResponse.HttpClientResponse
type Failure = HttpClientError.HttpClientError

/** Rate limits, and gateways that could not reach what is behind them; 500 and 504 may have cost tokens. */
const retryable: ReadonlySet<number> = new Set([429, 502, 503])

/** An attempt that may be made again. */
class TryAgain extends Data.TaggedError("TryAgain")<{
  /** What it is answered with when it is the last one. */
  readonly last: Effect.Effect<Reply, Failure>
  /** Milliseconds that the gateway asked to wait. */
  readonly least: number
}> {}

/** The jitter keeps callers that failed together from coming back together. */
const backoff = (longest: number) =>
  Schedule.exponential("500 millis").pipe(
    Schedule.jittered,
    Schedule.setInputType<unknown>(),
    Schedule.modifyDelay(({ duration, input }) => {
      const least = input instanceof TryAgain ? input.least : 0
      return Effect.succeed(Math.max(least, Math.min(longest, Duration.toMillis(duration))))
    })
  )

export const withRetries = <E, R>(
  send: Effect.Effect<Reply, E | Failure, R>,
  { retries = 2, maxRetryDelay = "30 seconds" }: RetryOptions
): Effect.Effect<Reply, E | Failure, R> => {
  const longest = Duration.toMillis(maxRetryDelay)
  const attempt: Effect.Effect<Reply, E | Failure | TryAgain, R> = Effect.matchEffect(send, {
    onSuccess: (reply): Effect.Effect<Reply, TryAgain> => {
      const least = (readHeaders(reply.headers).retryAfter ?? 0) * 1000
      if (!retryable.has(reply.status) || least > longest) return Effect.succeed(reply)
      // Read to its end, the body frees its connection for the next attempt; whoever decodes the reply gets it all the same.
      return Effect.andThen(Effect.ignore(reply.text), new TryAgain({ last: Effect.succeed(reply), least }))
    },
    onFailure: (error): Effect.Effect<Reply, E | Failure | TryAgain> =>
      HttpClientError.isHttpClientError(error) && error.reason._tag === "TransportError"
        ? Effect.fail(new TryAgain({ last: Effect.fail(error), least: 0 }))
        : Effect.fail(error)
  })
  const isAgain = (error: unknown): error is TryAgain => error instanceof TryAgain
  return attempt.pipe(
    Effect.retry({ times: retries, while: isAgain, schedule: backoff(longest) }),
    Effect.catchIf(isAgain, ({ last }) => last)
  )
}
