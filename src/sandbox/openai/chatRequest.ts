/** What a chat completion request may be, and what it asks. */
import { arrayOf, type Json, type JsonObject, objectOf, stringOf } from "../json.ts"
import type { GptModel } from "../models.ts"
import type { Shape } from "../shape.ts"
import { type Message, type Part, readTurn, textIn } from "../turn.ts"
import {
  checkSampling,
  chosen,
  closed,
  contentOf,
  effortOf,
  filled,
  formatOf,
  imageOf,
  insist,
  list,
  never,
  sampling,
  text,
  textPart,
  tokens,
  toolOf,
  unsupported,
  variant,
  where
} from "./shape.ts"

const messagesOf = (model: GptModel): Shape<ReadonlyArray<Message>> => {
  const file = never("Invalid value: 'file'. This model does not support file content types.")
  const plain = { text: textPart, file }
  const image_url: Shape<Part> = (part, path) => imageOf(model, objectOf(objectOf(part).image_url).url, path)
  const said = (content: ReadonlyArray<Part> | undefined, path: string) => {
    const wrong = "Invalid value for 'content': expected a string, got null."
    insist({ [wrong]: content !== undefined }, `${path}.content`)
    return content ?? []
  }
  const message = (role: Message["role"], parts: Readonly<Record<string, Shape<Part>>>): Shape<Message> =>
    closed("role name", { content: contentOf(parts) }, ({ content }, path) => ({ role, parts: said(content, path) }))
  const call = closed(
    "type",
    { "id!": text, "function!": closed("", { "name!": text, "arguments!": text }) },
    ({ id, function: { name, arguments: json } }): Part => ({ call: { id, name, json } })
  )
  const roles: Readonly<Record<string, Shape<Message>>> = {
    system: message("system", plain),
    developer: message("system", plain),
    user: message("user", { ...plain, image_url }),
    assistant: closed(
      "role name refusal annotations audio",
      { content: contentOf({ ...plain, refusal: () => ({}) }), tool_calls: list(call) },
      ({ content, tool_calls: calls = [], refusal }, path) => {
        const silent = calls.length > 0 || typeof refusal === "string"
        return { role: "assistant", parts: [...said(content ?? (silent ? [] : undefined), path), ...calls] }
      }
    ),
    tool: closed(
      "role name",
      { content: contentOf(plain), tool_call_id: text },
      ({ content, tool_call_id: id = "" }, path) => ({
        role: "user",
        parts: [{ result: { id, content: textIn(said(content, path)) } }]
      })
    )
  }
  return filled(variant("role", roles))
}

/** Checks the messages together, as the cloud does: roles, and tool calls with their results. */
const checkMessages = (messages: ReadonlyArray<Message>, given: ReadonlyArray<Json>): void => {
  const mixed = ["system", "developer"].every((name) => given.some((one) => objectOf(one).role === name))
  insist({ "Messages with role 'system' and 'developer' cannot be mixed.": !mixed }, "messages")
  let open: ReadonlyArray<string> = []
  for (const [index, { parts }] of [...messages, { parts: [] }].entries()) {
    const answered = parts.flatMap(({ result }) => result?.id ?? [])
    const rules = {
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.":
        answered.every((id) => open.includes(id)),
      [`An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`]:
        answered.length > 0 || open.length === 0
    }
    insist(rules, index < messages.length ? `messages[${index}].role` : "messages")
    open = [...open.filter((id) => !answered.includes(id)), ...parts.flatMap(({ call }) => call?.id ?? [])]
  }
}

const requestOf = (model: GptModel) => {
  const { maxOutputTokens: most, inlineReasoning } = model
  const limit = where(tokens(1), (limit) => ({
    [`max_tokens is too large: ${limit}. This model supports at most ${most} completion tokens.`]: limit <= most
  }))
  const schema = closed("description schema strict", { "name!": text }, ({ schema }) => objectOf(schema))
  return closed(
    "model stream stream_options seed user tool_choice parallel_tool_calls metadata verbosity store safety_identifier " +
      "prompt_cache_key service_tier modalities prediction prompt_cache_retention presence_penalty frequency_penalty " +
      "logprobs top_logprobs logit_bias n",
    {
      "messages!": messagesOf(model),
      max_completion_tokens: limit,
      max_tokens: inlineReasoning ? limit : never(`${unsupported("max_tokens")} Use 'max_completion_tokens' instead.`),
      reasoning_effort: effortOf(model),
      ...sampling,
      stop: (stop) => (typeof stop === "string" ? [stop] : arrayOf(stop)),
      tools: filled(variant("type", { function: closed("type", { "function!": toolOf }, (tool) => tool.function) })),
      response_format: formatOf(closed("type", { "json_schema!": schema }, (format) => format.json_schema))
    }
  )
}

/** Checks a chat completion request as the cloud does, and reads what it asks. Throws a `Refusal`. */
export const readChat = (body: JsonObject, model: GptModel, azure: boolean) => {
  const asked = requestOf(model)(body, "")
  const { messages, tools = [], stop: stops = [], tool_choice: choice = "auto" } = asked
  checkMessages(messages, arrayOf(body.messages))
  const effort = asked.reasoning_effort ?? model.defaultEffort
  const names = "temperature top_p presence_penalty frequency_penalty logprobs top_logprobs logit_bias stop"
  checkSampling(body, names, model, effort)
  const stream = body.stream === true
  const tooled = `Function tools with reasoning_effort are not supported for ${model.id} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`
  insist({ [tooled]: !model.toolsByResponses || tools.length === 0 || effort === "none" }, "reasoning_effort")
  insist({ "The sandbox gives one choice.": !azure || (asked.n ?? 1) === 1 }, "n")
  insist({
    [unsupported("n")]: (asked.n ?? 1) === 1,
    [unsupported("logit_bias")]: !model.inlineReasoning || body.logit_bias === undefined,
    "Invalid 'stop': array too long. Expected an array with maximum length 4.": stops.length <= 4,
    "The 'stream_options' parameter is only allowed when 'stream' is enabled.":
      stream || asked.stream_options === undefined,
    "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.":
      tools.length > 0 || body.parallel_tool_calls === undefined,
    "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.":
      tools.length > 0 || asked.tool_choice === undefined,
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.":
      asked.response_format !== "json" || messages.some(({ parts }) => /json/i.test(textIn(parts)))
  })
  const simple = choice === "auto" || choice === "none" || choice === "required"
  return {
    ...readTurn(messages, {
      model: model.id,
      instructions: "",
      tools,
      choice: simple ? choice : chosen(stringOf(objectOf(objectOf(choice).function).name), tools),
      format: asked.response_format,
      thinks: effort !== "none",
      limit: asked.max_completion_tokens ?? asked.max_tokens,
      stops: stops.filter((stop) => typeof stop === "string")
    }),
    includeUsage: objectOf(body.stream_options).include_usage === true,
    logprobs: body.logprobs === true
  }
}
