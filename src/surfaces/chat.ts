/** The chat completions surface: one format for models of every vendor (docs/api.md#chat-completions). */
import { Result } from "effect"
import { internal, invalid } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import { reservedOutput } from "../catalog/Tokens.ts"
import { ChatRequest } from "../contract/Chat.ts"
import type { ApiError } from "../contract/Errors.ts"
import { Adjusted } from "../vendors/adjustments.ts"
import { choiceOf, toolsOf } from "../vendors/chatRequest.ts"
import type { Dialect, ReplyReader } from "../vendors/Dialect.ts"
import { dialectOf, reportLeftOut } from "../vendors/dialects.ts"
import { jsonTexts } from "../vendors/toolCalls.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { plainPaths, strip } from "../wire/strip.ts"
import { isNothing, ownFields, refuseCloudFields, refuseOutside } from "./boundary.ts"
import { type Asked, chatAnswer, chatProtocol } from "./chatReply.ts"
import { apiError } from "./errorResponse.ts"
import type { Counts, Prepared, ScreenedTool, Surface } from "./Surface.ts"

interface PreparedChat extends Prepared, Asked {
  readonly reader: () => ReplyReader
}

const countsOf = ({ messages, tools }: ChatRequest): Counts => {
  const media = { images: 0, files: 0, mediaBytes: 0 }
  for (const message of messages) {
    if (message.role !== "user" || typeof message.content === "string") continue
    for (const part of message.content) {
      if (part.type === "text") continue
      const isImage = part.type === "image_url"
      media[isImage ? "images" : "files"]++
      media.mediaBytes += (isImage ? part.image_url.url : part.file.file_data).length
    }
  }
  return { tools: tools?.length ?? 0, ...media }
}

/** What a part may hold for its message. */
const movedFields = ["cache_control", "extra_content"]
const partFields: ReadonlySet<string> = new Set(["type", "text", ...movedFields])

/** Some clients make a part of all the fields of a reply's message: what is empty, or says what the message says, is no loss. */
const isText = (part: Json, message: JsonObject): part is JsonObject & { readonly text: string } =>
  isObject(part) &&
  part.type === "text" &&
  typeof part.text === "string" &&
  Object.entries(part).every(([name, value]) => partFields.has(name) || isNothing(value) || value === message[name])

