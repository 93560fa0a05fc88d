/** Tokens of a request: counted, estimated, charged, reserved; and what they cost (docs/decisions.md#prices). */

import { compact, type JsonObject, numberOf, objectOf } from "../wire/json.ts"
import type { Model, Prices } from "./Catalog.ts"
import { type SurfaceName, surfaces } from "./names.ts"

/** Mostly as the upstream counted them; cached input and what was written to a cache are part of `input`, reasoning of `output`. */
export interface Tokens {
  readonly input: number
  readonly output: number
  readonly reasoning?: number | undefined
  /** Input that came from a prompt cache. */
  readonly cached?: number | undefined
  /** Input that was written to a prompt cache. */
  readonly cacheWrites?: number | undefined
  /** Of `cacheWrites`: what the cache keeps for an hour, and not for five minutes. */
  readonly cacheWrites1h?: number | undefined
  /** The upstream has not counted the whole reply: about what it was. */
  readonly estimated?: boolean | undefined
}

/** More than any request comes to: an absurd count must not use up a quota. */
const mostCounted = 1e9

/** What a cloud counted; undefined where it says what no count can be, which is then as if it had said nothing. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= mostCounted ? value : undefined

/** Bytes of text that are about one token. */
const bytesPerToken = 4

/** About what an image or a page of a file is charged. */
const mediumTokens = 1600
/** About how many tokens an input is. `media` is the number of images and files, whose bytes are no text. */
export const estimateInput = (textBytes: number, media: number): number =>
  Math.ceil(textBytes / bytesPerToken) + media * mediumTokens

/** What came of a cloud. */
export interface Received {
  readonly stream: boolean
  /** Of a stream. */
  readonly events: number
  /** Of a whole reply as it came; of a stream its text, thinking and arguments of calls. */
  readonly bytes: number
  /** About how many tokens the input is. */
  readonly inputEstimate: number
}

/** Whether the cloud has counted a whole reply: no count is of nothing where something was said, and no input is empty. */
export const isCount = ({ input, output }: Tokens, { bytes, stream }: Received): boolean =>
  input > 0 && (output > 0 || !(stream && bytes > 0))

/**
 * About what came: an event is at least a token, and so are four bytes (docs/decisions.md#limits-and-quotas). `soFar`: as far as the
 * cloud had counted it; streams begin with the count of their input.
 */
export const estimateOf = (soFar: Tokens | undefined, received: Received): Tokens => {
  const { bytes, events, inputEstimate, stream } = received
  const input = (stream && soFar?.input) || Math.max(soFar?.input ?? 0, inputEstimate)
  const output = Math.max(soFar?.output ?? 0, events, Math.ceil(bytes / bytesPerToken))
  return { ...soFar, input, output, estimated: true }
}

/** What is known of a request that is over. */
interface Chargeable {
  readonly surface: SurfaceName | undefined
  readonly status: number
  /** Undefined where nothing has failed (`RequestFacts`). */
  readonly outcome: string | undefined
  readonly stream: boolean
  readonly streamEnd: string | undefined
  /** As the cloud counted them, or as far as it had. */
  readonly tokens: Tokens | undefined
  /** Upstream events. */
  readonly events: number
  /** About how many tokens the input is; undefined where nothing is charged. */
  readonly inputEstimate: number | undefined
  /** Whether a cloud may have worked on the request. */
  readonly sent: boolean
  /** Whether a stream came to the cloud's own end, with its counts. */
  readonly counted: boolean
  /** Bytes that the cloud has said: of whole replies as they came, of a stream its text, thinking and arguments of calls. */
  readonly received: number
}

/** The caller gave up what the cloud was at, or the gateway did. */
const abandoned: ReadonlySet<string> = new Set(["cancelled", "timeout", "idle", "drained", "revoked"])

/**
 * Undefined where nothing is charged: nothing was sent, the cloud refused or failed before it said anything, or the endpoint is
 * free. Where the cloud's count is missing, what it said is charged: the estimate that its caller got, where there was one.
 */
