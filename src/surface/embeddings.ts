/** The embeddings surface: one upstream call a string, side by side (spec: POST /v1/embeddings). */
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { EmbeddingsRequest, embeddingLimits } from "../api/Embeddings.ts"
import { maxTextBytes } from "../api/fields.ts"
import { GatewayError, invalid } from "../model/GatewayError.ts"
import type { Reply } from "../provider/Provider.ts"
import { malformed } from "../provider/refusal.ts"
import { bodyReader } from "./body.ts"
import { servedHeaders } from "./Gate.ts"
import { CurrentObservation } from "./Observation.ts"
import { respond } from "./respond.ts"
import { makeServing } from "./serving.ts"

/** In the order of decisions (Embeddings): count, emptiness, size. */
const refuseInput = (input: ReadonlyArray<string>): GatewayError | undefined => {
  if (input.length === 0) return invalid("input: at least one string")
  if (input.length > embeddingLimits.strings) {
    return invalid(
      `input: at most ${embeddingLimits.strings} strings; this has ${input.length}. Send them in several requests`
    )
  }
  const empty = input.indexOf("")
  if (empty !== -1) return invalid(`input[${empty}]: must not be empty`)
  // An upper bound by the number of UTF-16 units spares most requests the count of bytes.
  const units = input.reduce((sum, text) => sum + text.length, 0)
  if (units * 3 <= maxTextBytes) return undefined
  const bytes = input.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return bytes > maxTextBytes
    ? invalid(`input: at most 2 MiB of UTF-8 text in all; this has ${bytes} bytes`)
    : undefined
}

/** Titan's own words for what is too long: `request input token count: 9000`, `expected maxLength: 50000, actual: 60000`. */
const tooLong = /too many input tokens|maxLength/i
const tokenCount = /token count: (\d+)/i

/** The failure of one string, with its place in the input. */
const ofString = (error: GatewayError, at: number): GatewayError => {
  const count = tokenCount.exec(error.message)?.[1]
  const message =
    error.reason === "invalid" && tooLong.test(error.message)
      ? `must be at most 8,192 tokens and 50,000 characters${count === undefined ? "" : ` (this has ${count} tokens)`}; nothing is truncated, so split the text`
      : error.message
  return new GatewayError({ ...error, message: `input[${at}]: ${message}` })
}

interface Vector {
  readonly embedding: ReadonlyArray<number>
  readonly tokens: number
}

const noTokens = { input: 0, output: 0 }

const readVector = ({ body }: Reply): Vector | undefined => {
  if (typeof body !== "object" || body === null || !("embedding" in body)) return undefined
  const { embedding, inputTextTokenCount } = body
  if (!Array.isArray(embedding) || embedding.length !== embeddingLimits.dimensions) return undefined
  if (!embedding.every((value) => typeof value === "number") || typeof inputTextTokenCount !== "number")
    return undefined
  return { embedding, tokens: Math.round(inputTextTokenCount) }
}

/** Little-endian float32 values, in base64 (spec: Embedding list object). */
const base64 = (embedding: ReadonlyArray<number>): string => {
  const bytes = Buffer.allocUnsafe(embedding.length * 4)
  for (const [at, value] of embedding.entries()) bytes.writeFloatLE(value, at * 4)
  return bytes.toString("base64")
}

export const embeddingsLayer = HttpApiBuilder.group(
  Api,
  "embeddings",
  Effect.fn(function* (handlers) {
    const serving = yield* makeServing
    const read = bodyReader(EmbeddingsRequest, serving.bodyLimits)

    const embed = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const observation = yield* CurrentObservation
      const value = yield* read(request)
      const input = typeof value.input === "string" ? [value.input] : value.input
      const route = yield* serving.admit(value.model, "embeddings")
      const refused = refuseInput(input)
      if (refused !== undefined) return yield* refused
      yield* serving.hold({ stream: false, maxOutput: 0 })
      const provider = serving.providerOf(route)
      const headers = servedHeaders(observation, route, provider, "embeddings")
      const encode = value.encoding_format === "base64" ? base64 : (embedding: ReadonlyArray<number>) => embedding

      /** The first failure ends the request and cancels the calls beside it; what the others used is counted. */
      const one = Effect.fnUntraced(function* (inputText: string) {
        const reply = yield* provider.send(route, "embeddings", {
          inputText,
          dimensions: embeddingLimits.dimensions,
          normalize: true
        })
        observation.region = reply.region
        observation.upstreamRequestId = reply.requestId
        const vector = readVector(reply)
        if (vector === undefined) {
          reply.span.fail(malformed)
          return yield* malformed
        }
        reply.span.set({ "gen_ai.usage.input_tokens": vector.tokens })
        const { input, output } = observation.tokens ?? noTokens
        observation.tokens = { input: input + vector.tokens, output }
        return encode(vector.embedding)
      }, Effect.scoped)
      const embeddings = yield* serving.within(
        Effect.forEach(input, (text, at) => Effect.mapError(one(text), (error) => ofString(error, at)), {
          concurrency: serving.settings.embeddingsConcurrency
        })
      )
      const tokens = observation.tokens?.input ?? 0
      return HttpServerResponse.jsonUnsafe(
        {
          object: "list",
          data: embeddings.map((embedding, index) => ({ object: "embedding", index, embedding })),
          model: value.model,
          usage: { prompt_tokens: tokens, total_tokens: tokens }
        },
        { headers }
      )
    })

    return handlers.handleRaw("create", ({ request }) => respond(embed(request)))
  })
)
