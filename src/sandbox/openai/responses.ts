/** How GPT answers by the Responses API: items, whole and streamed. */
import { type Plan, planOf } from "../answer.ts"
import { exceptionMessage, exceptionStatus } from "../faults.ts"
import { type CloudRequest, type Frame, jsonReply, type Reply } from "../http.ts"
import { type JsonObject, objectOf, parseJson, stringOf } from "../json.ts"
import { digest, signThinking } from "../signature.ts"
import { fragments } from "../tokens.ts"
import { ENCRYPTED } from "./responsesInput.ts"
import { type ResponsesRequest, readResponses } from "./responsesRequest.ts"
import { type Place, serve } from "./serve.ts"
import { filterResults, logprob, type Platform } from "./shared.ts"

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

const responseOf = (body: JsonObject, request: ResponsesRequest, model: string, seed: string): JsonObject => ({
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
  model,
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

const failure = (name: string, sequence_number: number, start: JsonObject): JsonObject => {
  const message = exceptionMessage(name)
  if (name !== "failed") {
    const code = exceptionStatus[name] === 429 ? "rate_limit_exceeded" : "server_error"
    return { type: "error", sequence_number, code, message, param: null }
  }
  const response = { ...start, status: "failed", error: { code: "server_error", message } }
  return { type: "response.failed", sequence_number, response }
}

/** Answers a Responses request. */
export const answerResponses = (request: CloudRequest, place: Place): Reply =>
  serve(request, place, ({ body, model, name, platform, seed }) => {
    const read = readResponses(body, model)
    const plan = planOf(read.turn)
    const start = responseOf(body, read, name, seed)
    const items = itemsOf(plan, read, seed)
    const end = finished(start, plan, read, items, platform)
    const stream = () => {
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
      return {
        frames,
        headers: { "content-type": "text/event-stream; charset=utf-8" },
        garbage: "event: response.output_text.delta\ndata: {not json\n\n",
        error: (name: string, at: number) => sse(failure(name, at, start))
      }
    }
    return {
      directives: read.turn.directives,
      stream: read.stream ? stream : undefined,
      whole: () => jsonReply(200, end)
    }
  })
