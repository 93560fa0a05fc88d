/** How Gemini answers: whole, streamed, and counted. */
import { planOf } from "../answer.ts"
import { googleError, googleReply } from "../cloud/google.ts"
import { answered, exceptionMessage, exceptionStatus } from "../faults.ts"
import { type CloudRequest, type Frame, jsonReply, Refusal, type Reply } from "../http.ts"
import { isObject, type JsonObject, parseJson } from "../json.ts"
import type { GeminiModel } from "../models.ts"
import { digest, signThinking } from "../signature.ts"
import { signed } from "./contents.ts"
import { type GeminiRequest, readGemini } from "./request.ts"

/** One event of a reply; the unstreamed reply is all of them in one. */
interface Chunk {
  readonly parts: ReadonlyArray<JsonObject>
  readonly word: boolean
}

interface Spoken {
  readonly chunks: ReadonlyArray<Chunk>
  readonly finishReason: string
  readonly usage: JsonObject
}

const speak = (request: GeminiRequest, model: GeminiModel, seed: string): Spoken => {
  const plan = planOf(request.turn)
  const { directives } = request.turn
  const calls = plan.calls.map((call) => ({ name: call.name, args: parseJson(call.json) }))
  const broken = calls.some((call) => !isObject(call.args))
  const sign = (what: string) => signThinking(signed(model, what), seed)
  const chunks: Array<Chunk> = [
    ...(request.includeThoughts ? plan.thinking.map((text) => ({ parts: [{ text, thought: true }], word: true })) : []),
    ...plan.text.map((text) => ({ parts: [{ text }], word: true })),
    ...calls
      .filter((call) => isObject(call.args))
      .map(({ name, args }, index) => ({
        // No ID on Vertex; arguments are left out when there are none; only the first of parallel calls is signed.
        parts: [
          {
            functionCall: { name, ...(isObject(args) && Object.keys(args).length > 0 ? { args } : {}) },
            ...(index === 0 ? { thoughtSignature: sign(name) } : {})
          }
        ],
        word: true
      })),
    // The signature of a text comes on an empty part of its own.
    ...(plan.text.length > 0 && request.turn.thinks && plan.calls.length === 0
      ? [{ parts: [{ text: "", thoughtSignature: sign("text") }], word: false }]
      : [])
  ]
  const visible = plan.outputTokens - plan.thinkingTokens
  const { promptTokens } = request
  return {
    chunks,
    finishReason:
      plan.stop === "refusal"
        ? "SAFETY"
        : plan.stop === "length"
          ? "MAX_TOKENS"
          : broken
            ? "MALFORMED_FUNCTION_CALL"
            : "STOP",
    usage: {
      promptTokenCount: promptTokens,
      ...(visible > 0 ? { candidatesTokenCount: visible } : {}),
      ...(plan.thinkingTokens > 0 ? { thoughtsTokenCount: plan.thinkingTokens } : {}),
      ...(directives.cached > 0 ? { cachedContentTokenCount: Math.min(directives.cached, promptTokens) } : {}),
      totalTokenCount: promptTokens + plan.outputTokens,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: promptTokens }],
      trafficType: "ON_DEMAND"
    }
  }
}

const ratings = ["HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_DANGEROUS_CONTENT"].map((category, index) => ({
  category,
  probability: index === 0 ? "HIGH" : "NEGLIGIBLE",
  blocked: index === 0
}))

const merged = (chunks: ReadonlyArray<Chunk>): ReadonlyArray<JsonObject> => {
  const parts: Array<JsonObject> = []
  for (const part of chunks.flatMap((chunk) => chunk.parts)) {
    const last = parts.at(-1)
    const text = part.text
    const joins = typeof text === "string" && typeof last?.text === "string" && last.thought === part.thought
    if (joins) parts[parts.length - 1] = { ...last, ...part, text: `${last.text}${text}` }
    else parts.push(part)
  }
  return parts
}

const bodiesOf = (
  spoken: Spoken,
  identity: JsonObject
): ReadonlyArray<{ readonly body: JsonObject; readonly word: boolean }> => [
  ...spoken.chunks.map(({ parts, word }) => ({
    body: {
      candidates: [{ index: 0, content: { role: "model", parts } }],
      usageMetadata: { trafficType: "ON_DEMAND" },
      ...identity
    },
    word
  })),
  {
    body: { candidates: [finalCandidate(spoken, [{ text: "" }])], usageMetadata: spoken.usage, ...identity },
    word: false
  }
]

