/** How GPT answers by chat completions: whole and streamed. */
import { planOf } from "../answer.ts"
import type { CloudRequest, Frame, Reply } from "../http.ts"
import type { JsonObject } from "../json.ts"
import { digest } from "../signature.ts"
import { fragments } from "../tokens.ts"
import { type ChatRequest, readChat } from "./chatRequest.ts"
import { type Asked, filterResults, logprob, openaiError, type Place, serve } from "./serve.ts"

const reasons = { end: "stop", tool: "tool_calls", length: "length", refusal: "content_filter" }

/** What is said to a request, and what names it. */
const speak = (request: ChatRequest, { model, name, platform, seed }: Asked) => {
  const plan = planOf(request.turn)
  const { promptTokens, cached } = request
  const { inlineReasoning: inline } = model
  const closed = plan.text.length > 0 || plan.calls.length > 0 || plan.stop !== "length"
  const thoughts = ["<reas", "oning>", ...plan.thinking, ...(closed ? ["</reason", "ing>"] : [])]
  return {
    request,
    // Open-weight models put their reasoning before the text, in tags that a stream may split.
    content: inline && plan.thinking.length > 0 ? [...thoughts, ...plan.text] : plan.text,
    calls: plan.calls.map((call, index) => ({
      // Open-weight models number their calls, so that the numbers come back in every turn.
      id: inline ? `call_${index}` : `call_${digest(seed, String(index)).slice(0, 24)}`,
      type: "function",
      function: { name: call.name, arguments: call.json }
    })),
    finish: typeof plan.stop === "string" ? reasons[plan.stop] : "stop",
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: plan.outputTokens,
      total_tokens: promptTokens + plan.outputTokens,
      prompt_tokens_details: { cached_tokens: cached },
      ...(inline ? {} : { completion_tokens_details: { reasoning_tokens: plan.thinkingTokens } })
    },
    azure: platform === "azure",
    identity: { id: `chatcmpl-${seed.slice(0, 29)}`, created: Math.floor(Date.now() / 1000), model: name }
  }
}

type Spoken = ReturnType<typeof speak>

const made = { service_tier: "default", system_fingerprint: "fp_sandbox" }
const promptResults = () => [{ prompt_index: 0, content_filter_results: filterResults() }]

const completion = ({ request, content, calls, finish, usage, azure, identity }: Spoken): JsonObject => {
  const message = {
    role: "assistant",
    content: content.join("") || null,
    refusal: null,
    annotations: [],
    ...(calls.length > 0 && { tool_calls: calls })
  }
  const choice = {
    index: 0,
    message,
    logprobs: request.logprobs ? { content: content.map(logprob), refusal: null } : null,
    finish_reason: finish,
    ...(azure && { content_filter_results: filterResults() })
  }
  const { id, created, model } = identity
  const filtered = azure ? { prompt_filter_results: promptResults() } : {}
  return { id, object: "chat.completion", created, model, choices: [choice], ...filtered, ...made, usage }
}

const framesOf = ({ request, content, calls, finish, usage, azure, identity }: Spoken): ReadonlyArray<Frame> => {
  const end = azure ? "\n\n" : "\r\n\r\n"
  const frame = (data: JsonObject, word = false): Frame => ({ bytes: `data: ${JSON.stringify(data)}${end}`, word })
  const { id, created, model } = identity
  const shell = { id, object: "chat.completion.chunk", created, model, ...made }
  const choice = (delta: JsonObject, word = false, finish_reason: string | null = null): Frame => {
    const likely = word && request.logprobs && typeof delta.content === "string"
    const logprobs = likely ? { content: [logprob(String(delta.content))], refusal: null } : null
    const choices = [{ index: 0, delta, logprobs, finish_reason }]
    return frame({ ...shell, choices, ...(request.includeUsage && { usage: null }) }, word)
  }
  const empty = { id: "", object: "", created: 0, model: "" }
  const offsets = { check_offset: 0, start_offset: 0, end_offset: 0 }
  const filtered = {
    index: 0,
    finish_reason: null,
    content_filter_results: filterResults(),
    content_filter_offsets: offsets
  }
  return [
    ...(azure ? [frame({ ...empty, choices: [], prompt_filter_results: promptResults() })] : []),
    choice({ role: "assistant", content: "" }),
    ...content.map((content) => choice({ content }, true)),
    ...calls.flatMap((call, index) => [
      choice({ tool_calls: [{ index, ...call, function: { ...call.function, arguments: "" } }] }),
      ...fragments(call.function.arguments).map((piece) =>
        choice({ tool_calls: [{ index, function: { arguments: piece } }] }, true)
      )
    ]),
    choice({}, false, finish),
    // The asynchronous filter reports after the end, in a choice without a delta.
    ...(azure ? [frame({ ...empty, choices: [filtered] })] : []),
    ...(request.includeUsage ? [frame({ ...shell, choices: [], usage })] : []),
    { bytes: `data: [DONE]${end}`, terminal: true }
  ]
}

/** Answers a chat completion request. */
export const answerChat = (request: CloudRequest, place: Place): Reply =>
  serve(request, place, (asked) => {
    const read = readChat(asked.body, asked.model, asked.platform)
    const spoken = speak(read, asked)
    return {
      directives: read.turn.directives,
      whole: () => completion(spoken),
      stream: () => ({
        frames: framesOf(spoken),
        garbage: "data: {not json\n\n",
        error: ({ status, message }) => `data: ${JSON.stringify(openaiError(status, message))}\n\n`
      })
    }
  })
