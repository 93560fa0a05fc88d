/** The rate-limit headers that OpenAI's clients read. */

/** Seconds as a duration in those headers: `12s`, `1m0s`, `216h30m5s`. */
const duration = (seconds: number): string => {
  const whole = Math.max(0, Math.ceil(seconds))
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  return `${hours > 0 ? `${hours}h` : ""}${whole >= 60 ? `${minutes}m` : ""}${whole % 60}s`
}

/** `x-ratelimit-{limit,remaining,reset}-<what>`. `reset`: seconds until all of the limit is free again. */
export const rateHeaders = (
  what: "requests" | "tokens",
  limit: number,
  remaining: number,
  reset: number
): Readonly<Record<string, string>> => ({
  [`x-ratelimit-limit-${what}`]: String(limit),
  [`x-ratelimit-remaining-${what}`]: String(Math.max(0, Math.floor(remaining))),
  [`x-ratelimit-reset-${what}`]: duration(reset)
})
