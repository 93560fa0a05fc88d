/** How Gemini answers: whole, streamed, and counted. */
import { planOf } from "../answer.ts"
import { googleError, googleReply } from "../cloud/errors.ts"
import { type Answer, answered } from "../faults.ts"
import { type CloudRequest, jsonReply, type Reply } from "../http.ts"
import { type JsonObject, readObject } from "../json.ts"
import type { GeminiModel } from "../models.ts"
import { signThinking } from "../signature.ts"
import { signed } from "./contents.ts"
import { type GeminiRequest, readGemini } from "./request.ts"

const trafficType = "ON_DEMAND"

const reasons = { end: "STOP", tool: "STOP", length: "MAX_TOKENS", refusal: "SAFETY" }

const textsOf = (pieces: ReadonlyArray<string>, more: JsonObject = {}): ReadonlyArray<JsonObject> =>
  pieces.map((text) => ({ text, ...more }))
const joined = (pieces: ReadonlyArray<string>) => (pieces.length === 0 ? [] : [pieces.join("")])

/** What is said, part by part: each is an event of its own, and the unstreamed reply has their texts joined. */
const speak = ({ turn, includeThoughts, promptTokens, cached }: GeminiRequest, model: GeminiModel, seed: string) => {
  const plan = planOf(turn)
  const sign = (what: string) => signThinking(signed(model, what), seed)
  // No ID on Vertex; arguments are left out when there are none; only the first of parallel calls is signed.
  const calls = plan.calls
    .map(({ name, json }) => ({ name, args: readObject(json) }))
    .filter(({ args }) => args !== undefined)
    .map(
      ({ name, args = {} }, index): JsonObject => ({
        functionCall: { name, ...(Object.keys(args).length > 0 && { args }) },
        ...(index === 0 && { thoughtSignature: sign(name) })
      })
    )
  const thoughts = includeThoughts ? plan.thinking : []
  const thought = { thought: true }
  const signs = plan.text.length > 0 && turn.thinks && plan.calls.length === 0
  const signature = signs ? { thoughtSignature: sign("text") } : {}
  const visible = plan.outputTokens - plan.thinkingTokens
  const reason = typeof plan.stop === "string" ? reasons[plan.stop] : "STOP"
  return {
    text: plan.text,
    // In a stream the signature of a text comes on an empty part of its own.
    parts: [...textsOf(thoughts, thought), ...textsOf(plan.text), ...calls, ...textsOf(signs ? [""] : [], signature)],
    whole: [...textsOf(joined(thoughts), thought), ...textsOf(joined(plan.text), signature), ...calls],
    finishReason: reason === "STOP" && calls.length < plan.calls.length ? "MALFORMED_FUNCTION_CALL" : reason,
    usage: {
      promptTokenCount: promptTokens,
      ...(visible > 0 && { candidatesTokenCount: visible }),
      ...(plan.thinkingTokens > 0 && { thoughtsTokenCount: plan.thinkingTokens }),
      ...(cached > 0 && { cachedContentTokenCount: cached }),
      totalTokenCount: promptTokens + plan.outputTokens,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: promptTokens }],
      trafficType
    }
  }
}
type Spoken = ReturnType<typeof speak>

const safetyRatings = [
  { category: "HARM_CATEGORY_HATE_SPEECH", probability: "HIGH", blocked: true },
  { category: "HARM_CATEGORY_DANGEROUS_CONTENT", probability: "NEGLIGIBLE", blocked: false }
]

const candidate = ({ finishReason }: Spoken, parts: ReadonlyArray<JsonObject>): JsonObject => ({
  index: 0,
  ...(finishReason === "SAFETY" ? { safetyRatings } : { content: { role: "model", parts } }),
  finishReason
})

/** How likely each piece of the text was; here a piece is a token, and its alternatives are made up. */
const likelihoods = ({ text }: Spoken, alternatives: number): JsonObject => {
  const chosenCandidates = text.map((token) => ({ token, tokenId: 7, logProbability: -0.01 }))
  const others = Array.from({ length: alternatives }, (_, rank) => ({
    token: `other${rank}`,
    logProbability: -5 - rank
  }))
  const topCandidates = chosenCandidates.map((first) => ({ candidates: [first, ...others].slice(0, alternatives) }))
  return { chosenCandidates, ...(alternatives > 0 && { topCandidates }) }
}

/** Answers a Gemini request on Vertex AI: `generateContent`, `streamGenerateContent`, `countTokens`. Throws a `Refusal`. */
export const answerGemini = (request: CloudRequest, body: JsonObject, model: GeminiModel, method: string): Reply => {
  const identity = {
    modelVersion: model.base,
    createTime: new Date().toISOString(),
    responseId: request.seed.slice(0, 22)
  }
  const event = (data: JsonObject) => `data: ${JSON.stringify(data)}\r\n\r\n`
  const read = readGemini(body, model)
  const { promptTokens, logprobs } = read
  const { directives } = read.turn
  if (method === "countTokens") {
    const promptTokensDetails = [{ modality: "TEXT", tokenCount: promptTokens }]
    const whole = () => jsonReply(200, { totalTokens: promptTokens, promptTokensDetails })
    return answered({ ...directives, exception: undefined }, { failed: googleReply, whole })
  }
  const streams = method === "streamGenerateContent"
  if (method !== "generateContent" && !streams) return googleReply(404, `Method ${method} not found.`)
  if (streams && logprobs !== undefined)
    return googleReply(400, "Unable to submit request because Logprobs is not supported for streaming.")
  const filtered = directives.flags.has("filter-prompt")
  const blocked = {
    promptFeedback: {
      blockReason: "PROHIBITED_CONTENT",
      blockReasonMessage: "The prompt was blocked by the sandbox."
    },
    usageMetadata: { promptTokenCount: promptTokens, totalTokenCount: promptTokens, trafficType },
    ...identity
  }
  const spoken = speak(read, model, request.seed)
  const { usage: usageMetadata } = spoken
  const stream: Answer["stream"] = () => {
    const array = request.query.get("alt") !== "sse"
    const parts = spoken.parts.map((part) => ({
      candidates: [{ index: 0, content: { role: "model", parts: [part] } }],
      usageMetadata: { trafficType },
      ...identity
    }))
    const end = { candidates: [candidate(spoken, [{ text: "" }])], usageMetadata, ...identity }
    const bodies = filtered ? [blocked] : [...parts, end]
    const frames = bodies.map((body, index) => {
      const last = index === bodies.length - 1
      // The signature of a text comes with the last of it.
      const word = !last && spoken.parts[index]?.text !== ""
      return array
        ? { bytes: `${index === 0 ? "[" : ",\n"}${JSON.stringify(body)}`, word }
        : { bytes: event(body), word, terminal: last }
    })
    return {
      frames: array ? [...frames, { bytes: "]", terminal: true }] : frames,
      headers: { "content-type": array ? "application/json; charset=UTF-8" : "text/event-stream" },
      garbage: "data: {not json\r\n\r\n",
      error: ({ status, message }) => event(googleError(status, message))
    }
  }
  const whole = () => {
    const logprobsResult = logprobs === undefined ? {} : { logprobsResult: likelihoods(spoken, logprobs) }
    const candidates = [{ ...candidate(spoken, spoken.whole), ...logprobsResult }]
    return jsonReply(200, filtered ? blocked : { candidates, usageMetadata, ...identity })
  }
  return answered(directives, { failed: googleReply, stream: streams ? stream : undefined, whole })
}
