/** How GPT answers by chat completions: whole and streamed. */
import { type Plan, planOf } from "../answer.ts"
import type { Answer, Failure } from "../faults.ts"
import { type Frame, jsonReply } from "../http.ts"
import type { JsonObject } from "../json.ts"
import { digest } from "../signature.ts"
import { fragments, words } from "../tokens.ts"
import { readChat } from "./chatRequest.ts"
import { type Asked, eventStream, filterResults, logprob, openaiError } from "./serve.ts"

const reasons = { end: "stop", sequence: "stop", tool: "tool_calls", length: "length", refusal: "content_filter" }
const made = { service_tier: "default", system_fingerprint: "fp_sandbox" }
const prompt_filter_results = [{ prompt_index: 0, content_filter_results: filterResults }]

/** The text in pieces. Open-weight models put their reasoning before it, in tags that a stream may split. */
const piecesOf = ({ thinking, text, calls, stop }: Plan, inline: boolean): ReadonlyArray<string> => {
  if (!inline || thinking === "") return words(text)
  const closed = text !== "" || calls.length > 0 || stop !== "length"
  return ["<reas", "oning>", ...words(thinking), ...(closed ? ["</reason", "ing>"] : []), ...words(text)]
}

/** Answers a chat completion request. */
export const playChat = ({ body, model, name, azure, seed }: Asked): Answer => {
  const { turn, promptTokens, cached, logprobs, includeUsage } = readChat(body, model, azure)
  const plan = planOf(turn)
  const { inlineReasoning: inline } = model
  const content = piecesOf(plan, inline)
  const calls = plan.calls.map((call, index) => ({
    // Open-weight models number their calls, so that the numbers come back in every turn.
    id: inline ? `call_${index}` : `call_${digest(seed, String(index)).slice(0, 24)}`,
    type: "function",
    function: { name: call.name, arguments: call.json }
  }))
  const finish = reasons[plan.stop]
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: plan.outputTokens,
    total_tokens: promptTokens + plan.outputTokens,
    prompt_tokens_details: { cached_tokens: cached },
    ...(inline ? {} : { completion_tokens_details: { reasoning_tokens: plan.thinkingTokens } })
  }
  const id = `chatcmpl-${seed.slice(0, 29)}`
  const created = Math.floor(Date.now() / 1000)
  const likely = (pieces: ReadonlyArray<string>) => (logprobs ? { content: pieces.map(logprob), refusal: null } : null)

  const whole = () => {
    const said = { role: "assistant", content: content.join("") || null, refusal: null, annotations: [] }
    const choice = {
      index: 0,
      message: { ...said, ...(calls.length > 0 && { tool_calls: calls }) },
      logprobs: likely(content),
      finish_reason: finish,
      ...(azure && { content_filter_results: filterResults })
    }
    const filtered = azure && { prompt_filter_results }
    const shell = { id, object: "chat.completion", created, model: name, ...made }
    return jsonReply(200, { ...shell, choices: [choice], ...filtered, usage })
  }

  const end = azure ? "\n\n" : "\r\n\r\n"
  const frame = (data: JsonObject, word = false): Frame => ({ bytes: `data: ${JSON.stringify(data)}${end}`, word })
  const shell = { id, object: "chat.completion.chunk", created, model: name, ...made }
  const chunk = (delta: JsonObject, more: JsonObject = {}, word = false): Frame => {
    const choice = { index: 0, delta, logprobs: null, finish_reason: null, ...more }
    return frame({ ...shell, choices: [choice], ...(includeUsage && { usage: null }) }, word)
  }
  // What Azure's filter says comes in events without a name: of the prompt first, and of the text after the end.
  const filter = (more: JsonObject): ReadonlyArray<Frame> =>
    azure ? [frame({ id: "", object: "", created: 0, model: "", choices: [], ...more })] : []
  const offsets = { check_offset: 0, start_offset: 0, end_offset: 0 }
  const passed = { content_filter_results: filterResults, content_filter_offsets: offsets }
  const stream = () => ({
    headers: eventStream,
    frames: [
      ...filter({ prompt_filter_results }),
      chunk({ role: "assistant", content: "" }),
      ...content.map((piece) => chunk({ content: piece }, { logprobs: likely([piece]) }, true)),
      ...calls.flatMap((call, index) => [
        chunk({ tool_calls: [{ index, ...call, function: { ...call.function, arguments: "" } }] }),
        ...fragments(call.function.arguments).map((piece) =>
          chunk({ tool_calls: [{ index, function: { arguments: piece } }] }, {}, true)
        )
      ]),
      chunk({}, { finish_reason: finish }),
      ...filter({ choices: [{ index: 0, finish_reason: null, ...passed }] }),
      ...(includeUsage ? [frame({ ...shell, choices: [], usage })] : []),
      { bytes: `data: [DONE]${end}`, terminal: true }
    ],
    garbage: "data: {not json\n\n",
    error: ({ status, message }: Failure) => `data: ${JSON.stringify(openaiError(status, message))}\n\n`
  })
  return { directives: turn.directives, whole, stream: body.stream === true && stream }
}
