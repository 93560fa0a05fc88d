/** What a chat completion request may be, and what it asks. */
import type { Turn } from "../answer.ts"
import { noDirectives, readDirectives } from "../directives.ts"
import { type JsonObject, listOf, objectOf, objectsOf, stringOf } from "../json.ts"
import { describe, mediaTokens, resultText } from "../media.ts"
import type { GptModel } from "../models.ts"
import { countTokens } from "../tokens.ts"
import { callsIn, checkMessages, mediaIn, textIn } from "./chatMessages.ts"
import { anything, closed, free, list, text, variant } from "./shape.ts"
import { checkSampling, effortOf, insist, OpenAiRefusal, type Platform, toolOf } from "./shared.ts"

/** A checked chat completion request. */
export interface ChatRequest {
  readonly turn: Turn
  readonly promptTokens: number
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly logprobs: boolean
}

const SAMPLING = [
  "temperature",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "logprobs",
  "top_logprobs",
  "logit_bias"
]

const parameters = closed({
  ...free("model", "messages", "stream", "stream_options", "max_completion_tokens", "max_tokens", "n", "stop"),
  ...free("seed", "user", "tool_choice", "parallel_tool_calls", "reasoning_effort", "metadata", "verbosity", "store"),
  ...free("safety_identifier", "prompt_cache_key", "service_tier", "modalities", "prediction"),
  ...free("prompt_cache_retention", ...SAMPLING),
  tools: list(
    variant("type", {
      function: closed({ type: anything, "function!": (value, path) => toolOf(objectOf(value), path) })
    }),
    { filled: true }
  ),
  response_format: variant("type", {
    text: anything,
    json_object: anything,
    json_schema: closed({
      type: anything,
      "json_schema!": closed({ "name!": text, ...free("description", "schema", "strict") })
    })
  })
})

const choiceOf = (body: JsonObject, tools: Turn["tools"]): Turn["choice"] => {
  const choice = body.tool_choice
  if (choice === undefined || choice === null) return "auto"
  insist(
    tools.length > 0,
    "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
    "tool_choice"
  )
  if (choice === "auto" || choice === "none" || choice === "required") return choice
  const name = stringOf(objectOf(objectOf(choice).function).name)
  insist(
    tools.some((tool) => tool.name === name),
    `Tool choice '${name}' not found in 'tools' parameter.`,
    "tool_choice"
  )
  return { name }
}

const formatOf = (body: JsonObject, messages: ReadonlyArray<JsonObject>): Turn["format"] => {
  const format = objectOf(body.response_format)
  if (format.type === "json_schema") return objectOf(objectOf(format.json_schema).schema)
  if (format.type !== "json_object") return undefined
  insist(
    messages.some((message) => /json/i.test(textIn(message))),
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    "messages"
  )
  return "json"
}

const limitOf = (body: JsonObject, model: GptModel): number | undefined => {
  const old = body.max_tokens
  insist(
    old === undefined || old === null || model.inlineReasoning,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "max_tokens",
    "unsupported_parameter"
  )
  const limit = body.max_completion_tokens ?? old
  if (limit === undefined || limit === null) return undefined
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1)
    throw new OpenAiRefusal(
      "Invalid 'max_completion_tokens': integer below minimum value. Expected a value >= 1.",
      "max_completion_tokens",
      "integer_below_min_value"
    )
  insist(
    limit <= model.maxOutput,
    `max_tokens is too large: ${limit}. This model supports at most ${model.maxOutput} completion tokens.`,
    "max_completion_tokens",
    "invalid_value"
  )
  return limit
}

/** Checks a chat completion request as the cloud does, and reads what it asks. Throws an `OpenAiRefusal`. */
export const readChat = (body: JsonObject, model: GptModel, platform: Platform): ChatRequest => {
  parameters(body, "")
  checkMessages(body.messages, model)
  const messages = objectsOf(body.messages)
  const effort = effortOf(body.reasoning_effort, "reasoning_effort", model)
  checkSampling(body, [...SAMPLING, "stop"], model, effort)
  insist(
    !model.inlineReasoning || body.logit_bias === undefined,
    "Unsupported parameter: 'logit_bias' is not supported with this model.",
    "logit_bias",
    "unsupported_parameter"
  )
  const n = body.n ?? 1
  insist(
    n === 1,
    platform === "bedrock"
      ? "Unsupported parameter: 'n' is not supported with this model."
      : "The sandbox gives one choice.",
    "n",
    "unsupported_parameter"
  )
  const stream = body.stream === true
  insist(
    stream || body.stream_options === undefined || body.stream_options === null,
    "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    "stream_options"
  )
  const tools = objectsOf(body.tools).map((tool) => toolOf(objectOf(tool.function), "tools"))
  insist(
    !model.toolsByResponses || tools.length === 0 || effort === "none",
    `Function tools with reasoning_effort are not supported for ${model.base} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
    "reasoning_effort"
  )
  insist(
    tools.length > 0 || body.parallel_tool_calls === undefined,
    "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
    "parallel_tool_calls"
  )

  const users = messages.filter((message) => message.role === "user")
  const last = messages.at(-1)
  const asked = messages.findLastIndex((message) => message.role === "assistant")
  const names = new Map(
    messages.flatMap(callsIn).map((call) => [stringOf(call.id), stringOf(objectOf(call.function).name)])
  )
  const results = messages.slice(asked + 1).filter((message) => message.role === "tool" && last?.role === "tool")
  const stop = body.stop
  const stops = typeof stop === "string" ? [stop] : listOf(stop).filter((one) => typeof one === "string")
  insist(
    stops.length <= 4,
    "Invalid 'stop': array too long. Expected an array with maximum length 4.",
    "stop",
    "array_above_max_length"
  )
  return {
    stream,
    includeUsage: objectOf(body.stream_options).include_usage === true,
    logprobs: body.logprobs === true,
    promptTokens:
      3 +
      messages.reduce(
        (sum, message) =>
          sum +
          4 +
          countTokens(textIn(message)) +
          mediaIn(message, model).reduce((total, { bytes }) => total + mediaTokens(bytes), 0) +
          (callsIn(message).length === 0 ? 0 : countTokens(JSON.stringify(message.tool_calls))),
        0
      ) +
      (tools.length === 0 ? 0 : countTokens(JSON.stringify(body.tools))),
    turn: {
      model: model.base,
      prompt: readDirectives(textIn(users.at(-1))).rest,
      instructions: messages
        .filter((message) => message.role === "system" || message.role === "developer")
        .map(textIn)
        .join("\n"),
      turns: users.length,
      media: last?.role === "user" ? mediaIn(last, model).map(({ type, bytes }) => describe(type, bytes)) : [],
      results: results.map((message) => ({
        name: names.get(stringOf(message.tool_call_id)) ?? "",
        content: resultText(message.content)
      })),
      tools,
      choice: choiceOf(body, tools),
      format: formatOf(body, messages),
      thinks: effort !== "none",
      limit: limitOf(body, model),
      stops,
      directives: last?.role === "user" ? readDirectives(textIn(last)) : noDirectives
    }
  }
}
