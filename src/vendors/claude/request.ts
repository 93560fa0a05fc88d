/** Anthropic's Messages API, on Vertex and on Bedrock: what is asked (docs/upstreams.md#anthropic-messages). */
import { Result } from "effect"
import type { ChatRequest } from "../../contract/Chat.ts"
import type { Tool } from "../../contract/ChatMessage.ts"
import { compact, type JsonObject, numberOf, objectOf, textOf } from "../../wire/json.ts"
import { drops, type Strip } from "../../wire/strip.ts"
import { type Adjusted, reportUnread } from "../adjustments.ts"
import {
  choiceFor,
  commonFields,
  digested,
  flatParametersOf,
  formatInstruction,
  isBlank,
  jsonFormat,
  stopsOf,
  toolsOf,
  wantsSingleCall
} from "../chatRequest.ts"
import type { Dialect } from "../Dialect.ts"
import { chatMaxTokens, chatThinking, isSupported, reportEffort } from "../thinking.ts"
import { enforces, takesFormat, type Used } from "./structured.ts"
import { canThink, marked, type Turn, toConversation, withoutThinking } from "./turns.ts"

// What is read

/** The parameters that this dialect translates. */
const translated: ReadonlySet<string> = new Set([...commonFields, "user"])

/** Fields that the API does not have. */
const unsupported = new Set(["messages.name", "image_url.detail"] as const)

// The request

export const request: Dialect["request"] = (chat, route, adjusted) =>
  Result.map(toConversation(chat, route.model.id, adjusted), ({ system, turns }) => {
    const { model } = route
    reportUnread(chat, { translated, unsupported }, adjusted)
    const { effort, wanted, budget, maxTokens } = chatThinking(chat, model, canThink(turns))
    // Also names the default effort where the request cannot have it.
    if (effort === wanted) reportEffort(chat, effort, adjusted)
    else adjusted.changed("reasoning_effort", chat.reasoning_effort ?? undefined, effort)
    if (chatMaxTokens(chat) === undefined) adjusted.changed("max_tokens", undefined, maxTokens)
    const thinks = model.thinking.api !== "none" && effort !== "none"
    const adaptive = model.thinking.api === "adaptive"
    const on = adaptive ? { type: "adaptive" } : { type: "enabled", budget_tokens: budget }
    const off = adaptive ? { type: "disabled" } : undefined
    const forcible = isSupported(model.forcedToolChoice, thinks)
    const rules = { forcible, strip: route.strip, adjusted, used: { strictTools: 0, optional: 0, unions: 0 } }
    const format = formatFor(chat, turns.at(-1)?.role === "assistant", rules)
    const texts = format.instruction === undefined ? system : [...system, { type: "text", text: format.instruction }]
    const user = typeof chat.user === "string" ? opaqueUser(chat.user, "user", adjusted) : undefined
    const { temperature, top_p } = sampling(chat, isSupported(model.sampling, thinks), adjusted)
    const stops = stopsOf(chat).filter((sequence) => !isBlank(sequence))
    const { tools, tool_choice } = toolsFor(chat, turns, rules)
    return compact({
      max_tokens: maxTokens,
      system: texts.length === 0 ? undefined : texts.some(isMarked) ? texts : texts.map(textIn).join("\n\n"),
      messages: thinks ? turns : withoutThinking(turns),
      temperature,
      top_p,
      stop_sequences: stops.length === 0 ? undefined : stops,
      tools,
      tool_choice,
      thinking: thinks ? on : off,
      output_config: adaptive && thinks ? { effort, ...format.config } : format.config,
      metadata: user === undefined ? undefined : { user_id: user }
    })
  })

// Messages

const isMarked = (block: JsonObject): boolean => block.cache_control !== undefined
const textIn = (block: JsonObject): string => textOf(block.text) ?? ""

// Tools

interface Rules {
  readonly strip: Strip
  readonly adjusted: Adjusted
  readonly used: Used
  /** Whether a forced choice of a tool is taken. */
  readonly forcible: boolean
}

/** The vendor wants the tools that a history uses to be defined, also where none may be called any more. */
const toolsFor = (chat: ChatRequest, turns: ReadonlyArray<Turn>, rules: Rules): JsonObject => {
  const tools = toolsOf(chat).map((given) => toolFor(given, rules))
  if (tools.length > 0) return compact({ tools, tool_choice: toolChoice(chat, rules) })
  const called = turns.flatMap(({ content }) => content.filter(({ type }) => type === "tool_use"))
  const names = new Set(called.flatMap(({ name }) => textOf(name) ?? []))
  if (names.size === 0) return {}
  const input_schema = { type: "object", properties: {} }
  return { tools: [...names].map((name) => ({ name, input_schema })), tool_choice: { type: "none" } }
}

