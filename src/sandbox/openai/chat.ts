/** How GPT answers by chat completions: whole and streamed. */
import { type Plan, planOf } from "../answer.ts"
import { exceptionMessage, exceptionStatus } from "../faults.ts"
import { type CloudRequest, type Frame, jsonReply, type Reply } from "../http.ts"
import type { JsonObject } from "../json.ts"
import type { GptModel } from "../models.ts"
import { digest } from "../signature.ts"
import { fragments } from "../tokens.ts"
import { type ChatRequest, readChat } from "./chatRequest.ts"
import { type Place, serve } from "./serve.ts"
import { filterResults, logprob, openaiError, type Platform } from "./shared.ts"

/** Open-weight models put their reasoning before the text, in tags that a stream may split. */
const contentOf = (plan: Plan, model: GptModel): ReadonlyArray<string> => {
  if (!model.inlineReasoning || plan.thinking.length === 0) return plan.text
  const closed = plan.text.length > 0 || plan.calls.length > 0 || plan.stop !== "length"
  return ["<reas", "oning>", ...plan.thinking, ...(closed ? ["</reason", "ing>"] : []), ...plan.text]
}

const finishOf = (plan: Plan): string => {
  if (plan.stop === "tool") return "tool_calls"
  if (plan.stop === "length") return "length"
  return plan.stop === "refusal" ? "content_filter" : "stop"
}

const usageOf = (plan: Plan, request: ChatRequest, model: GptModel): JsonObject => ({
  prompt_tokens: request.promptTokens,
  completion_tokens: plan.outputTokens,
  total_tokens: request.promptTokens + plan.outputTokens,
  prompt_tokens_details: { cached_tokens: Math.min(request.turn.directives.cached, request.promptTokens) },
  ...(model.inlineReasoning ? {} : { completion_tokens_details: { reasoning_tokens: plan.thinkingTokens } })
})

const toolCalls = (plan: Plan, model: GptModel, seed: string) =>
  plan.calls.map((call, index) => ({
    // Open-weight models number their calls, so that the numbers come back in every turn.
    id: model.inlineReasoning ? `call_${index}` : `call_${digest(seed, String(index)).slice(0, 24)}`,
    type: "function",
    function: { name: call.name, arguments: call.json }
  }))

const fingerprint = "fp_sandbox"

interface Identity {
  readonly id: string
  readonly created: number
  readonly model: string
  readonly seed: string
}

const completion = (
  plan: Plan,
  request: ChatRequest,
  model: GptModel,
  identity: Identity,
  platform: Platform
): JsonObject => {
  const calls = toolCalls(plan, model, identity.seed)
  const content = contentOf(plan, model).join("")
  const { id, created, model: name } = identity
  const azure = platform === "azure"
  return {
    id,
    object: "chat.completion",
    created,
    model: name,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: content === "" ? null : content,
          refusal: null,
          annotations: [],
          ...(calls.length > 0 ? { tool_calls: calls } : {})
        },
        logprobs: request.logprobs ? { content: contentOf(plan, model).map(logprob), refusal: null } : null,
        finish_reason: finishOf(plan),
        ...(azure ? { content_filter_results: filterResults() } : {})
      }
    ],
    ...(azure ? { prompt_filter_results: [{ prompt_index: 0, content_filter_results: filterResults() }] } : {}),
    service_tier: "default",
    system_fingerprint: fingerprint,
    usage: usageOf(plan, request, model)
  }
}

const framesOf = (
  plan: Plan,
  request: ChatRequest,
  model: GptModel,
  identity: Identity,
  platform: Platform
): ReadonlyArray<Frame> => {
  const { id, created, model: name } = identity
  const end = platform === "bedrock" ? "\r\n\r\n" : "\n\n"
  const usage = request.includeUsage ? { usage: null } : {}
  const frame = (data: JsonObject, word = false): Frame => ({ bytes: `data: ${JSON.stringify(data)}${end}`, word })
  const shell = {
    id,
    object: "chat.completion.chunk",
    created,
    model: name,
    service_tier: "default",
    system_fingerprint: fingerprint
  }
  const choice = (delta: JsonObject, finish: string | null = null, word = false): Frame => {
    const likely =
      word && request.logprobs && typeof delta.content === "string"
        ? { content: [logprob(delta.content)], refusal: null }
        : null
    return frame({ ...shell, choices: [{ index: 0, delta, logprobs: likely, finish_reason: finish }], ...usage }, word)
  }
  const empty = { id: "", object: "", created: 0, model: "" }
  const azure = platform === "azure"
  return [
    ...(azure
      ? [
          frame({
            ...empty,
            choices: [],
            prompt_filter_results: [{ prompt_index: 0, content_filter_results: filterResults() }]
          })
        ]
      : []),
    choice({ role: "assistant", content: "" }),
    ...contentOf(plan, model).map((content) => choice({ content }, null, true)),
    ...toolCalls(plan, model, identity.seed).flatMap((call, index) => [
      choice({ tool_calls: [{ index, ...call, function: { ...call.function, arguments: "" } }] }),
      ...fragments(call.function.arguments).map((piece) =>
        choice({ tool_calls: [{ index, function: { arguments: piece } }] }, null, true)
      )
    ]),
    choice({}, finishOf(plan)),
    // The asynchronous filter reports after the end, in a choice without a delta.
    ...(azure
      ? [
          frame({
            ...empty,
            choices: [
              {
                index: 0,
                finish_reason: null,
                content_filter_results: filterResults(),
                content_filter_offsets: { check_offset: 0, start_offset: 0, end_offset: 0 }
              }
            ]
          })
        ]
      : []),
    ...(request.includeUsage ? [frame({ ...shell, choices: [], usage: usageOf(plan, request, model) })] : []),
    { bytes: `data: [DONE]${end}`, terminal: true }
  ]
}

/** Answers a chat completion request. */
export const answerChat = (request: CloudRequest, place: Place): Reply =>
  serve(request, place, ({ body, model, name, platform, seed }) => {
    const read = readChat(body, model, platform)
    const plan = planOf(read.turn)
    const created = Math.floor(Date.now() / 1000)
    const identity = { id: `chatcmpl-${seed.slice(0, 29)}`, created, model: name, seed }
    const stream = () => ({
      frames: framesOf(plan, read, model, identity, platform),
      headers: { "content-type": "text/event-stream; charset=utf-8" },
      garbage: "data: {not json\n\n",
      error: (exception: string) =>
        `data: ${JSON.stringify(openaiError(exceptionStatus[exception] ?? 500, exceptionMessage(exception)))}\n\n`
    })
    return {
      directives: read.turn.directives,
      stream: read.stream ? stream : undefined,
      whole: () => jsonReply(200, completion(plan, read, model, identity, platform))
    }
  })
