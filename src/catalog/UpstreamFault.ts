/**
 * How an upstream failed, in its own terms, wherever it said so: by an HTTP status, by a frame, or inside a reply that began
 * well. What it means to the caller is decided in one place (`cloud/fault.ts`).
 */
import { arrayOf, type JsonObject, objectOf, textOf } from "../wire/json.ts"

/** The upstream said that it failed. */
export interface Refused {
  readonly _tag: "Refused"
  /** The HTTP status that it stands for, also where it came inside a 200. */
  readonly status: number
  /** The upstream's own words, not yet freed of what is the operator's. */
  readonly message: string | undefined
  /** Seconds to wait, where the upstream said so. */
  readonly retryAfter?: number | undefined
  /** A safety system refused the prompt. */
  readonly filtered: boolean
}

/** What the upstream sent is not what its API promises. */
export interface Broken {
  readonly _tag: "Broken"
  /**
   * - `cut`: a stream that ended without its own terminal event; never a success.
   * - `shape`: a success status with a body that is no answer.
   * - `event`: an event of a stream that cannot be read.
   * - `finish`: the model ended without a usable answer.
   */
  readonly kind: "cut" | "shape" | "event" | "finish"
  /** For the caller; nothing of the upstream's own. */
  readonly message: string
}

export type UpstreamFault = Refused | Broken

export const refused = (
  status: number,
  message: string | undefined,
  retryAfter?: number,
  filtered = false
): Refused => ({ _tag: "Refused", status, message, retryAfter, filtered })

/** How OpenAI's APIs say that a safety system refused the prompt, with the status 400 (docs/upstreams.md#azure-openai). */
export const isFiltered = ({ code }: JsonObject): boolean => code === "content_filter"

const broken = (kind: Broken["kind"], message: string): Broken => ({ _tag: "Broken", kind, message })

export const cut = broken("cut", "the cloud that serves this model broke off its reply")
export const invalidBody = broken("shape", "the cloud that serves this model sent a reply that cannot be read")
export const unreadable = broken("event", "the cloud that serves this model sent an event that cannot be read")
export const unfinished = (reason: string): Broken =>
  broken("finish", `the model ended without a usable answer (${reason})`)

/** How Google and Anthropic say that a call took too long, whatever its HTTP status. */
const timeouts: ReadonlySet<unknown> = new Set(["DEADLINE_EXCEEDED", "timeout_error"])
export const isTimeout = ({ status, type }: JsonObject): boolean => timeouts.has(status) || timeouts.has(type)

/** Seconds to wait, of the `google.rpc.RetryInfo` in the details of Google's errors (`34.07s`). */
export const retryDelayOf = ({ details }: JsonObject): number | undefined => {
  for (const detail of arrayOf(details)) {
    const delay = textOf(objectOf(detail).retryDelay)
    if (delay !== undefined && /^\d{1,6}(\.\d{1,9})?s$/.test(delay)) return Math.ceil(Number(delay.slice(0, -1)))
  }
  return undefined
}
