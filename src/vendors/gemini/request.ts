/** Google's generateContent, on Vertex: what is asked (docs/upstreams.md#gemini). */
import { Result } from "effect"
import type { Route } from "../../catalog/Route.ts"
import type { ChatRequest } from "../../contract/Chat.ts"
import type { Tool } from "../../contract/ChatMessage.ts"
import { compact, type Json, type JsonObject, numberOf, objectOf } from "../../wire/json.ts"
import { drops } from "../../wire/strip.ts"
import { type Adjusted, reportRemoved, reportUnread } from "../adjustments.ts"
import {
  choiceFor,
  commonFields,
  formatInstruction,
  jsonFormat,
  parametersOf,
  stopsOf,
  toolsOf
} from "../chatRequest.ts"
import type { Dialect } from "../Dialect.ts"
import { chatEffort, chatMaxTokens, isSupported, reportEffort } from "../thinking.ts"
import { toContents, vendorName } from "./contents.ts"
import { answerSchema, toolSchema } from "./schema.ts"

// What is read

/** The parameters that this dialect translates. */
const translated: ReadonlySet<string> = new Set([...commonFields, "seed", "presence_penalty", "frequency_penalty"])
const withLogprobs: ReadonlySet<string> = new Set([...translated, "logprobs", "top_logprobs"])

/** The vendor caches prompts automatically, and its API does not have the other fields. */
const unsupported = new Set(["cache_control", "messages.name", "image_url.detail", "file.filename"] as const)

// The request

export const request: Dialect["request"] = (chat, route, adjusted) =>
  Result.map(toContents(chat, adjusted), ({ system, turns }) => {
    reportUnread(chat, { translated: wantsLogprobs(chat, route) ? withLogprobs : translated, unsupported }, adjusted)
    // A forced choice is not translated (docs/api.md#reasoning, rule 7).
    const mode = choiceFor(chat, false, adjusted) === "none" ? "NONE" : "AUTO"
    const tools = toolsOf(chat).map((tool) => toolFor(tool, adjusted))
    if (toolsOf(chat).some((tool) => tool.function.strict === true)) adjusted.removed("tools.function.strict")
    const schema = jsonFormat(chat)?.schema
    // Where the deployment has refused the schema, that the answer is JSON is still enforced.
    const isReplaced = schema !== undefined && drops(route.strip, "generationConfig.responseJsonSchema")
    const instructions = isReplaced ? [...system, { text: formatInstruction(schema, adjusted) }] : system
    return compact({
      contents: turns,
      systemInstruction: instructions.length === 0 ? undefined : { parts: instructions },
      tools: tools.length === 0 ? undefined : [{ functionDeclarations: tools }],
      toolConfig: tools.length === 0 ? undefined : { functionCallingConfig: { mode } },
      generationConfig: generation(chat, isReplaced ? undefined : schema, route, adjusted)
    })
  })

// Tools

/** Keywords that describe parameters without `properties`. */
const describing = ["anyOf", "oneOf", "allOf", "additionalProperties", "patternProperties"]

/** A function without parameters has no schema: the vendor refuses an object without properties. */
const toolFor = (tool: Tool, adjusted: Adjusted): JsonObject => {
  const parameters = toolSchema(parametersOf(tool), () => adjusted.removed("tools.function.parameters.$ref"))
  const bare =
    Object.keys(objectOf(parameters.properties)).length === 0 && !describing.some((keyword) => parameters[keyword])
  return compact({
    name: vendorName(tool.function.name),
    description: tool.function.description ?? undefined,
    parametersJsonSchema: bare ? undefined : parameters
  })
}

// Sampling and limits

/** `schema`: that of the answer, where it is sent. */
const generation = (
  chat: ChatRequest,
  schema: JsonObject | undefined,
  route: Route,
  adjusted: Adjusted
): JsonObject => {
  const { model } = route
  const likely = wantsLogprobs(chat, route)
  const effort = chatEffort(chat, model)
  reportEffort(chat, effort, adjusted)
  const taken = isSupported(model.sampling, effort !== "none")
  if (!taken) reportRemoved(chat, ["temperature", "top_p"], adjusted)
  const stops = stopsOf(chat).slice(0, maxStops)
  return compact({
    maxOutputTokens: chatMaxTokens(chat),
    temperature: taken ? numberOf(chat.temperature) : undefined,
    topP: taken ? numberOf(chat.top_p) : undefined,
    stopSequences: stops.length === 0 ? undefined : stops,
    seed: seedFor(chat, route, adjusted),
    presencePenalty: chat.presence_penalty ?? undefined,
    frequencyPenalty: chat.frequency_penalty ?? undefined,
    responseLogprobs: likely ? true : undefined,
    logprobs: likely ? chat.top_logprobs || undefined : undefined,
    responseMimeType: jsonFormat(chat) === undefined ? undefined : "application/json",
    responseJsonSchema: schema && answerSchema(schema, (keyword) => adjusted.removed(`response_format.${keyword}`)),
    thinkingConfig: model.thinking.api === "level" ? { thinkingLevel: levels[effort] } : undefined
  })
}

/**
 * Whether the reply will have `logprobs`. Streams do not have them (docs/upstreams.md#token-probabilities-of-gemini), and where the gateway
 * ends the text at a stop sequence, they would show what came after it.
 */
const wantsLogprobs = (chat: ChatRequest, { deployment }: Route): boolean =>
  deployment.logprobs === true && chat.logprobs === true && chat.stream !== true && unsupportedStops(chat).length === 0

/** A seed beyond the range of the vendor's becomes the same one within it each time. */
const seedFor = (chat: ChatRequest, { deployment }: Route, adjusted: Adjusted): Json | undefined => {
  const seed = chat.seed ?? undefined
  const most = deployment.maxSeed
  const written = JSON.stringify(seed)
  if (seed === undefined || most === undefined || !/^-?\d{1,400}$/.test(written)) return seed
  const given = BigInt(written)
  const size = BigInt(most) + 1n
  if (given >= -size && given < size) return seed
  const folded = Number(((given % size) + size) % size)
  adjusted.changed("seed", written, folded)
  return folded
}

/** Google's levels end at high (docs/api.md#reasoning, rule 8). */
const levels = {
  none: "MINIMAL",
  minimal: "MINIMAL",
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH"
} as const

/** Most stop sequences that the vendor takes (docs/upstreams.md#gemini). */
const maxStops = 5
export const unsupportedStops = (chat: ChatRequest): ReadonlyArray<string> => stopsOf(chat).slice(maxStops)
