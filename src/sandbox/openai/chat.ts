import { type Plan, planOf } from "../answer.ts"
import { detour, exceptionMessage, exceptionStatus, streamed, unstreamed } from "../faults.ts"
import { type CloudRequest, type Frame, jsonReply, type Reply } from "../http.ts"
import { isObject, type JsonObject, parseJson, stringOf } from "../json.ts"
import type { GptModel } from "../models.ts"
import { digest } from "../signature.ts"
import { fragments } from "../tokens.ts"
import { type ChatRequest, readChat } from "./chatRequest.ts"
import {
  failedReply,
  filteredReply,
  filterResults,
  logprob,
  openaiError,
  type Platform,
  refusedReply
} from "./shared.ts"

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

/** Answers a chat completion request. `find` knows the models; an unknown one gets the cloud's own 404. */
export const answerChat = (
  request: CloudRequest,
  find: (id: string) => GptModel | undefined,
  platform: Platform,
  deployment?: string
): Reply => {
  const body = parseJson(request.body.toString())
  if (!isObject(body)) return jsonReply(400, openaiError(400, "We could not parse the JSON body of your request."))
  const name = deployment ?? stringOf(body.model)
  const model = find(name)
  if (model === undefined) return unknownModel(platform, name)
  try {
    const read = readChat(body, model, platform)
    const { directives } = read.turn
    if (directives.status !== undefined) {
      return { ...failedReply(platform, directives.status.code, directives.status.retryAfter), delay: directives.delay }
    }
    if (directives.flags.has("filter-prompt")) return { ...filteredReply(), delay: directives.delay }
    const other = detour(directives)
    if (other !== undefined) return other
    const seed = digest(request.path, request.body)
    const identity = {
      id: `chatcmpl-${seed.slice(0, 29)}`,
      created: Math.floor(Date.now() / 1000),
      model: platform === "azure" ? `${model.base}-2025-11-13` : name,
      seed
    }
    const plan = planOf(read.turn)
    if (read.stream) {
      return streamed(framesOf(plan, read, model, identity, platform), directives, {
        headers: { "content-type": "text/event-stream; charset=utf-8" },
        garbage: "data: {not json\n\n",
        error: (exception) =>
          `data: ${JSON.stringify(openaiError(exceptionStatus[exception] ?? 500, exceptionMessage(exception)))}\n\n`
      })
    }
    const { exception } = directives
    if (exception !== undefined) return failedReply(platform, exceptionStatus[exception.name] ?? 500)
    return unstreamed(jsonReply(200, completion(plan, read, model, identity, platform)), directives)
  } catch (error) {
    return refusedReply(error)
  }
}

/** The 404 for a model or deployment that does not exist. */
export const unknownModel = (platform: Platform, name: string): Reply =>
  platform === "azure"
    ? jsonReply(404, {
        error: {
          code: "DeploymentNotFound",
          message:
            "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."
        }
      })
    : jsonReply(404, openaiError(404, `The model '${name}' does not exist`, "model_not_found", "model"))
