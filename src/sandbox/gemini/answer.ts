/** How Gemini answers: whole, streamed, and counted. */
import { type Plan, planOf } from "../answer.ts"
import { googleError } from "../cloud/errors.ts"
import type { Answer, Failure } from "../faults.ts"
import { type CloudRequest, type Frame, invalid, jsonReply, Refusal } from "../http.ts"
import { type JsonObject, readObject } from "../json.ts"
import type { GeminiModel } from "../models.ts"
import { signThinking } from "../signature.ts"
import { words } from "../tokens.ts"
import { type GeminiRequest, readGemini, signed } from "./request.ts"

const trafficType = "ON_DEMAND"
const reasons = { end: "STOP", sequence: "STOP", tool: "STOP", length: "MAX_TOKENS", refusal: "SAFETY" }
const safetyRatings = [
  { category: "HARM_CATEGORY_HATE_SPEECH", probability: "HIGH", blocked: true },
  { category: "HARM_CATEGORY_DANGEROUS_CONTENT", probability: "NEGLIGIBLE", blocked: false }
]
const promptFeedback = {
  blockReason: "PROHIBITED_CONTENT",
  blockReasonMessage: "The prompt was blocked by the sandbox."
}

type Part = JsonObject & { readonly text?: string; readonly thoughtSignature?: string }

/** What is said. Calls have no ID on Vertex AI, and no empty arguments; only the first of parallel calls is signed. */
const partsOf = (plan: Plan, { turn, includeThoughts }: GeminiRequest, sign: (what: string) => string) => {
  const calls = plan.calls.flatMap(({ name, json }) => {
    const args = readObject(json)
    return args === undefined ? [] : [{ name, ...(Object.keys(args).length > 0 && { args }) }]
  })
  const text = turn.thinks && plan.calls.length === 0 ? { thoughtSignature: sign("text") } : {}
  const parts: ReadonlyArray<Part> = [
    ...(includeThoughts && plan.thinking !== "" ? [{ text: plan.thinking, thought: true }] : []),
    ...(plan.text === "" ? [] : [{ text: plan.text, ...text }]),
    ...calls.map((functionCall, index) => ({
      functionCall,
      ...(index === 0 && { thoughtSignature: sign(functionCall.name) })
    }))
  ]
  return { parts, lost: calls.length < plan.calls.length }
}

/** What a stream sends of a part, each in an event of its own. The signature of a text comes last, on an empty part. */
const piecesOf = ({ text, thoughtSignature, ...part }: Part): ReadonlyArray<Part> => {
  const signature = thoughtSignature === undefined ? {} : { thoughtSignature }
  if (text === undefined) return [{ ...part, ...signature }]
  const pieces = words(text).map((text) => ({ text, ...part }))
  return thoughtSignature === undefined ? pieces : [...pieces, { text: "", ...signature }]
}

/** How likely each piece of the text was; here a piece is a token, and its alternatives are made up. */
const likelihoods = ({ text }: Plan, alternatives: number): JsonObject => {
  const chosenCandidates = words(text).map((token) => ({ token, tokenId: 7, logProbability: -0.01 }))
  const others = Array.from({ length: alternatives }, (_, at) => ({ token: `other${at}`, logProbability: -5 - at }))
  const topCandidates = chosenCandidates.map((first) => ({ candidates: [first, ...others].slice(0, alternatives) }))
  return { chosenCandidates, ...(alternatives > 0 && { topCandidates }) }
}

/** Answers a Gemini request on Vertex AI: `generateContent`, `streamGenerateContent`, `countTokens`. Throws a `Refusal`. */
export const playGemini = (request: CloudRequest, body: JsonObject, model: GeminiModel, method: string): Answer => {
  const { seed, query } = request
  const read = readGemini(body, model)
  const { turn, promptTokens, cached, logprobs } = read
  const { directives } = turn
  const promptTokensDetails = [{ modality: "TEXT", tokenCount: promptTokens }]
  if (method === "countTokens") {
    const whole = () => jsonReply(200, { totalTokens: promptTokens, promptTokensDetails })
    return { directives: { ...directives, exception: undefined }, whole }
  }
  const streams = method === "streamGenerateContent"
  if (!streams && method !== "generateContent")
    throw new Refusal({ status: 404, message: `Method ${method} not found.` })
  if (streams && logprobs !== undefined)
    throw invalid("Unable to submit request because Logprobs is not supported for streaming.")

  const identity = { modelVersion: model.base, createTime: new Date().toISOString(), responseId: seed.slice(0, 22) }
  const plan = planOf(turn)
  const { parts, lost } = partsOf(plan, read, (what) => signThinking(signed(model, what), seed))
  const reason = reasons[plan.stop]
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
  const unread = { promptTokenCount: promptTokens, totalTokenCount: promptTokens, trafficType }
  const blocked = directives.flags.has("filter-prompt") && { promptFeedback, usageMetadata: unread, ...identity }

  const event = (data: JsonObject) => `data: ${JSON.stringify(data)}\r\n\r\n`
  const stream = () => {
    const pieces = parts.flatMap(piecesOf)
    const said = pieces.map((part) => bodyOf(contentOf([part]), { trafficType }))
    const bodies = blocked ? [blocked] : [...said, ended([{ text: "" }])]
    const array = query.get("alt") !== "sse"
    const frames = bodies.map((body, index): Frame => {
      const last = index === bodies.length - 1
      return {
        bytes: array ? `${index === 0 ? "[" : ",\n"}${JSON.stringify(body)}` : event(body),
        // The signature of a text comes with the last of it.
        word: !last && pieces[index]?.text !== "",
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
  return { directives, stream: streams && stream, whole: () => jsonReply(200, blocked || ended(parts, likely())) }
}
