/** How Gemini answers: whole, streamed, and counted. */
import { type Plan, planOf } from "../answer.ts"
import { googleError, googleReply } from "../cloud/errors.ts"
import { answered, type Failure } from "../faults.ts"
import { type CloudRequest, type Frame, jsonReply, type Reply } from "../http.ts"
import { type JsonObject, readObject } from "../json.ts"
import type { GeminiModel } from "../models.ts"
import { signThinking } from "../signature.ts"
import { signed } from "./contents.ts"
import { type GeminiRequest, readGemini } from "./request.ts"

const trafficType = "ON_DEMAND"
const reasons = { end: "STOP", tool: "STOP", length: "MAX_TOKENS", refusal: "SAFETY" }
const safetyRatings = [
  { category: "HARM_CATEGORY_HATE_SPEECH", probability: "HIGH", blocked: true },
  { category: "HARM_CATEGORY_DANGEROUS_CONTENT", probability: "NEGLIGIBLE", blocked: false }
]
const promptFeedback = {
  blockReason: "PROHIBITED_CONTENT",
  blockReasonMessage: "The prompt was blocked by the sandbox."
}

/** The calls that are whole. No ID on Vertex; empty arguments are left out; only the first of parallel calls is signed. */
const callsOf = ({ calls }: Plan, sign: (name: string) => string): ReadonlyArray<JsonObject> =>
  calls
    .flatMap(({ name, json }) => {
      const args = readObject(json)
      return args === undefined ? [] : [{ name, ...(Object.keys(args).length > 0 && { args }) }]
    })
    .map((functionCall, index) => ({ functionCall, ...(index === 0 && { thoughtSignature: sign(functionCall.name) }) }))

/** What is said: `parts` are each an event of their own, and `whole` has their texts joined. */
const speak = (plan: Plan, { turn, includeThoughts }: GeminiRequest, sign: (what: string) => string) => {
  const calls = callsOf(plan, sign)
  const signs = plan.text.length > 0 && turn.thinks && plan.calls.length === 0
  const signature = signs && { thoughtSignature: sign("text") }
  const thoughts = (pieces: ReadonlyArray<string>) => pieces.map((text) => ({ text, thought: true }))
  const shown = includeThoughts ? plan.thinking : []
  const joined = (pieces: ReadonlyArray<string>) => (pieces.length === 0 ? [] : [pieces.join("")])
  return {
    // In a stream the signature of a text comes on an empty part of its own.
    parts: [
      ...thoughts(shown),
      ...plan.text.map((text) => ({ text })),
      ...calls,
      ...(signs ? [{ text: "", ...signature }] : [])
    ],
    whole: [...thoughts(joined(shown)), ...joined(plan.text).map((text) => ({ text, ...signature })), ...calls],
    lost: calls.length < plan.calls.length
  }
}

/** How likely each piece of the text was; here a piece is a token, and its alternatives are made up. */
const likelihoods = ({ text }: Plan, alternatives: number): JsonObject => {
  const chosenCandidates = text.map((token) => ({ token, tokenId: 7, logProbability: -0.01 }))
  const others = Array.from({ length: alternatives }, (_, at) => ({ token: `other${at}`, logProbability: -5 - at }))
  const topCandidates = chosenCandidates.map((first) => ({ candidates: [first, ...others].slice(0, alternatives) }))
  return { chosenCandidates, ...(alternatives > 0 && { topCandidates }) }
}

/** Answers a Gemini request on Vertex AI: `generateContent`, `streamGenerateContent`, `countTokens`. Throws a `Refusal`. */
export const answerGemini = (request: CloudRequest, body: JsonObject, model: GeminiModel, method: string): Reply => {
  const read = readGemini(body, model)
  const { turn, promptTokens, cached, logprobs } = read
  const promptTokensDetails = [{ modality: "TEXT", tokenCount: promptTokens }]
  if (method === "countTokens") {
    const whole = () => jsonReply(200, { totalTokens: promptTokens, promptTokensDetails })
    return answered({ ...turn.directives, exception: undefined }, { failed: googleReply, whole })
  }
  const streams = method === "streamGenerateContent"
  if (method !== "generateContent" && !streams) return googleReply(404, `Method ${method} not found.`)
  if (streams && logprobs !== undefined)
    return googleReply(400, "Unable to submit request because Logprobs is not supported for streaming.")

  const { seed } = request
  const identity = { modelVersion: model.base, createTime: new Date().toISOString(), responseId: seed.slice(0, 22) }
  const plan = planOf(turn)
  const { parts, whole, lost } = speak(plan, read, (what) => signThinking(signed(model, what), seed))
  const reason = typeof plan.stop === "string" ? reasons[plan.stop] : "STOP"
  const finishReason = reason === "STOP" && lost ? "MALFORMED_FUNCTION_CALL" : reason
  const visible = plan.outputTokens - plan.thinkingTokens
  const usage = {
    promptTokenCount: promptTokens,
    ...(visible > 0 && { candidatesTokenCount: visible }),
    ...(plan.thinkingTokens > 0 && { thoughtsTokenCount: plan.thinkingTokens }),
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    totalTokenCount: promptTokens + plan.outputTokens,
    promptTokensDetails,
    trafficType
  }
  const bodyOf = (candidate: JsonObject, usageMetadata: JsonObject) => ({
    candidates: [{ index: 0, ...candidate }],
    usageMetadata,
    ...identity
  })
  const contentOf = (parts: ReadonlyArray<JsonObject>) => ({ content: { role: "model", parts } })
  const ended = (parts: ReadonlyArray<JsonObject>, more?: JsonObject) =>
    bodyOf({ ...(reason === "SAFETY" ? { safetyRatings } : contentOf(parts)), finishReason, ...more }, usage)
  const filtered = turn.directives.flags.has("filter-prompt")
  const unread = { promptTokenCount: promptTokens, totalTokenCount: promptTokens, trafficType }
  const blocked = { promptFeedback, usageMetadata: unread, ...identity }

  const event = (data: JsonObject) => `data: ${JSON.stringify(data)}\r\n\r\n`
  const array = request.query.get("alt") !== "sse"
  const stream = () => {
    const said = parts.map((part) => bodyOf(contentOf([part]), { trafficType }))
    const bodies = filtered ? [blocked] : [...said, ended([{ text: "" }])]
    const frames = bodies.map((body, index): Frame => {
      const last = index === bodies.length - 1
      return {
        bytes: array ? `${index === 0 ? "[" : ",\n"}${JSON.stringify(body)}` : event(body),
        // The signature of a text comes with the last of it.
        word: !last && parts[index]?.text !== "",
        terminal: last && !array
      }
    })
    return {
      frames: array ? [...frames, { bytes: "]", terminal: true }] : frames,
      headers: { "content-type": array ? "application/json; charset=UTF-8" : "text/event-stream" },
      garbage: "data: {not json\r\n\r\n",
      error: ({ status, message }: Failure) => event(googleError(status, message))
    }
  }
  const likely = () => (logprobs === undefined ? {} : { logprobsResult: likelihoods(plan, logprobs) })
  return answered(turn.directives, {
    failed: googleReply,
    stream: streams ? stream : undefined,
    whole: () => jsonReply(200, filtered ? blocked : ended(whole, likely()))
  })
}
