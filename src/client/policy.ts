/** When a request is sent again. Once a reply has begun, nothing is sent again. */

export interface RetryOptions {
  /** How often a request is sent again; 0 never. 2 unless given. */
  readonly retries?: number | undefined
  /** Longest wait before the next attempt, in milliseconds; a longer `retry-after` ends the attempts. 30 seconds unless given. */
  readonly maxRetryDelay?: number | undefined
}
/** Milliseconds in which the body of a refusal has to come: one that does not end must not hold its caller. */
export const refusalTimeout = 10_000

/**
 * Statuses that are retried where the gateway does not say: rate limits, and clouds that could not be reached. 500 and 504 may
 * have cost tokens.
 */
const retryable: ReadonlySet<number> = new Set([429, 502, 503])

/** What is wrong where a reply leads elsewhere; a browser says neither its status nor where. The key must not reach another host. */
export const redirectProblem = (status: number, location: string | null | undefined): string | undefined =>
  status === 0 || (status >= 300 && status < 400)
    ? `what answers there redirects${location ? ` to ${location}` : ""}, which is not followed: set baseUrl to the gateway itself`
    : undefined

/** The rules of these options; attempt 0 is the first. */
export const retryPolicy = ({ retries = 2, maxRetryDelay: longest = 30_000 }: RetryOptions) => {
  /** Milliseconds before attempt `n` is followed by another; the jitter keeps callers apart that failed together. */
  const backoff = (n: number): number => Math.min(longest, 500 * 2 ** n * (0.8 + Math.random() * 0.4))

  /**
   * Milliseconds to wait after a refusal, or undefined where trying again does not help. `x-should-retry` takes precedence over
   * the status.
   */
  const waitAfter = (
    n: number,
    status: number,
    { retryAfter, shouldRetry }: { readonly retryAfter: number | undefined; readonly shouldRetry: boolean | undefined }
  ): number | undefined => {
    const least = (retryAfter ?? 0) * 1000
    if (!(shouldRetry ?? retryable.has(status)) || least > longest) return undefined
    return Math.max(least, backoff(n))
  }
  return { retries, backoff, waitAfter }
}
