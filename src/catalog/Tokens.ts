/** Tokens of a request: counted, estimated, charged, reserved; and what they cost (docs/decisions.md#prices). */
import { compact, type Json, type JsonObject, numberOf, objectOf } from "../wire/json.ts"
import type { Model, Prices } from "./Catalog.ts"
import type { Operation } from "./names.ts"

/** As the cloud counted them, unless `estimated`; cached input and what was written to a cache are part of `input`, reasoning of `output`. */
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
  /** An estimate, because the cloud has not counted the whole reply. */
  readonly estimated?: boolean | undefined
}

/** Largest count that is believed, far more than any request has: a wrong count must not use up a quota. */
const maxCount = 1e9

/** A count of a cloud; undefined where the value cannot be one. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxCount ? value : undefined

/** Bytes of text that are about one token. */
const bytesPerToken = 4

/** Tokens of an image or a file, about. */
const mediaTokens = 1600
/** About how many tokens an input is. `media` is the number of images and files, whose bytes are not in `textBytes`. */
export const estimateInput = (textBytes: number, media: number): number =>
  Math.ceil(textBytes / bytesPerToken) + media * mediaTokens

/** What a cloud sent. */
interface Received {
  readonly stream: boolean
  /** Events of a stream. */
  readonly events: number
  /** Bytes of a whole reply as it came; of a stream its text, thinking and arguments of calls. */
  readonly bytes: number
  /** About how many tokens the input is. */
  readonly inputEstimate: number
}

/** Whether these are counts of the whole reply: input is never 0, and output is not where a stream had some. */
export const isCount = ({ input, output }: Tokens, { bytes, stream }: Received): boolean =>
  input > 0 && (output > 0 || !(stream && bytes > 0))

/**
 * An estimate from what came: an event is at least a token, and so are four bytes (docs/decisions.md#limits-and-quotas). `soFar`: the
 * cloud's counts until then; streams begin with the count of their input.
 */
export const estimateOf = (soFar: Tokens | undefined, received: Received): Tokens => {
  const { bytes, events, inputEstimate, stream } = received
  const input = (stream && soFar?.input) || Math.max(soFar?.input ?? 0, inputEstimate)
  const output = Math.max(soFar?.output ?? 0, events, Math.ceil(bytes / bytesPerToken))
  return { ...soFar, input, output, estimated: true }
}

/** Tokens that are reserved where the body has no limit. */
const unlimited = 4096

/** Where the body of an API has its output limit. A field of another API may stand beside it, and limits nothing. */
const limitIn: Readonly<Partial<Record<Operation, (body: JsonObject) => Json | undefined>>> = {
  messages: ({ max_tokens }) => max_tokens,
  chat: ({ max_completion_tokens }) => max_completion_tokens,
  responses: ({ max_output_tokens }) => max_output_tokens,
  content: ({ generationConfig }) => objectOf(generationConfig).maxOutputTokens
}

/** The output limit of a body, in tokens, which is reserved of a quota (docs/decisions.md#limits-and-quotas). */
export const reservedOutput = (operation: Operation, body: JsonObject, { maxOutputTokens }: Model): number => {
  const sent = numberOf(limitIn[operation]?.(body))
  // The cloud refuses a negative limit.
  return Math.min(sent !== undefined && sent >= 0 ? Math.ceil(sent) : unlimited, maxOutputTokens)
}

/** A price has at most six digits after its point. */
const scale = 1_000_000

/** Largest count in a cost, so that a wrong one does not overflow the sum. */
const maxCosted = 1e12
const whole = (count: number | undefined): bigint =>
  count !== undefined && count > 0 ? BigInt(Math.round(Math.min(count, maxCosted))) : 0n
const exact = (price: number): bigint => BigInt(Math.round(price * scale))

/** Parts of the input with their own prices are at most the rest of it. */
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

// Bedrock's counts beside a message of Claude, as usage of the messages format (docs/upstreams.md#amazon-bedrock).

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
