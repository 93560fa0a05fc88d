/**
 * A failure of a cloud, by an HTTP status, by a frame, or inside a reply that began as a success. `cloud/fault.ts` makes the caller's error
 * of it.
 */
import { arrayOf, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { meaningsOf } from "../wire/words.ts"

/** What a refusal with the status 400 is about, where clients decide by it. */
type Topic = "content-filter" | "context-length"

/** OpenAI's codes for it (docs/upstreams.md#azure-openai). */
const topics = meaningsOf<Topic>(["content_filter", "content-filter"], ["context_length_exceeded", "context-length"])
export const topicOf = ({ code }: JsonObject): Topic | undefined => topics.get(textOf(code) ?? "")

/** The beginning of a refusal of a prompt that is too long, where there is no code for it (docs/upstreams.md#prompts-that-are-too-long). */
const tooLong =
  /^(?:The model returned the following errors: |Unable to submit request because )?(?:prompt is too long: |input is too long for requested model|input length and `max_tokens` exceed context limit|the input token count |This model's maximum context length is )/i

/**
 * The cloud reported that it failed, with an HTTP status, or that which an error inside a 200 stands for. `message` is the cloud's, not
 * yet scrubbed (`cloud/fault.ts`), and `retryAfter` the seconds to wait, where it named them.
 */
export const refused = (
  status: number,
  message: string | undefined,
  retryAfter?: number,
  topic: Topic | undefined = tooLong.test(message ?? "") ? "context-length" : undefined
) => ({ _tag: "Refused" as const, status, message, retryAfter, topic })
export type Refused = ReturnType<typeof refused>

/**
 * The cloud sent something else than its API promises. `message` is for the caller, and quotes nothing of the cloud.
 * - `cut`: a stream that ended without its own terminal event; never a success.
 * - `shape`: a success status with a body that is no answer.
 * - `event`: an event of a stream that cannot be read.
 * - `finish`: the model ended without a usable answer.
 */
const broken = (kind: "cut" | "shape" | "event" | "finish", message: string) => ({
  _tag: "Broken" as const,
  kind,
  message
})
export type Broken = ReturnType<typeof broken>
export type UpstreamFault = Refused | Broken

export const cut = broken("cut", "the cloud that serves this model broke off its reply")
export const invalidBody = broken("shape", "the cloud that serves this model sent a reply that cannot be read")
export const unreadable = broken("event", "the cloud that serves this model sent an event that cannot be read")
/** A reason that is no word of a vendor's may be anything, and is not repeated. */
export const unfinished = (reason: string): Broken =>
  broken("finish", `the model ended without a usable answer (${/^\w{1,64}$/.test(reason) ? reason : "unknown"})`)

/** What the vendors call the statuses that errors inside of a reply stand for: Anthropic, Google and OpenAI. */
const statuses = meaningsOf(
  ["invalid_request_error INVALID_ARGUMENT FAILED_PRECONDITION OUT_OF_RANGE invalid_prompt content_filter", 400],
  ["context_length_exceeded bio_policy misalignment_policy_violation image_content_policy_violation", 400],
  ["invalid_image invalid_image_format invalid_base64_image invalid_image_mode unsupported_image_media_type", 400],
  ["image_too_large image_too_small image_parse_error image_file_too_large empty_image_file", 400],
  ["authentication_error UNAUTHENTICATED", 401],
  ["permission_error PERMISSION_DENIED", 403],
  ["not_found_error NOT_FOUND", 404],
  ["request_too_large", 413],
  ["rate_limit_error RESOURCE_EXHAUSTED rate_limit_exceeded too_many_requests", 429],
  ["UNAVAILABLE", 503],
  ["timeout_error DEADLINE_EXCEEDED timeout", 504],
  ["overloaded_error", 529]
)
/** The status that a vendor's words stand for, by the first that is known; unknown ones are a failure of the cloud. */
export const statusOfWord = (...words: ReadonlyArray<unknown>): number =>
  words.map((word) => statuses.get(textOf(word) ?? "")).find((status) => status !== undefined) ?? 500

/** The status that a body says, also as a text; undefined where it is none of an error's. Metrics have it as a label, so it is from a closed set. */
export const errorStatusOf = (said: unknown): number | undefined => {
  const status = typeof said === "string" ? Number(said) : said
  return typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}

/** Whether Google or Anthropic says that a call took too long, whatever its HTTP status. */
export const isTimeout = ({ status, type }: JsonObject): boolean =>
  [status, type].some((word) => statusOfWord(word) === 504)

/** Seconds to wait, of the `google.rpc.RetryInfo` in the details of Google's errors (`34.07s`). */
export const retryDelayOf = ({ details }: JsonObject): number | undefined => {
  for (const detail of arrayOf(details)) {
    const delay = textOf(objectOf(detail).retryDelay)
    if (delay !== undefined && /^\d{1,6}(\.\d{1,9})?s$/.test(delay)) return Math.ceil(Number(delay.slice(0, -1)))
  }
  return undefined
}

/** Of Google's `error`, in an event of any model that it serves. Its `code`, which is HTTP's, may be missing in a stream. */
export const googleFault = (error: JsonObject): Refused => {
  const status = isTimeout(error) ? 504 : (errorStatusOf(error.code) ?? statusOfWord(error.status))
  return refused(status, textOf(error.message), retryDelayOf(error))
}
