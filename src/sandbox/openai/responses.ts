import { type Plan, planOf } from "../answer.ts"
import { detour, exceptionMessage, exceptionStatus, streamed, unstreamed } from "../faults.ts"
import { type CloudRequest, type Frame, jsonReply, type Reply } from "../http.ts"
import { isObject, type JsonObject, objectOf, parseJson, stringOf } from "../json.ts"
import type { GptModel } from "../models.ts"
import { digest, signThinking } from "../signature.ts"
import { fragments } from "../tokens.ts"
import { unknownModel } from "./chat.ts"
import { ENCRYPTED } from "./responsesInput.ts"
import { type ResponsesRequest, readResponses } from "./responsesRequest.ts"
import {
  failedReply,
  filteredReply,
  filterResults,
  logprob,
  openaiError,
  type Platform,
  refusedReply
} from "./shared.ts"

type Item = JsonObject & { readonly id: string; readonly type: string }

const incompleteReason = (plan: Plan): string | undefined =>
  plan.stop === "length" ? "max_output_tokens" : plan.stop === "refusal" ? "content_filter" : undefined

const textPart = (text: ReadonlyArray<string>, likely: boolean): JsonObject => ({
  type: "output_text",
  annotations: [],
  logprobs: likely ? text.map(logprob) : [],
  text: text.join("")
})

const summaryPart = (plan: Plan): JsonObject => ({ type: "summary_text", text: plan.thinking.join("") })

const argumentsOf = ({ json }: Plan["calls"][number]): JsonObject => objectOf(parseJson(json))

const itemsOf = (plan: Plan, request: ResponsesRequest, seed: string): ReadonlyArray<Item> => {
  const id = (prefix: string, index: number) => `${prefix}_${digest(seed, prefix, String(index)).slice(0, 48)}`
  const status = incompleteReason(plan) === undefined ? "completed" : "incomplete"
  return [
    ...(plan.thinking.length === 0
      ? []
      : [
          {
            id: id("rs", 0),
            type: "reasoning",
            summary: request.summary ? [summaryPart(plan)] : [],
            ...(request.encrypted ? { encrypted_content: signThinking(ENCRYPTED, seed) } : {})
          }
        ]),
    ...(plan.text.length === 0
      ? []
      : [
          {
            id: id("msg", 0),
            type: "message",
            status,
            role: "assistant",
            content: [textPart(plan.text, request.logprobs)]
          }
        ]),
    ...plan.calls.map((call, index) => {
      const callId = `call_${digest(seed, "call", String(index)).slice(0, 24)}`
      const { type, namespace } = request.kinds.get(call.name) ?? { type: "function", namespace: undefined }
      const named = { name: call.name, ...(namespace === undefined ? {} : { namespace }) }
      switch (type) {
        case "custom":
          return { id: id("ctc", index), type: "custom_tool_call", status, call_id: callId, ...named, input: call.json }
        case "local_shell":
          return { id: id("lsh", index), type: "local_shell_call", status, call_id: callId, action: argumentsOf(call) }
        case "shell":
          return { id: id("sh", index), type: "shell_call", status, call_id: callId, action: argumentsOf(call) }
        case "apply_patch":
          return {
            id: id("apc", index),
            type: "apply_patch_call",
            status,
            call_id: callId,
            operation: argumentsOf(call)
          }
        default:
          return { id: id("fc", index), type: "function_call", status, call_id: callId, ...named, arguments: call.json }
      }
    })
  ]
}

const responseOf = (
  body: JsonObject,
  request: ResponsesRequest,
  model: GptModel,
  seed: string,
  platform: Platform
): JsonObject => ({
  id: `resp_${seed.slice(0, 48)}`,
  object: "response",
  created_at: Math.floor(Date.now() / 1000),
  status: "in_progress",
  background: false,
  error: null,
  incomplete_details: null,
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  metadata: body.metadata ?? {},
  model: platform === "azure" ? `${model.base}-2025-11-13` : stringOf(body.model),
  output: [],
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  previous_response_id: null,
  reasoning: { effort: request.effort, summary: objectOf(body.reasoning).summary ?? null },
  store: body.store ?? true,
  temperature: body.temperature ?? 1,
  text: body.text ?? { format: { type: "text" } },
  tool_choice: body.tool_choice ?? "auto",
  tools: body.tools ?? [],
  top_p: body.top_p ?? 1,
  truncation: body.truncation ?? "disabled",
  usage: null,
  user: null
})

const finished = (
  start: JsonObject,
  plan: Plan,
  request: ResponsesRequest,
  items: ReadonlyArray<Item>,
  platform: Platform
): JsonObject => {
  const reason = incompleteReason(plan)
  return {
    ...start,
    status: reason === undefined ? "completed" : "incomplete",
    incomplete_details: reason === undefined ? null : { reason },
    output: items,
    ...(platform === "azure"
      ? {
          content_filters: [
            { blocked: reason === "content_filter", source_type: "completion", content_filter_results: filterResults() }
          ]
        }
      : {}),
    usage: {
      input_tokens: request.inputTokens,
      input_tokens_details: {
        cached_tokens: Math.min(request.turn.directives.cached, request.inputTokens),
        cache_write_tokens: 0
      },
      output_tokens: plan.outputTokens,
      output_tokens_details: { reasoning_tokens: plan.thinkingTokens },
      total_tokens: request.inputTokens + plan.outputTokens
    }
  }
}

