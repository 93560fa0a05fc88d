/** Gemini's generateContent: the reply, whole and streamed. */
import { jsonText } from "../../wire/print.ts"
import { type Plan, planOf } from "../answer.ts"
import { googleError } from "../cloud/errors.ts"
import type { Answer, Failure } from "../faults.ts"
import { type CloudRequest, jsonReply, Refusal } from "../http.ts"
import { type JsonObject, parseObject } from "../json.ts"
import type { GeminiModel } from "../models.ts"
import { insist } from "../shape.ts"
import { signThinking } from "../signature.ts"
import { words } from "../tokens.ts"
import { readGemini, signed } from "./request.ts"

const trafficType = "ON_DEMAND"
const reasons = { end: "STOP", sequence: "STOP", tool: "STOP", length: "MAX_TOKENS", refusal: "SAFETY" }
const promptFeedback = { blockReason: "PROHIBITED_CONTENT" }

type ReplyPart = JsonObject & { readonly text?: string; readonly thoughtSignature?: string }

/** The parts of a reply. Calls on Vertex AI have no ID and no empty arguments; only the first of parallel calls is signed. */
const partsOf = (plan: Plan, thinks: boolean, shown: boolean, sign: (what: string) => string) => {
  const calls = plan.calls.flatMap(({ name, json }) => {
    const args = parseObject(json)
    return args === undefined ? [] : [{ name, ...(Object.keys(args).length > 0 && { args }) }]
  })
  const text = thinks && plan.calls.length === 0 ? { thoughtSignature: sign("text") } : {}
  return [
    ...(shown && plan.thinking !== "" ? [{ text: plan.thinking, thought: true }] : []),
    ...(plan.text === "" ? [] : [{ text: plan.text, ...text }]),
    ...calls.map((functionCall, index) =>
      index === 0 ? { functionCall, thoughtSignature: sign(functionCall.name) } : { functionCall }
    )
  ]
}

/** The pieces of a part, one an event. The signature of a text comes last, on an empty part. */
const piecesOf = ({ text, thoughtSignature, ...part }: ReplyPart): ReadonlyArray<ReplyPart> => {
  const signature = thoughtSignature === undefined ? {} : { thoughtSignature }
  if (text === undefined) return [{ ...part, ...signature }]
  const pieces = words(text).map((text) => ({ text, ...part }))
  return thoughtSignature === undefined ? pieces : [...pieces, { text: "", ...signature }]
}

/** Log probabilities: each piece of the text counts as a token, and its alternatives are invented. */
const likelihoods = (text: string, alternatives: number): JsonObject => {
  const chosenCandidates = words(text).map((token) => ({ token, tokenId: 7, logProbability: -0.01 }))
  const others = Array.from({ length: alternatives }, (_, at) => ({ token: `other${at}`, logProbability: -5 - at }))
  const topCandidates = chosenCandidates.map((first) => ({ candidates: [first, ...others].slice(0, alternatives) }))
  return { chosenCandidates, ...(alternatives > 0 && { topCandidates }) }
}

const repliesOf = (plan: Plan, asked: ReturnType<typeof readGemini>, model: GeminiModel, seed: string) => {
  const { turn, promptTokens, cached, alternatives, showsThinking } = asked
  const shell = { modelVersion: model.base, createTime: new Date().toISOString(), responseId: seed.slice(0, 22) }
  if (turn.directives.flags.has("filter-prompt")) {
    const usageMetadata = { promptTokenCount: promptTokens, totalTokenCount: promptTokens, trafficType }
    const blocked = { promptFeedback, usageMetadata, ...shell }
    return { whole: blocked, streamed: () => [blocked] }
  }
  const parts = partsOf(plan, turn.thinks, showsThinking, (what) => signThinking(signed(model, what), seed))
  const broken = plan.calls.some(({ json }) => parseObject(json) === undefined)
  const reason = reasons[plan.stop]
  const finishReason = reason === "STOP" && broken ? "MALFORMED_FUNCTION_CALL" : reason
  const visible = plan.outputTokens - plan.thinkingTokens
  const usage = {
    promptTokenCount: promptTokens,
    ...(visible > 0 && { candidatesTokenCount: visible }),
    ...(plan.thinkingTokens > 0 && { thoughtsTokenCount: plan.thinkingTokens }),
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    totalTokenCount: promptTokens + plan.outputTokens,
    trafficType
  }
  const reply = (candidate: JsonObject, usageMetadata: JsonObject) => {
    return { candidates: [{ index: 0, ...candidate }], usageMetadata, ...shell }
  }
  const content = (...parts: ReadonlyArray<JsonObject>) => ({ content: { role: "model", parts } })
  const ended = (...parts: ReadonlyArray<JsonObject>) =>
    reason === "SAFETY" ? { finishReason } : { ...content(...parts), finishReason }
  const likely = alternatives !== undefined && { logprobsResult: likelihoods(plan.text, alternatives) }
  return {
    whole: reply({ ...ended(...parts), ...likely }, usage),
    streamed: () => [
      ...parts.flatMap(piecesOf).map((piece) => reply(content(piece), { trafficType })),
      reply(ended({ text: "" }), usage)
    ]
  }
}

const event = (data: JsonObject): string => `data: ${jsonText(data)}\r\n\r\n`

/** Answers a Gemini request on Vertex AI: `generateContent`, `streamGenerateContent`. Throws a `Refusal`. */
export const playGemini = (request: CloudRequest, body: JsonObject, model: GeminiModel, method: string): Answer => {
  const asked = readGemini(body, model)
  const { directives } = asked.turn
  const streams = method === "streamGenerateContent"
  const message = `Method ${method} not found.`
  if (!streams && method !== "generateContent") throw new Refusal({ status: 404, message })
  const unlikely = !streams || asked.alternatives === undefined
  insist({ "Unable to submit request because Logprobs is not supported for streaming.": unlikely })

  const { whole, streamed } = repliesOf(planOf(asked.turn), asked, model, request.seed)
  const stream = () => ({
    frames: streamed().map(event),
    headers: { "content-type": "text/event-stream" },
    garbage: "data: {not json\r\n\r\n",
    error: ({ status, message }: Failure) => event(googleError(status, message))
  })
  // Without `alt=sse` the replies of a stream are one array.
  const sent = () => jsonReply(200, streams ? streamed() : whole)
  return { directives, stream: streams && request.query.get("alt") === "sse" && stream, whole: sent }
}
