/** Chat completions: the checks of a request, and GPT's reply, whole and streamed. */
import { type Plan, planOf } from "../answer.ts"
import type { Answer, Failure } from "../faults.ts"
import { eventStream, jsonReply } from "../http.ts"
import { arrayOf, type Json, type JsonObject, objectOf, stringOf } from "../json.ts"
import type { GptModel } from "../models.ts"
import { anything, type Shape } from "../shape.ts"
import { digest } from "../signature.ts"
import { fragments, words } from "../tokens.ts"
import { type Message, type Part, readTurn, textIn } from "../turn.ts"
import { checkStrict } from "./schemas.ts"
import * as shared from "./shared.ts"

const { closed, filled, insist, list, never, text, variant, where } = shared
const { filterResults, openaiError } = shared

const called = closed("", { "name!": text, "arguments!": text })
const callId = shared.textUpTo(40)
const call = closed("type", { "id!": callId, "function!": called }, ({ id, function: made }) => ({
  call: { id, name: made.name, json: made.arguments }
}))

const required = (content: ReadonlyArray<Part> | undefined, path: string) => {
  insist({ "Invalid value for 'content': expected a string, got null.": content !== undefined }, `${path}.content`)
  return content ?? []
}

const messagesOf = (model: GptModel): Shape<ReadonlyArray<Message>> => {
  const file = never("Invalid value: 'file'. This model does not support file content types.")
  const plain = { text: shared.textPart, file }
  const image_url: Shape<Part> = (part, path) => shared.imageOf(model, objectOf(objectOf(part).image_url).url, path)
  const message = (role: Message["role"], types: Readonly<Record<string, Shape<Part>>>): Shape<Message> => {
    const fields = { name: shared.name, content: shared.contentOf(types) }
    return closed("role", fields, ({ content }, path) => ({ role, parts: required(content, path) }))
  }
  const answer = {
    name: shared.name,
    content: shared.contentOf({ ...plain, refusal: () => ({}) }),
    tool_calls: list(call)
  }
  const result = { name: shared.name, content: shared.contentOf(plain), tool_call_id: callId }
  const roles: Readonly<Record<string, Shape<Message>>> = {
    system: message("system", plain),
    developer: message("system", plain),
    user: message("user", { ...plain, image_url }),
    assistant: closed("role refusal annotations audio", answer, ({ content, tool_calls = [], refusal }, path) => {
      const silent = tool_calls.length > 0 || typeof refusal === "string" ? [] : undefined
      return { role: "assistant", parts: [...required(content ?? silent, path), ...tool_calls] }
    }),
    tool: closed("role", result, ({ content, tool_call_id: id = "" }, path) => ({
      role: "user",
      parts: [{ result: { id, content: textIn(required(content, path)) } }]
    }))
  }
  return filled(variant("role", roles))
}

/** Checks the messages together, as the cloud does: roles, and tool calls with their results. */
const checkMessages = (messages: ReadonlyArray<Message>, given: ReadonlyArray<Json>): void => {
  const mixed = ["system", "developer"].every((name) => given.some((one) => objectOf(one).role === name))
  insist({ "Messages with role 'system' and 'developer' cannot be mixed.": !mixed }, "messages")
  const open = new Set<string>()
  for (const [index, { parts }] of [...messages, { parts: [] }].entries()) {
    const answered = parts.flatMap(({ result }) => result?.id ?? [])
    const silent = answered.length === 0 ? [...open].join(", ") : ""
    const rules = {
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.":
        answered.every((id) => open.has(id)),
      [`An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${silent}`]:
        answered.length > 0 || open.size === 0
    }
    insist(rules, index < messages.length ? `messages[${index}].role` : "messages")
    for (const id of answered) open.delete(id)
    for (const { call } of parts) if (call !== undefined) open.add(call.id)
  }
}

const tool = closed("type", { "function!": shared.toolOf }, (tool) => tool.function)
const schema = closed("description schema strict", { "name!": shared.name }, ({ schema }) => objectOf(schema))
const noMaxTokens = never(`${shared.unsupported("max_tokens")} Use 'max_completion_tokens' instead.`)
const json_schema = closed("type", { "json_schema!": schema }, (format) => format.json_schema)

