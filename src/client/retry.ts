/**
 * Sends again what the gateway refused for now, or never got; see `policy.ts`, which the promise client goes by, too. Effect's
 * `HttpClient.retryTransient` knows no `x-should-retry`, and would send again what 500 and 504 may have charged for.
 */
import { Effect } from "effect"
import { HttpClientError, type HttpClientResponse } from "effect/http"
import { readHeaders } from "./headers.ts"
import { backoff, defaultMaxDelay, defaultRetries, type RetryOptions, waitAfter } from "./policy.ts"

type Reply = HttpClientResponse.HttpClientResponse
type Failure = HttpClientError.HttpClientError

export const withRetries = <E, R>(
  send: Effect.Effect<Reply, E | Failure, R>,
  { retries = defaultRetries, maxRetryDelay: longest = defaultMaxDelay }: RetryOptions
): Effect.Effect<Reply, E | Failure, R> => {
  const attempt = (n: number): Effect.Effect<Reply, E | Failure, R> =>
    Effect.matchEffect(send, {
      onSuccess: (reply) => {
        const wait =
          n < retries && reply.status >= 400
            ? waitAfter(n, reply.status, readHeaders(reply.headers), longest)
            : undefined
        if (wait === undefined) return Effect.succeed(reply)
        // Read to its end, the body frees its connection for the next attempt.
        return Effect.ignore(reply.text).pipe(Effect.andThen(Effect.sleep(wait)), Effect.andThen(attempt(n + 1)))
      },
      onFailure: (error) =>
        n < retries && HttpClientError.isHttpClientError(error) && error.reason._tag === "TransportError"
          ? Effect.andThen(Effect.sleep(backoff(n, longest)), attempt(n + 1))
          : Effect.fail(error)
    })
  return Effect.suspend(() => attempt(0))
}