/** How likely each piece of the text was; here a piece is a token, and its alternatives are made up. */
const likelihoods = ({ chunks }: Spoken, alternatives: number): JsonObject => {
  const chosen = chunks.flatMap(({ parts }) =>
    parts.flatMap(({ text, thought }) =>
      typeof text === "string" && text !== "" && thought !== true
        ? [{ token: text, tokenId: 7, logProbability: -0.01 }]
        : []
    )
  )
  const others = Array.from({ length: alternatives }, (_, rank) => ({
    token: `other${rank}`,
    logProbability: -5 - rank
  }))
  return {
    chosenCandidates: chosen,
    ...(alternatives === 0
      ? {}
      : { topCandidates: chosen.map((first) => ({ candidates: [first, ...others].slice(0, alternatives) })) })
  }
}

const finalCandidate = (spoken: Spoken, parts: ReadonlyArray<JsonObject>): JsonObject => ({
  index: 0,
  ...(spoken.finishReason === "SAFETY" ? { safetyRatings: ratings } : { content: { role: "model", parts } }),
  finishReason: spoken.finishReason
})

const arrayFrames = (
  bodies: ReadonlyArray<{ readonly body: JsonObject; readonly word: boolean }>
): ReadonlyArray<Frame> => [
  ...bodies.map(({ body, word }, index) => ({ bytes: `${index === 0 ? "[" : ",\n"}${JSON.stringify(body)}`, word })),
  { bytes: "]", terminal: true }
]

/** Answers a Gemini request on Vertex AI: `generateContent`, `streamGenerateContent`, `countTokens`. */
export const answerGemini = (request: CloudRequest, body: JsonObject, model: GeminiModel, method: string): Reply => {
  const seed = digest(request.path, request.body)
  const identity = { modelVersion: model.base, createTime: new Date().toISOString(), responseId: seed.slice(0, 22) }
  const event = (data: JsonObject) => `data: ${JSON.stringify(data)}\r\n\r\n`
  try {
    const read = readGemini(body, model)
    const { directives } = read.turn
    if (method === "countTokens") {
      const counted = {
        totalTokens: read.promptTokens,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: read.promptTokens }]
      }
      const whole = () => jsonReply(200, counted)
      return answered({ ...directives, exception: undefined }, { failed: googleReply, whole })
    }
    if (method !== "generateContent" && method !== "streamGenerateContent")
      return googleReply(404, `Method ${method} not found.`)
    if (method === "streamGenerateContent" && read.logprobs !== undefined)
      return googleReply(400, "Unable to submit request because Logprobs is not supported for streaming.")
    const blocked = {
      promptFeedback: {
        blockReason: "PROHIBITED_CONTENT",
        blockReasonMessage: "The prompt was blocked by the sandbox."
      },
      usageMetadata: {
        promptTokenCount: read.promptTokens,
        totalTokenCount: read.promptTokens,
        trafficType: "ON_DEMAND"
      },
      ...identity
    }
    const filtered = directives.flags.has("filter-prompt")
    const spoken = speak(read, model, seed)
    const stream = () => {
      const bodies = filtered ? [{ body: blocked, word: false }] : bodiesOf(spoken, identity)
      const array = request.query.get("alt") !== "sse"
      const frames = array
        ? arrayFrames(bodies)
        : bodies.map(({ body, word }, index) => ({ bytes: event(body), word, terminal: index === bodies.length - 1 }))
      return {
        frames,
        headers: { "content-type": array ? "application/json; charset=UTF-8" : "text/event-stream" },
        garbage: "data: {not json\r\n\r\n",
        error: (name: string) => event(googleError(exceptionStatus[name] ?? 500, exceptionMessage(name)))
      }
    }
    const candidate = () => ({
      candidates: [
        {
          ...finalCandidate(spoken, merged(spoken.chunks)),
          ...(read.logprobs === undefined ? {} : { logprobsResult: likelihoods(spoken, read.logprobs) })
        }
      ],
      usageMetadata: spoken.usage,
      ...identity
    })
    return answered(directives, {
      failed: googleReply,
      stream: method === "streamGenerateContent" ? stream : undefined,
      whole: () => jsonReply(200, filtered ? blocked : candidate())
    })
  } catch (error) {
    if (error instanceof Refusal) return googleReply(error.status, error.message)
    throw error
  }
}