export const chargedTokens = (record: Chargeable): Tokens | undefined => {
  const { counted, events, inputEstimate, outcome, sent, status, stream, streamEnd, surface, tokens } = record
  if (inputEstimate === undefined || !sent) return tokens
  // A vector is no output.
  const isVector = surface !== undefined && surface !== "models" && surfaces[surface].output === "vector"
  const bytes = isVector ? 0 : record.received
  const ended = outcome === undefined && status > 0 && (streamEnd === undefined || streamEnd === "complete")
  const gaveUp = !ended && (streamEnd === "cancelled" || outcome === undefined || abandoned.has(outcome))
  const received = { bytes, events, inputEstimate, stream }
  if (tokens?.estimated === true) return tokens
  if (tokens !== undefined && (stream ? counted : !gaveUp) && isCount(tokens, received)) return tokens
  // Also where a stream's first event is a failure.
  if (!ended && !gaveUp && bytes === 0 && (events === 0 || status !== 200)) return tokens
  return estimateOf(tokens, received)
}

/** Reserved where no limit is sent. */
const unlimited = 4096

/** How much output a body asks a cloud for, in the words of each vendor, in tokens: it is reserved of a quota (docs/decisions.md#limits-and-quotas). */
export const reservedOutput = (body: JsonObject, { maxOutputTokens }: Model): number => {
  const sent =
    numberOf(body.max_tokens) ??
    numberOf(body.max_completion_tokens) ??
    numberOf(body.max_output_tokens) ??
    numberOf(objectOf(body.generationConfig).maxOutputTokens)
  // What makes no sense is refused by the cloud.
  return Math.min(sent !== undefined && sent >= 0 ? Math.ceil(sent) : unlimited, maxOutputTokens)
}

/** A price has at most six digits after its point. */
const scale = 1_000_000

/** A cloud's nonsense must not overflow the sum. */
const most = 1e12
const whole = (count: number | undefined): bigint =>
  count !== undefined && count > 0 ? BigInt(Math.round(Math.min(count, most))) : 0n
const exact = (price: number): bigint => BigInt(Math.round(price * scale))

/** Parts of the input that have prices of their own are no more than all of it. */
const partOf = (part: bigint, rest: bigint): bigint => (part < rest ? part : rest)

/**
 * Millionths of the currency. A price is that of a million tokens, so it is that of one token in millionths. Exact, and rounded
 * half up once.
 */
export const costOf = (prices: Prices, { input, output, cached, cacheWrites, cacheWrites1h }: Tokens): number => {
  const all = whole(input)
  const read = partOf(whole(cached), all)
  const written = partOf(whole(cacheWrites), all - read)
  const hourly = partOf(whole(cacheWrites1h), written)
  const sum =
    (all - read - written) * exact(prices.input) +
    read * exact(prices.cacheRead ?? prices.input) +
    (written - hourly) * exact(prices.cacheWrite ?? prices.input) +
    hourly * (prices.cacheWrite1h === undefined ? 2n * exact(prices.input) : exact(prices.cacheWrite1h)) +
    whole(output) * exact(prices.output)
  return Number((sum + BigInt(scale / 2)) / BigInt(scale))
}

// What Bedrock counts beside a message of Claude's, in the words of the messages format (docs/upstreams.md#amazon-bedrock).

const field = "amazon-bedrock-invocationMetrics"

/** The usage with the cloud's own counts in the places of those that the message does not give. */
export const fillUsage = (usage: JsonObject, holder: JsonObject): JsonObject => {
  const metrics = objectOf(holder[field])
  const given = Object.entries(usage).filter(([, value]) => value !== null)
  return {
    ...compact({
      input_tokens: countOf(metrics.inputTokenCount),
      output_tokens: countOf(metrics.outputTokenCount),
      cache_read_input_tokens: countOf(metrics.cacheReadInputTokenCount),
      cache_creation_input_tokens: countOf(metrics.cacheWriteInputTokenCount)
    }),
    ...Object.fromEntries(given)
  }
}

/** The message without the cloud's field, and with its counts. */
export const withoutMetrics = (message: JsonObject): JsonObject => {
  if (!(field in message)) return message
  const { [field]: _, ...rest } = message
  return { ...rest, usage: fillUsage(objectOf(message.usage), message) }
}