/** The message with its parts as one text. What a part holds for its message becomes the message's. */
const joined = (message: Json): Json => {
  if (!isObject(message) || message.role === "user" || !Array.isArray(message.content)) return message
  const parts = arrayOf(message.content)
  if (!parts.every((part) => isText(part, message))) return message
  const moved = movedFields.flatMap((name) => {
    const value = message[name] ?? parts.findLast((part) => part[name])?.[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...message, content: parts.map(({ text }) => text).join(""), ...Object.fromEntries(moved) }
}

/** Lists of text as content in roles that have no parts are joined, where the operator allows them (docs/api.md#chat-messages). */
const joinTextArrays = (body: JsonObject): JsonObject =>
  Array.isArray(body.messages) ? { ...body, messages: body.messages.map(joined) } : body

/**
 * Fields that are not searched for outside addresses: every dialect translates them by their schema, and forwards nothing of them unread
 * but what `refuseUnread` searches.
 */
const readFields: ReadonlySet<string> = new Set([...ownFields, "messages", "response_format"])

/** What Claude gets back as it came (`vendors/claude/order.ts`). */
const returnedIn = ({ extra_content }: { readonly extra_content?: unknown }): JsonObject => {
  const { anthropic } = objectOf(extra_content)
  return anthropic === undefined ? {} : { extra_content: { anthropic } }
}

/** Why these may not leave, with the place: the format of an answer, which GPT gets whole, without its schema, and what is returned. */
const refuseUnread = ({ messages, response_format }: ChatRequest): string | undefined => {
  if (isObject(response_format)) {
    const { schema: _, ...json_schema } = objectOf(response_format.json_schema)
    const refused = refuseOutside({ response_format: { ...response_format, json_schema } })
    if (refused !== undefined) return refused
  }
  for (const [at, message] of messages.entries()) {
    if (message.role !== "assistant") continue
    const calls = message.tool_calls ?? []
    if ([message, ...calls].every(({ extra_content }) => extra_content === undefined)) continue
    const refusal = refuseOutside({ ...returnedIn(message), tool_calls: calls.map(returnedIn) })
    if (refusal !== undefined) return `messages[${at}].${refusal}`
  }
  return undefined
}

/** Why a choice is refused that no tool can follow. Models that take no such choice would not tell. */
const refuseChoice = (request: ChatRequest): string | undefined => {
  const choice = choiceOf(request)
  const tools = toolsOf(request)
  if (choice !== "required" && typeof choice !== "object") return undefined
  if (tools.length === 0)
    return "tool_choice: there are no tools to choose; define them in tools, or leave tool_choice out"
  return choice === "required" || tools.some((tool) => tool.function.name === choice.name)
    ? undefined
    : "tool_choice.function.name: must be the name of one of the tools"
}

/** Makes a reader for the reply. It does not hold the conversation or the tools while a stream runs. */
const readerFor = (dialect: Dialect, route: Route, request: ChatRequest): (() => ReplyReader) => {
  const kept = { ...request, messages: [], tools: null }
  return () => dialect.reader(route, kept)
}

/** The tools of a vendor's body whose parameters are not the caller's own any more. */
const rewrittenTools = (request: ChatRequest, { tools }: JsonObject): ReadonlyArray<ScreenedTool> => {
  const given = new Set<unknown>(toolsOf(request).map(({ function: { parameters } }) => parameters))
  return arrayOf(tools)
    .map(objectOf)
    .flatMap((tool) => [tool, objectOf(tool.function), ...arrayOf(tool.functionDeclarations).map(objectOf)])
    .map(({ input_schema, name, parameters, parametersJsonSchema }) => ({
      name: textOf(name) ?? "",
      schema: parameters ?? input_schema ?? parametersJsonSchema
    }))
    .filter(({ schema }) => schema !== undefined && !given.has(schema))
}

/** The body without the fields that the deployment does not take, which are reported unless they ask for nothing. */
const stripped = (body: JsonObject, route: Route, adjusted: Adjusted): JsonObject => {
  const refused = plainPaths(route.refused)
  return strip(body, route.strip, (path, value) =>
    reportLeftOut(route.deployment.api, path, value, refused.has(path), adjusted)
  )
}

export const chat: Surface<ChatRequest, PreparedChat, ApiError> = {
  purpose: "chat",
  schema: ChatRequest,
  joinTexts: joinTextArrays,
  error: apiError,
  counts: countsOf,
  tools: (request) => toolsOf(request).map(({ function: { name, parameters } }) => ({ name, schema: parameters })),
  texts: jsonTexts,
  guarded: {
    request: { messages: "user", prediction: "assistant", response_format: "system", stop: "user" },
    others: "arguments",
    // Flags quote destinations out of calls.
    reply: { choices: "assistant", x_gateway_governance: "arguments" }
  },
  prepare: (request, route, { id, inputEstimate, startedAt }) => {
    const dialect = dialectOf(route)
    if (dialect === undefined) return Result.fail(internal) // the resolver answers chat models only
    const refusal =
      refuseCloudFields(request, ["store"]) ??
      refuseOutside(request, readFields) ??
      refuseUnread(request) ??
      refuseChoice(request)
    if (refusal !== undefined) return Result.fail(invalid(refusal))
    const adjusted = new Adjusted()
    return Result.map(dialect.request(request, route, adjusted), (body) => ({
      operation: route.deployment.api,
      bodies: [stripped(body, route, adjusted)],
      adjusted,
      rewrittenTools: rewrittenTools(request, body),
      stream: request.stream === true,
      maxOutput: reservedOutput(route.deployment.api, body, route.model),
      reader: readerFor(dialect, route, request),
      heading: { id: `chatcmpl-${id}`, created: Math.floor(startedAt / 1000), model: request.model },
      inputEstimate,
      includeUsage: request.stream_options?.include_usage === true
    }))
  },
  answer: (prepared, reply) => chatAnswer({ ...prepared, reader: prepared.reader() }, reply),
  protocol: (prepared) => chatProtocol({ ...prepared, reader: prepared.reader() })
}
