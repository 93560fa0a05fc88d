/** Sends again what never got an answer. Once a reply has begun, nothing is sent again. */
import { Duration, Effect, Random } from "effect"
import type { HttpClientError, HttpClientResponse } from "effect/http"
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

/** A full jitter keeps callers that failed together from coming back together. */
const backoff = (attempt: number, longest: number) =>
  Effect.map(Random.next, (share) => Math.min(longest, 500 * 2 ** attempt) * (0.5 + share / 2))

export const withRetries = <E, R>(
  send: Effect.Effect<Reply, E | Failure, R>,
  { retries = 2, maxRetryDelay = "30 seconds" }: RetryOptions
): Effect.Effect<Reply, E | Failure, R> => {
  const longest = Duration.toMillis(maxRetryDelay)
  const again = (attempt: number, least: number): Effect.Effect<Reply, E | Failure, R> =>
    Effect.flatMap(backoff(attempt, longest), (wait) =>
      Effect.andThen(Effect.sleep(Math.max(wait, least)), run(attempt + 1))
    )
  const run = (attempt: number): Effect.Effect<Reply, E | Failure, R> =>
    attempt >= retries
      ? send
      : Effect.matchEffect(send, {
          onSuccess: (reply) => {
            const least = (readHeaders(reply.headers).retryAfter ?? 0) * 1000
            if (!retryable.has(reply.status) || least > longest) return Effect.succeed(reply)
            // Read to its end, the body frees its connection for the next attempt.
            return Effect.andThen(Effect.ignore(reply.text), again(attempt, least))
          },
          onFailure: (error) => (isUnanswered(error) ? again(attempt, 0) : Effect.fail(error))
        })
  return run(0)
}

const isUnanswered = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "reason" in error &&
  typeof error.reason === "object" &&
  error.reason !== null &&
  "_tag" in error.reason &&
  error.reason._tag === "TransportError"
