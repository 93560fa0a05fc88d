/** What a caller gets for each status of a cloud, on every surface (docs/api.md#what-becomes-of-a-clouds-error). */

/** `directive` is what the sandbox is asked to answer: `[sandbox: status=<directive>]`. */
export const cloudStatuses: ReadonlyArray<
  readonly [directive: string, status: number, type: string, retryAfter: string | null]
> = [
  ["400", 400, "invalid_request_error", null],
  ["413", 400, "invalid_request_error", null],
  ["422", 400, "invalid_request_error", null],
  ["401", 502, "api_error", null],
  ["403", 502, "api_error", null],
  ["404", 502, "api_error", null],
  ["408", 504, "api_error", null],
  ["429 retry-after=7", 429, "rate_limit_error", "7"],
  ["429", 429, "rate_limit_error", null],
  ["500", 502, "api_error", null],
  ["502", 502, "api_error", null],
  ["503", 502, "api_error", null],
  ["529", 502, "api_error", null]
]