interface Event {
  readonly data: JsonObject & { readonly type: string }
  readonly word?: boolean
}

const itemEvents = (item: Item, index: number, plan: Plan, likely: boolean): ReadonlyArray<Event> => {
  const at = { item_id: item.id, output_index: index }
  const added = (open: JsonObject): Event => ({
    data: { type: "response.output_item.added", output_index: index, item: { ...item, ...open } }
  })
  const done: Event = { data: { type: "response.output_item.done", output_index: index, item } }
  switch (item.type) {
    case "reasoning": {
      const part = { ...at, summary_index: 0 }
      const shown = Array.isArray(item.summary) && item.summary.length > 0
      const summary: ReadonlyArray<Event> = [
        { data: { type: "response.reasoning_summary_part.added", ...part, part: { type: "summary_text", text: "" } } },
        ...plan.thinking.map((delta) => ({
          data: { type: "response.reasoning_summary_text.delta", ...part, delta },
          word: true
        })),
        { data: { type: "response.reasoning_summary_text.done", ...part, text: plan.thinking.join("") } },
        { data: { type: "response.reasoning_summary_part.done", ...part, part: summaryPart(plan) } }
      ]
      return [added({ summary: [] }), ...(shown ? summary : []), done]
    }
    case "message": {
      const part = { ...at, content_index: 0 }
      const text = plan.text.join("")
      return [
        added({ status: "in_progress", content: [] }),
        { data: { type: "response.content_part.added", ...part, part: textPart([], false) } },
        ...plan.text.map((delta) => ({
          data: { type: "response.output_text.delta", ...part, delta, logprobs: likely ? [logprob(delta)] : [] },
          word: true
        })),
        { data: { type: "response.output_text.done", ...part, text, logprobs: likely ? plan.text.map(logprob) : [] } },
        { data: { type: "response.content_part.done", ...part, part: textPart(plan.text, likely) } },
        done
      ]
    }
    case "local_shell_call":
    case "shell_call":
    case "apply_patch_call":
      return [added({ status: "in_progress" }), done]
    default: {
      const field = item.type === "function_call" ? "arguments" : "input"
      const name =
        item.type === "function_call" ? "response.function_call_arguments" : "response.custom_tool_call_input"
      const value = stringOf(item[field])
      return [
        added({ status: "in_progress", [field]: "" }),
        ...fragments(value).map((delta) => ({ data: { type: `${name}.delta`, ...at, delta }, word: true })),
        {
          data: {
            type: `${name}.done`,
            ...at,
            ...(field === "arguments" ? { name: item.name ?? "" } : {}),
            [field]: value
          }
        },
        done
      ]
    }
  }
}

const sse = (data: JsonObject): string => `event: ${stringOf(data.type)}\ndata: ${JSON.stringify(data)}\n\n`

/** Answers a Responses request. `find` knows the models; an unknown one gets the cloud's own 404. */
export const answerResponses = (
  request: CloudRequest,
  find: (id: string) => GptModel | undefined,
  platform: Platform
): Reply => {
  const body = parseJson(request.body.toString())
  if (!isObject(body)) return jsonReply(400, openaiError(400, "We could not parse the JSON body of your request."))
  const model = find(stringOf(body.model))
  if (model === undefined) return unknownModel(platform, stringOf(body.model))
  try {
    const read = readResponses(body, model)
    const { directives } = read.turn
    if (directives.status !== undefined) {
      return { ...failedReply(platform, directives.status.code, directives.status.retryAfter), delay: directives.delay }
    }
    if (directives.flags.has("filter-prompt")) return { ...filteredReply(), delay: directives.delay }
    const other = detour(directives)
    if (other !== undefined) return other
    const seed = digest(request.path, request.body)
    const plan = planOf(read.turn)
    const start = responseOf(body, read, model, seed, platform)
    const items = itemsOf(plan, read, seed)
    const end = finished(start, plan, read, items, platform)
    if (read.stream) {
      const events: ReadonlyArray<Event> = [
        { data: { type: "response.created", response: start } },
        { data: { type: "response.in_progress", response: start } },
        ...items.flatMap((item, index) => itemEvents(item, index, plan, read.logprobs)),
        { data: { type: `response.${stringOf(end.status)}`, response: end } }
      ]
      const frames = events.map(
        ({ data, word }, index): Frame => ({
          bytes: sse({ ...data, sequence_number: index }),
          word: word === true,
          terminal: index === events.length - 1
        })
      )
      return streamed(frames, directives, {
        headers: { "content-type": "text/event-stream; charset=utf-8" },
        garbage: "event: response.output_text.delta\ndata: {not json\n\n",
        error: (name, at) =>
          name === "failed"
            ? sse({
                type: "response.failed",
                sequence_number: at,
                response: {
                  ...start,
                  status: "failed",
                  error: { code: "server_error", message: exceptionMessage(name) }
                }
              })
            : sse({
                type: "error",
                sequence_number: at,
                code: exceptionStatus[name] === 429 ? "rate_limit_exceeded" : "server_error",
                message: exceptionMessage(name),
                param: null
              })
      })
    }
    const { exception } = directives
    if (exception !== undefined) return failedReply(platform, exceptionStatus[exception.name] ?? 500)
    return unstreamed(jsonReply(200, end), directives)
  } catch (error) {
    return refusedReply(error)
  }
}
