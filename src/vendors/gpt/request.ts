/**
 * OpenAI's chat completions, on Azure and on Bedrock, for models of closed and of open weights
 * (docs/upstreams.md#openai-formats).
 */
import { Result } from "effect"
import type { Route } from "../../catalog/Route.ts"
import type { ChatRequest } from "../../contract/Chat.ts"
import type { ChatMessage, ContentPart, Tool, ToolCall } from "../../contract/ChatMessage.ts"
import { compact, type Json, type JsonObject, objectOf, omitNull, textOf } from "../../wire/json.ts"
import { type Adjusted, reportRemoved, reportUnread } from "../adjustments.ts"
import { assistantTexts, choiceFor, historyName, stopsOf, toolsOf } from "../chatRequest.ts"
import type { Dialect } from "../Dialect.ts"
import { historyId, openaiParametersOf, parallelFor, schemaName, shortIdentifiers } from "../openaiRequest.ts"
import { chatEffort, chatMaxTokens, isSupported, reportEffort } from "../thinking.ts"

// What is read

/** Those that would show tagged reasoning, or text that is cut off here, token by token. */
const tokenFields = ["logprobs", "top_logprobs"]
/** Refused while the model thinks, where the catalog says so (docs/api.md#reasoning, rule 5, docs/upstreams.md#reasoning-models). */
const samplingFields = ["temperature", "top_p", "presence_penalty", "frequency_penalty", ...tokenFields, "logit_bias"]
/** The gateway's own business, or the store's, which is never used. */
const ownFields: ReadonlySet<string> = new Set([
  ...["model", "messages", "max_tokens", "max_completion_tokens", "stream", "stream_options", "store", "n"],
  ...["reasoning_effort", "stop"]
])

/** The vendor caches prompts automatically. */
const unsupported = new Set(["cache_control"] as const)

// The request

export const request: Dialect["request"] = (chat, route, adjusted) => {
  const { model, deployment } = route
  const effort = chatEffort(chat, model)
  const thinks = effort !== "none"
  const noTools = toolsOf(chat).length === 0
  const taken = isSupported(model.sampling, thinks)
  // Where the gateway cuts the text, `logprobs` would show what it cut.
  const hidesLogprobs = model.thinking.tagged === true || unsupportedStops(chat, route).length > 0
  const refused = taken ? (hidesLogprobs ? tokenFields : []) : samplingFields
  reportRemoved(chat, [...refused, "store"], adjusted)
  reportEffort(chat, effort, adjusted)
  reportUnread(chat, { unsupported, whole: ["response_format"] }, adjusted)
  const choice = choiceFor(chat, isSupported(model.forcedToolChoice, thinks), adjusted)
  const stops = stopsOf(chat).slice(0, taken ? maxStops : 0)
  return Result.succeed(
    compact({
      // SDKs send null for what is absent, and the upstreams' schemas refuse it.
      ...omitNull(chat, (name) => !ownFields.has(name) && !refused.includes(name)),
      ...shortIdentifiers(chat, adjusted),
      ...namedFormat(chat, adjusted),
      stop: stops.length === 0 ? undefined : (textOf(chat.stop) ?? stops),
      model: deployment.model,
      messages: messagesOf(chat.messages, adjusted),
      tools: noTools ? undefined : toolsOf(chat).map((given) => toolFor(given, adjusted)),
      max_completion_tokens: chatMaxTokens(chat),
      reasoning_effort: model.thinking.api === "effort" ? effort : undefined,
      parallel_tool_calls: noTools ? undefined : parallelFor(chat, effort, adjusted),
      // Nothing but the name: a definition beside it is one that the screen has not read.
      tool_choice: noTools ? undefined : typeof choice === "object" ? { type: "function", function: choice } : choice,
      // Usage is always asked for, because records need it.
      ...(chat.stream === true ? { stream: true, stream_options: { include_usage: true } } : {})
    })
  )
}

// Messages