const toolFor = (tool: Tool, { strip, adjusted, used }: Rules): JsonObject => {
  const schema = flatParametersOf(tool, adjusted)
  const strict = tool.function.strict === true && !drops(strip, "tools[].strict") && enforces(used, schema, 1)
  if (tool.function.strict === true && !strict) adjusted.removed("tools.function.strict")
  return marked(
    compact({
      name: tool.function.name,
      description: tool.function.description ?? undefined,
      input_schema: schema,
      strict: strict ? true : undefined
    }),
    tool.cache_control ?? tool.function.cache_control
  )
}

/** A forced choice that the model does not take beside thinking becomes `auto` (docs/api.md#reasoning, rule 6). */
const toolChoice = (chat: ChatRequest, { forcible, strip, adjusted }: Rules): JsonObject | undefined => {
  const choice = choiceFor(chat, forcible, adjusted)
  if (choice === "none") return { type: "none" }
  const single = wantsSingleCall(chat) && !drops(strip, singleCallField)
  if (choice === undefined && !single) return undefined
  const kind =
    typeof choice === "object" ? { type: "tool", name: choice.name } : { type: choice === "required" ? "any" : "auto" }
  return single ? { ...kind, disable_parallel_tool_use: true } : kind
}

export const singleCallField = "tool_choice.disable_parallel_tool_use"

// The format of the answer

/**
 * `response_format`: the vendor's own structured output where the deployment takes it and the schema is one that it can enforce;
 * else an instruction, because a forced tool is refused beside thinking (docs/decisions.md#structured-output). `begun`: the assistant's
 * last message is to be continued, which the vendor refuses beside its own.
 */
const formatFor = (
  chat: ChatRequest,
  begun: boolean,
  { strip, adjusted, used }: Rules
): { readonly config?: JsonObject; readonly instruction?: string } => {
  const format = jsonFormat(chat)
  if (format === undefined) return {}
  const { schema } = format
  if (schema !== undefined && !begun && takesFormat(strip) && enforces(used, schema)) {
    return { config: { format: { type: "json_schema", schema } } }
  }
  return { instruction: formatInstruction(schema, adjusted) }
}

// Sampling and limits

/** The vendor's temperature ends at 1, and newer models take only one of the two. */
const sampling = (chat: ChatRequest, taken: boolean, adjusted: Adjusted): JsonObject => {
  const [temperature, topP] = [numberOf(chat.temperature), numberOf(chat.top_p)]
  if (temperature !== undefined && !taken) adjusted.removed("temperature")
  if (topP !== undefined && (!taken || temperature !== undefined)) adjusted.removed("top_p")
  if (!taken) return {}
  if (temperature === undefined) return topP === undefined ? {} : { top_p: topP }
  if (temperature > 1) adjusted.changed("temperature", temperature, 1)
  return { temperature: Math.min(1, temperature) }
}

/** The vendor refuses sequences of nothing but whitespace. */
export const unsupportedStops = (chat: ChatRequest): ReadonlyArray<string> => stopsOf(chat).filter(isBlank)

// Who it is for

/** Longest identifier of a user, in characters. */
const maxUserId = 256
/** The characters that Bedrock accepts, but for blanks and `@`. */
const accepted = /^[\w:$#=/+,.-]*$/
/** A phone number: digits that are not part of a UUID or a word. */
const phone = /(?<![\w-])\+?\d[\d.-]{5,}\d(?![\w-])/

/**
 * Who a request is for, as the vendor takes it on every cloud (`metadata.user_id`). It wants an opaque identifier, such as a hash, and
 * refuses addresses and phone numbers of people, texts of more than 256 characters and, on Bedrock, most punctuation
 * (docs/upstreams.md#request-metadata). Such a one becomes its digest, which is the same in every request, so that the vendor can still
 * tell users apart.
 */
const opaqueUser = (id: string, field: string, adjusted: Adjusted): string =>
  id.length <= maxUserId && accepted.test(id) && !phone.test(id) ? id : digested(id, field, adjusted)

/** The same in a body of the messages surface, which is returned itself where nothing is replaced. */
export const withOpaqueUser = (body: JsonObject, adjusted: Adjusted): JsonObject => {
  const metadata = objectOf(body.metadata)
  const id = textOf(metadata.user_id)
  const user_id = id === undefined ? id : opaqueUser(id, "metadata.user_id", adjusted)
  return user_id === undefined || user_id === id ? body : { ...body, metadata: { ...metadata, user_id } }
}
