/**
 * What a dialect changed of a request, in the caller's words, for `x-gateway-adjusted` (docs/api.md#adjusted-requests): every
 * parameter is honoured, translated or emulated, or it is named here.
 */

import type { Effort } from "../catalog/Catalog.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { Json } from "../wire/json.ts"
import { chosen } from "./schema.ts"

/** How many changes are named: no request of use has so many, and to name each takes time. */
const maxReported = 1000

/** What was changed of a request, each change once. */
export class Adjusted extends Set<string> {
  override add(change: string): this {
    return this.size < maxReported ? super.add(change) : this
  }
}

/** Longest name that is said whole; callers make up their own. */
const maxName = 128

/** A parameter that is not sent: `top_p:removed`; a nested one by its path without indexes: `messages.name:removed`. */
export const removed = (name: string): string => `${name.slice(0, maxName)}:removed`

/** A parameter that is sent with another value: `temperature:1.7->1`. What was not given is `unset`. */
export const changed = (name: string, from: string | number | undefined, to: string | number): string =>
  `${name}:${from ?? "unset"}->${to}`

/** Fields of the vendors' bodies that chat calls by another name; by their paths without brackets. */
const chatNames: ReadonlyMap<string, string> = new Map([
  ["generationConfig.temperature", "temperature"],
  ["generationConfig.topP", "top_p"],
  ["generationConfig.seed", "seed"],
  ["generationConfig.presencePenalty", "presence_penalty"],
  ["generationConfig.frequencyPenalty", "frequency_penalty"],
  ["generationConfig.stopSequences", "stop"],
  ["generationConfig.responseLogprobs", "logprobs"],
  ["generationConfig.logprobs", "top_logprobs"],
  ["generationConfig.responseMimeType", "response_format"],
  ["generationConfig.responseJsonSchema", "response_format"],
  ["generationConfig.thinkingConfig", "reasoning_effort"],
  ["generationConfig.thinkingConfig.thinkingLevel", "reasoning_effort"],
  ["toolConfig", "tool_choice"],
  ["toolConfig.functionCallingConfig", "tool_choice"],
  ["toolConfig.functionCallingConfig.mode", "tool_choice"],
  ["stop_sequences", "stop"],
  ["metadata.user_id", "user"],
  ["thinking", "reasoning_effort"],
  ["output_config", "reasoning_effort"],
  ["output_config.effort", "reasoning_effort"],
  ["output_config.format", "response_format"],
  ["tool_choice.disable_parallel_tool_use", "parallel_tool_calls"],
  ["tools.strict", "tools.function.strict"],
  ["tools.cache_control", "cache_control"],
  ["system.cache_control", "cache_control"],
  ["messages.content.cache_control", "cache_control"],
  ["reasoning", "reasoning_effort"],
  ["reasoning.effort", "reasoning_effort"],
  ["text.format", "response_format"],
  ["text.verbosity", "verbosity"],
  ["include", "logprobs"]
])

/** What is named where a field of the vendor's body is left out: by its name on chat, with what the gateway does instead. */
export const leftOut = (path: string, value: Json): string => {
  const name = chatNames.get(path) ?? path
  if (name === "stop") return changed(name, "sent", "watched")
  return name === "parallel_tool_calls" && value !== true ? firstCall : removed(name)
}

/** Whether the field, where it is left out, asked for nothing. */
export const isIdleField = (path: string, value: Json): boolean => isIdle(chatNames.get(path) ?? path, value)

/** How one call at a time is named where the gateway sees to it, because calls of the model's may be left out. */
export const firstCall = changed("parallel_tool_calls", "false", "first-call")

/** Values that ask for what happens anyway. */
const idle: ReadonlyMap<string, ReadonlyArray<Json>> = new Map([
  ["presence_penalty", [0]],
  ["frequency_penalty", [0]],
  ["top_logprobs", [0]],
  ["n", [1]],
  ["detail", ["auto"]],
  ["service_tier", ["auto", "default"]]
])

const asksNothing = (name: string, value: Json): boolean =>
  name === "parallel_tool_calls" ? value !== false : isIdle(name, value)

export const isIdle = (name: string, value: unknown): boolean =>
  value === null ||
  value === false ||
  (typeof value === "object" && Object.keys(value).length === 0) ||
  (idle.get(name)?.includes(value as Json) ?? false) ||
  (name === "modalities" && JSON.stringify(value) === '["text"]')

/** Names every parameter that is given, asks for something, and is not among those that the dialect says. */
export const reportUnsupported = (
  request: { readonly [name: string]: Json | undefined },
  said: ReadonlySet<string>,
  adjusted: Adjusted
): void => {
  for (const name of Object.keys(request)) {
    if (!said.has(name) && !asksNothing(name, request[name] ?? null)) adjusted.add(removed(name))
  }
}

/** Names those of the parameters that are given and ask for something. */
export const reportRemoved = (chat: ChatRequest, names: ReadonlyArray<string>, adjusted: Adjusted): void => {
  for (const name of names) {
    const value = chat[name]
    if (value !== undefined && !asksNothing(name, value)) adjusted.add(removed(name))
  }
}

/** An effort that was asked for and is not the one that is sent. */
export const reportEffort = (chat: ChatRequest, effort: Effort, adjusted: Adjusted): void => {
  const asked = chat.reasoning_effort
  if (typeof asked === "string" && asked !== effort) adjusted.add(changed("reasoning_effort", asked, effort))
}

/** A forced choice of a tool that becomes `auto`. */
export const reportForced = (chat: ChatRequest, adjusted: Adjusted): void => {
  const choice = chosen(chat)
  if (choice === "required") adjusted.add(changed("tool_choice", choice, "auto"))
  else if (typeof choice === "object") adjusted.add(changed("tool_choice", choice.name, "auto"))
}