/** What a message may hold. SDKs keep notes of their own in it (`parsed`), and other vendors get theirs back in it. */
const messageFields: ReadonlySet<string> = new Set(["role", "content", "name"])
const ownField: Readonly<Partial<Record<ChatMessage["role"], string>>> = { assistant: "refusal", tool: "tool_call_id" }

/**
 * What an assistant goes on to say behind a call is one message with it, because the call's result must come right behind that. Its
 * texts are joined once: each to all before it would take a time that grows with the square of the request.
 */
const messagesOf = (messages: ReadonlyArray<ChatMessage>, adjusted: Adjusted): ReadonlyArray<JsonObject> => {
  const sent: Array<{ readonly kept: JsonObject; readonly texts: Array<string>; readonly calls: Array<Json> }> = []
  for (const given of messages) {
    const calls = given.role === "assistant" ? (given.tool_calls ?? []).map(callFor) : []
    const last = sent.at(-1)
    if (given.role === "assistant" && last !== undefined && last.calls.length > 0) {
      for (const text of assistantTexts(given)) last.texts.push(text)
      for (const call of calls) last.calls.push(call)
      continue
    }
    const kept = messageFor(given, adjusted)
    sent.push({ kept, calls, texts: typeof kept.content === "string" && kept.content !== "" ? [kept.content] : [] })
  }
  return sent.map(({ calls, kept, texts }) => {
    if (calls.length === 0) return kept
    return { ...kept, ...(texts.length === 0 ? {} : { content: texts.join("\n\n") }), tool_calls: calls }
  })
}

/** `developer` and `system` are not mixed; nulls, empty lists and names in other letters than the API's are left out. */
const messageFor = (message: ChatMessage, adjusted: Adjusted): JsonObject => {
  const kept = omitNull(message, (name) => messageFields.has(name) || name === ownField[message.role])
  if ("name" in kept && kept.name !== historyName(textOf(kept.name) ?? "")) {
    delete kept.name
    adjusted.removed("messages.name")
  }
  if (message.role === "developer") kept.role = "system"
  if (message.role === "tool") kept.tool_call_id = historyId(message.tool_call_id, maxCallId)
  if (Array.isArray(message.content)) kept.content = message.content.map(partFor)
  return kept
}

/** Only the fields of the vendor's own: callers of several vendors mark parts for the others (`cache_control`). */
const partFor = (part: ContentPart): JsonObject => {
  if (part.type === "text") return { type: "text", text: part.text }
  if (part.type === "file") return part // no model of this dialect takes one
  const { url, detail } = part.image_url
  return { type: "image_url", image_url: compact({ url, detail: detail ?? undefined }) }
}

/** Longest ID of a call that the API takes, in characters. */
const maxCallId = 40

const callFor = ({ id, function: { name, arguments: args } }: ToolCall): JsonObject => ({
  id: historyId(id, maxCallId),
  type: "function",
  function: { name: historyName(name), arguments: args }
})

// Tools

/** Parameters that are given must be a schema of type object with properties (docs/upstreams.md#functions). */
const toolFor = (tool: Tool, adjusted: Adjusted): JsonObject => {
  const { name, description, parameters, strict } = tool.function
  return {
    type: "function",
    function: omitNull({
      name,
      description,
      parameters: parameters && openaiParametersOf(tool, adjusted),
      strict
    })
  }
}

// The format of the answer

/** `response_format` of a schema, as it came but for its name. */
const namedFormat = ({ response_format }: ChatRequest, adjusted: Adjusted): JsonObject => {
  const { json_schema, ...format } = objectOf(response_format)
  if (format.type !== "json_schema") return {}
  const schema = objectOf(json_schema)
  return { response_format: { ...format, json_schema: { ...schema, name: schemaName(schema.name, adjusted) } } }
}

// Sampling and limits

/** Most stop sequences that the vendor takes (docs/upstreams.md#openai-formats). */
const maxStops = 4

/** The API refuses stop sequences where it refuses sampling, and above four: the gateway looks for those. */
export const unsupportedStops = (chat: ChatRequest, { model }: Route): ReadonlyArray<string> =>
  stopsOf(chat).slice(isSupported(model.sampling, chatEffort(chat, model) !== "none") ? maxStops : 0)
