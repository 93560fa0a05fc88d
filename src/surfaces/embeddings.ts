/** The embeddings surface: one upstream call a string, side by side (docs/api.md#embeddings). */
import { endianness } from "node:os"
import { Array as Arr, Result } from "effect"
import { GatewayError, invalid } from "../catalog/GatewayError.ts"
import { type EmbeddingList, EmbeddingsRequest, maxStrings } from "../contract/Embeddings.ts"
import type { ApiError } from "../contract/Errors.ts"
import { maxTextBytes } from "../contract/fields.ts"
import { Adjusted, reportUnsupported } from "../vendors/adjustments.ts"
import { describeTooLong, dimensions, reply, request } from "../vendors/titan.ts"
import { apiError } from "./errorResponse.ts"
import type { Prepared, Surface } from "./Surface.ts"

interface PreparedEmbeddings extends Prepared {
  readonly base64: boolean
  /** The composite ID that was asked for. */
  readonly model: string
}

const read: ReadonlySet<string> = new Set(["model", "input", "encoding_format"])

/** Vectors have one size, so to ask for it is to ask for nothing. */
const unread = ({ dimensions: asked, ...request }: EmbeddingsRequest): Adjusted => {
  const adjusted = new Adjusted()
  reportUnsupported(asked === dimensions ? request : { ...request, dimensions: asked }, read, adjusted)
  return adjusted
}

/** In the order of docs/decisions.md#order-of-embedding-checks: count, emptiness, size. */
const refuseInput = (input: ReadonlyArray<string>): GatewayError | undefined => {
  if (input.length > maxStrings) {
    return invalid(`input: at most ${maxStrings} strings; this has ${input.length}. Send them in several requests`)
  }
  const empty = input.indexOf("")
  if (empty !== -1) return invalid(`input[${empty}]: must not be empty`)
  const bytes = input.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return bytes > maxTextBytes
    ? invalid(`input: at most 2 MiB of UTF-8 text in all; this has ${bytes} bytes`)
    : undefined
}

/** Float32 values, the first byte the least, in base64 (docs/api.md#embeddings). */
const base64Of = (embedding: ReadonlyArray<number>): string => {
  const bytes = Buffer.from(new Float32Array(embedding).buffer)
  return (endianness() === "LE" ? bytes : bytes.swap32()).toString("base64")
}

export const embeddings: Surface<EmbeddingsRequest, PreparedEmbeddings, ApiError> = {
  purpose: "embeddings",
  schema: EmbeddingsRequest,
  error: apiError,
  guarded: { request: { input: "user" }, reply: {} },
  counts: () => ({ tools: 0, images: 0, files: 0, mediaBytes: 0 }),
  prepare: (asked) => {
    const { input: given, encoding_format, model } = asked
    const input = Arr.ensure(given)
    if (!Arr.isReadonlyArrayNonEmpty(input)) return Result.fail(invalid("input: at least one string"))
    const refused = refuseInput(input)
    if (refused !== undefined) return Result.fail(refused)
    return Result.succeed({
      operation: "embeddings" as const,
      bodies: Arr.map(input, request),
      stream: false,
      maxOutput: 0,
      adjusted: unread(asked),
      base64: encoding_format === "base64",
      model
    })
  },
  *answer({ base64 }, { body }) {
    return Result.map(reply(body), ({ embedding, tokens }) => ({
      calls: [],
      body: () => JSON.stringify(base64 ? base64Of(embedding) : embedding),
      tokens: { input: tokens, output: 0 },
      finishReason: undefined
    }))
  },
  join: ({ model }, answers) => {
    const data = answers.map(({ body }, index) => `{"object":"embedding","index":${index},"embedding":${body}}`)
    const tokens = answers.reduce((sum, answer) => sum + (answer.tokens?.input ?? 0), 0)
    const usage: EmbeddingList["usage"] = { prompt_tokens: tokens, total_tokens: tokens }
    return `{"object":"list","data":[${data.join(",")}],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`
  },
  /** Only what the cloud says of a string is about that string; the others would have failed too. */
  errorAt: (error, at) =>
    error.reason === "invalid"
      ? new GatewayError({ ...error, message: `input[${at}]: ${describeTooLong(error.message) ?? error.message}` })
      : error
}