const requestOf = (model: GptModel, hosted: boolean) => {
  const { maxOutputTokens: most, inlineReasoning } = model
  const tooMany = (limit: number) =>
    `max_tokens is too large: ${limit}. This model supports at most ${most} completion tokens.`
  const limit = where(shared.tokens(1), (limit) => limit <= most, tooMany)
  return closed(
    "model stream stream_options seed tool_choice parallel_tool_calls metadata store modalities prediction prompt_cache_retention presence_penalty frequency_penalty " +
      "logprobs",
    {
      "messages!": messagesOf(model),
      n: where(anything, (n) => n === 1, hosted ? "The sandbox gives one choice." : shared.unsupported("n")),
      logit_bias: inlineReasoning ? never(shared.unsupported("logit_bias")) : anything,
      max_completion_tokens: limit,
      max_tokens: inlineReasoning ? limit : noMaxTokens,
      reasoning_effort: shared.effortOf(model),
      verbosity: shared.verbosity,
      service_tier: shared.tier,
      ...shared.sampling,
      ...shared.identifiers,
      stop: (stop) => (typeof stop === "string" ? [stop] : arrayOf(stop)),
      tools: filled(variant("type", { function: tool })),
      response_format: shared.formatOf(json_schema)
    }
  )
}

/** Checks a chat completion request as the cloud does. Throws a `Refusal`. */
const readChat = ({ body, model, hosted }: shared.GptRequest) => {
  const asked = requestOf(model, hosted)(body, "")
  const { messages, tools = [], stop: stops = [], tool_choice: choice = "auto" } = asked
  const { reasoning_effort: effort = model.defaultEffort, response_format: format } = asked
  const names = "temperature top_p presence_penalty frequency_penalty logprobs top_logprobs logit_bias stop"
  const tooled = `Function tools with reasoning_effort are not supported for ${model.id} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`
  const only = (name: string) => `Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`
  checkMessages(messages, arrayOf(body.messages))
  if (!model.inlineReasoning) checkStrict(body.tools, objectOf(body.response_format).json_schema, "response_format")
  shared.checkSampling(body, names, model, effort)
  insist({ [tooled]: !model.toolsByResponses || tools.length === 0 || effort === "none" }, "reasoning_effort")
  insist({
    "Invalid 'stop': array too long. Expected an array with maximum length 4.": stops.length <= 4,
    "The 'stream_options' parameter is only allowed when 'stream' is enabled.":
      asked.stream === true || asked.stream_options === undefined,
    [only("parallel_tool_calls")]: tools.length > 0 || asked.parallel_tool_calls === undefined,
    // Azure follows OpenAI's own API here.
    "The 'metadata' parameter is only allowed when 'store' is enabled.":
      !hosted || asked.store === true || asked.metadata === undefined,
    [only("tool_choice")]: tools.length > 0 || asked.tool_choice === undefined,
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.":
      format !== "json" || messages.some(({ parts }) => /json/i.test(textIn(parts)))
  })
  const simple = choice === "auto" || choice === "none" || choice === "required"
  const read = readTurn(messages, {
    model: model.id,
    instructions: "",
    tools,
    choice: simple ? choice : shared.chosen(stringOf(objectOf(objectOf(choice).function).name), tools),
    format,
    thinks: effort !== "none",
    limit: asked.max_completion_tokens ?? asked.max_tokens,
    stops: stops.filter((stop) => typeof stop === "string")
  })
  const { promptTokens: tokens } = read
  const most = model.contextWindow
  const exceeds = model.inlineReasoning
    ? `This model's maximum context length is ${most} tokens. However, your messages resulted in ${tokens} tokens.`
    : `Input tokens exceed the configured limit of ${most} tokens. Your messages resulted in ${tokens} tokens.`
  shared.checkLength(tokens, model, `${exceeds} Please reduce the length of the messages.`, "messages")
  return { ...read, likely: asked.logprobs === true, counts: objectOf(asked.stream_options).include_usage === true }
}

const reasons = { end: "stop", sequence: "stop", tool: "tool_calls", length: "length", refusal: "content_filter" }
const prompt_filter_results = [{ prompt_index: 0, content_filter_results: filterResults }]

