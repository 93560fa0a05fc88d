/** The headers of replies, for the document: what each says, and which reply may have it (docs/api.md#headers). */
import type { Endpoint } from "./facts.ts"

const header = (description: string, schema: Readonly<Record<string, unknown>>, example: unknown) => ({
  description,
  schema,
  example
})
const text = { type: "string" }
const count = { type: "integer", minimum: 0 }
const id = "3c9f5f0e-6d0b-4f3c-9f0e-0f6a1d2b7c11"

export const headers = {
  "x-request-id": header(
    "The gateway's ID of the request, which its operator can look up.",
    { type: "string", format: "uuid" },
    id
  ),
  "request-id": header(
    "The same ID, where the vendor's client libraries look for it.",
    { type: "string", format: "uuid" },
    id
  ),
  link: header("Where the usage notice is.", text, '</>; rel="terms-of-service"'),
  allow: header("The method that the path takes.", { type: "string", enum: ["GET", "POST"] }, "POST"),
  "x-gateway-served-by": header("The cloud and region that the request went to.", text, "bedrock/us-gov-west-1"),
  "x-gateway-served-level": header("The level that it was served at.", text, "il5"),
  "x-gateway-served-model": header("The base model that served the request.", text, "claude-sonnet-4-5"),
  "x-gateway-thinking-adjusted": header(
    "Only when a thinking request was adjusted: what was changed.",
    text,
    "budget_tokens:32000->7168"
  ),
  "x-gateway-adjusted": header(
    "Only when the gateway changed something of the request: name:from->to or name:removed, joined by commas, at most 1 KiB.",
    { type: "string", maxLength: 1024 },
    "temperature:1.7->1, seed:removed"
  ),
  "x-should-retry": header(
    "Whether the same request may succeed later; the vendors' client libraries obey it.",
    { type: "string", enum: ["true", "false"] },
    "true"
  ),
  "retry-after": header("Seconds to wait before the next attempt.", count, 5),
  "x-ratelimit-limit-requests": header("Requests a minute that the key has.", count, 60),
  "x-ratelimit-remaining-requests": header("Those that are left.", count, 59),
  "x-ratelimit-reset-requests": header("When all of them are free again.", text, "1s"),
  "x-ratelimit-limit-tokens": header("Tokens a month that the key has.", count, 1_000_000),
  "x-ratelimit-remaining-tokens": header("Those that are left.", count, 999_000),
  "x-ratelimit-reset-tokens": header("When all of them are free again.", text, "216h30m5s")
} as const
type Name = keyof typeof headers

const served = ["x-gateway-served-by", "x-gateway-served-level", "x-gateway-served-model"] as const
const requests = ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"] as const
const tokens = ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"] as const

/** Refusals from before the key is looked at. */
const beforeKey: ReadonlySet<string> = new Set(["401", "405", "417", "431"])
/** What may be answered after the tokens of a reply were put aside. */
const afterHold: ReadonlySet<string> = new Set(["200", "400", "429", "500", "502", "503", "504"])
/** Of those, what may be answered after a cloud was asked. */
const afterCloud: ReadonlySet<string> = new Set(["200", "400", "429", "502", "503", "504"])
const waits: ReadonlySet<string> = new Set(["429", "502", "503"])

/** Which headers a reply may have. */
export const headersOf = ({ purpose, surface }: Endpoint, status: string): ReadonlyArray<Name> => {
  const messages = purpose === "messages" || purpose === "count_tokens"
  const inference = purpose !== undefined
  const has = <N extends Name>(condition: boolean, ...names: ReadonlyArray<N>) => (condition ? names : [])
  const failed = status !== "200" && !(surface === undefined && status === "503")
  return [
    "x-request-id",
    ...has(messages && status !== "431", "request-id"),
    "link",
    ...has(status === "405", "allow"),
    ...has(inference && afterCloud.has(status), ...served),
    ...has(inference && afterCloud.has(status), "x-gateway-adjusted"),
    ...has(purpose === "messages" && afterCloud.has(status), "x-gateway-thinking-adjusted"),
    ...has(failed, "x-should-retry"),
    ...has(failed && waits.has(status), "retry-after"),
    ...has(surface !== undefined && !beforeKey.has(status), ...requests),
    ...has(inference && purpose !== "count_tokens" && afterHold.has(status), ...tokens)
  ]
}
