/**
 * OpenAI's responses API, for models that a cloud serves chat by it (docs/upstreams.md#responses-api): stateless, so that every
 * turn is sent whole, and nothing that the API calls its own is asked for by a caller of chat.
 */
import { Result } from "effect"
import type { Effort, Model } from "../../catalog/Catalog.ts"
import type { ChatRequest } from "../../contract/Chat.ts"
import type { ChatMessage, ContentPart, Tool, ToolCall } from "../../contract/ChatMessage.ts"
import { compact, type Json, type JsonObject, objectOf, omitNull, textOf } from "../../wire/json.ts"
import { type Adjusted, reportRemoved, reportUnread, reportUnsupported } from "../adjustments.ts"
import { choiceFor, commonFields, historyName, stopsOf, toolsOf } from "../chatRequest.ts"
import type { Dialect } from "../Dialect.ts"
import { historyId, openaiParametersOf, parallelFor, schemaName, shortIdentifiers } from "../openaiRequest.ts"
import { chatEffort, chatMaxTokens, isSupported, limitName, reportEffort } from "../thinking.ts"

// What is read

/** Parameters that both APIs take under the same name. */
const passed = ["metadata", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "service_tier"]
const tokenFields = ["logprobs", "top_logprobs"]
const samplingFields = ["temperature", "top_p", ...tokenFields]
/** The parameters that this dialect translates. */
const translated: ReadonlySet<string> = new Set([...commonFields, ...passed, ...tokenFields, "verbosity"])
/** Smallest `max_output_tokens`. */
const minOutput = 16

/** The vendor caches prompts automatically. */
const unsupported = new Set(["cache_control", "messages.name"] as const)

// The request

export const request: Dialect["request"] = (chat, { model, deployment }, adjusted) => {
  const effort = chatEffort(chat, model)
  reportUnsupported(chat, translated, adjusted)
  reportEffort(chat, effort, adjusted)
  reportUnread(chat, { unsupported }, adjusted)
  return Result.succeed(
    compact({
      ...Object.fromEntries(passed.map((name) => [name, chat[name] ?? undefined])),
      ...shortIdentifiers(chat, adjusted),
      model: deployment.model,
      input: chat.messages.flatMap(itemsFor),
      store: false,
      reasoning: model.thinking.api === "effort" ? { effort } : undefined,
      max_output_tokens: limitFor(chat, adjusted),
      text: formatFor(chat, adjusted),
      ...sampling(chat, isSupported(model.sampling, effort !== "none"), adjusted),
      ...toolsFor(chat, model, effort, adjusted),
      stream: chat.stream === true ? true : undefined
    })
  )
}

// Messages

const said = (role: string, content: Json): JsonObject => ({ type: "message", role, content })

const itemsFor = (message: ChatMessage): ReadonlyArray<JsonObject> => {
  switch (message.role) {
    case "system":
    case "developer":
      return [said("developer", message.content)]
    case "user": {
      const { content } = message
      return [said("user", typeof content === "string" ? content : content.map(partFor))]
    }
    case "assistant": {
      // A refusal is what the assistant said, too.
      const texts = [message.content, textOf(message.refusal)]
      const calls = (message.tool_calls ?? []).map(callFor)
      return [...texts.flatMap((text) => (text ? [said("assistant", text)] : [])), ...calls]
    }
    case "tool":
      return [
        { type: "function_call_output", call_id: historyId(message.tool_call_id, maxCallId), output: message.content }
      ]
  }
}

const partFor = (part: ContentPart): JsonObject => {
  if (part.type === "text") return { type: "input_text", text: part.text }
  if (part.type === "file") return { type: "input_file", ...part.file } // no model of this dialect takes one
  const { url, detail } = part.image_url
  return { type: "input_image", image_url: url, detail: detail ?? "auto" }
}

const callFor = ({ id, function: { name, arguments: args } }: ToolCall): JsonObject => ({
  type: "function_call",
  call_id: historyId(id, maxCallId),
  name: historyName(name),
  arguments: args
})

/** Longest `call_id` that the API takes, in characters. */
const maxCallId = 64

// Tools

const toolsFor = (chat: ChatRequest, model: Model, effort: Effort, adjusted: Adjusted): JsonObject => {
  const given = toolsOf(chat)
  if (given.length === 0) return {}
  const choice = choiceFor(chat, isSupported(model.forcedToolChoice, effort !== "none"), adjusted)
  return compact({
    tools: given.map((tool) => toolFor(tool, adjusted)),
    tool_choice: typeof choice === "object" ? { type: "function", name: choice.name } : choice,
    parallel_tool_calls: parallelFor(chat, effort, adjusted)
  })
}

/** The API's own default for `strict` is true, and chat's is false. */
const toolFor = (tool: Tool, adjusted: Adjusted): JsonObject => {
  const { name, description, strict } = tool.function
  return compact({
    type: "function",
    name,
    description: description ?? undefined,
    parameters: openaiParametersOf(tool, adjusted),
    strict: strict ?? false
  })
}

// The format of the answer

/** `response_format` and `verbosity`: the same words in another place. */
const formatFor = (chat: ChatRequest, adjusted: Adjusted): JsonObject | undefined => {
  const { type = "text", json_schema } = objectOf(chat.response_format)
  const { description, schema, strict, ...given } = objectOf(type === "json_schema" ? json_schema : undefined)
  const name = type === "json_schema" ? schemaName(given.name, adjusted) : undefined
  const format = type === "text" ? undefined : omitNull({ type, name, description, schema, strict })
  const verbosity = chat.verbosity ?? undefined
  return format === undefined && verbosity === undefined ? undefined : compact({ format, verbosity })
}

// Sampling and limits

/** Refused while the model thinks, as in chat completions (docs/api.md#reasoning, rule 5). */
const sampling = (chat: ChatRequest, taken: boolean, adjusted: Adjusted): JsonObject => {
  const { temperature, top_p, logprobs, top_logprobs } = chat
  if (!taken) {
    reportRemoved(chat, samplingFields, adjusted)
    return {}
  }
  // Where the text is cut here, they would tell what came after it.
  const cut = stopsOf(chat).length > 0
  if (cut) reportRemoved(chat, tokenFields, adjusted)
  const asked = logprobs === true && !cut
  if (!asked && !cut) reportRemoved(chat, ["top_logprobs"], adjusted)
  return compact({
    temperature: temperature ?? undefined,
    top_p: top_p ?? undefined,
    top_logprobs: asked ? (top_logprobs ?? undefined) : undefined,
    include: asked ? ["message.output_text.logprobs"] : undefined
  })
}

const limitFor = (chat: ChatRequest, adjusted: Adjusted): number | undefined => {
  const limit = chatMaxTokens(chat)
  if (limit === undefined || limit >= minOutput) return limit
  adjusted.changed(limitName(chat), limit, minOutput)
  return minOutput
}