/** The text in pieces. Open-weight models put their reasoning before it, in tags that a stream may split. */
const piecesOf = ({ thinking, text, calls, stop }: Plan, inline: boolean): ReadonlyArray<string> => {
  if (!inline || thinking === "") return words(text)
  const closed = text !== "" || calls.length > 0 || stop !== "length"
  return ["<reas", "oning>", ...words(thinking), ...(closed ? ["</reason", "ing>"] : []), ...words(text)]
}

/** Answers a chat completion request. Throws a `Refusal` where the cloud refuses it. */
export const playChat = (request: shared.GptRequest): Answer => {
  const { turn, promptTokens, cached, likely, counts } = readChat(request)
  const { model, seed, hosted } = request
  const { inlineReasoning: inline } = model
  const plan = planOf(turn)
  const content = piecesOf(plan, inline)
  const logprobsOf = (...pieces: ReadonlyArray<string>) => ({
    content: shared.logprobsOf(pieces, Number(request.body.top_logprobs ?? 0)),
    refusal: null
  })
  const finish_reason = reasons[plan.stop]
  const calls = plan.calls.map(({ name, json }, index) => ({
    // Open-weight models number their calls, so that the numbers come back in every turn.
    id: inline ? `call_${index}` : `call_${digest(seed, String(index)).slice(0, 24)}`,
    type: "function",
    function: { name, arguments: json }
  }))
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: plan.outputTokens,
    total_tokens: promptTokens + plan.outputTokens,
    prompt_tokens_details: { cached_tokens: cached },
    ...(inline ? {} : { completion_tokens_details: { reasoning_tokens: plan.thinkingTokens } })
  }
  const made = { created: Math.floor(Date.now() / 1000), service_tier: "default", system_fingerprint: "fp_sandbox" }
  const shell = { id: `chatcmpl-${seed.slice(0, 29)}`, model: request.name, ...made }
  const whole = () => {
    const message = { role: "assistant", content: content.join("") || null, refusal: null, annotations: [] }
    const choice = {
      index: 0,
      message: { ...message, ...(calls.length > 0 && { tool_calls: calls }) },
      logprobs: likely ? logprobsOf(...content) : null,
      finish_reason,
      ...(hosted && { content_filter_results: filterResults })
    }
    const filter = hosted && { prompt_filter_results }
    return jsonReply(200, { ...shell, object: "chat.completion", choices: [choice], ...filter, usage })
  }
  const stream = () => {
    const event = { ...shell, object: "chat.completion.chunk", ...(counts && { usage: null }) }
    const chunk = (delta: JsonObject, more: JsonObject = {}, piece = ""): JsonObject => ({
      ...event,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }],
      ...(hosted && shared.paddingOf(request.body, piece, seed, piece))
    })
    const called = (call: JsonObject, piece?: string) => chunk({ tool_calls: [call] }, {}, piece)
    // Azure sends its filter's results in chunks of their own: of the prompt first, of the text last.
    const filter = (more: JsonObject) =>
      hosted ? [{ id: "", object: "", created: 0, model: "", choices: [], ...more }] : []
    const events = [
      ...filter({ prompt_filter_results }),
      chunk({ role: "assistant", content: "" }),
      ...content.map((piece) => chunk({ content: piece }, likely ? { logprobs: logprobsOf(piece) } : {}, piece)),
      ...calls.flatMap(({ function: { name, arguments: json }, ...call }, index) => [
        called({ index, ...call, function: { name, arguments: "" } }),
        ...fragments(json).map((piece) => called({ index, function: { arguments: piece } }, piece))
      ]),
      chunk({}, { finish_reason }),
      ...filter({ choices: [{ index: 0, finish_reason: null, content_filter_results: filterResults }] }),
      ...(counts ? [{ ...event, choices: [], usage }] : [])
    ]
    const end = hosted ? "\n\n" : "\r\n\r\n"
    return {
      headers: eventStream,
      frames: [...events.map((data) => JSON.stringify(data)), "[DONE]"].map((data) => `data: ${data}${end}`),
      garbage: "data: {not json\n\n",
      error: ({ status, message }: Failure) => `data: ${JSON.stringify(openaiError(status, message))}\n\n`
    }
  }
  return { directives: turn.directives, whole, stream: request.body.stream === true && stream }
}
