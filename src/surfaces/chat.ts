/** The chat completions surface: one format for models of every vendor (docs/api.md#chat-completions). */
import { Result } from "effect"
import { internal, invalid } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import { estimateOf, isCount } from "../catalog/Tokens.ts"
import { ChatRequest } from "../contract/Chat.ts"
import type { ApiError } from "../contract/Errors.ts"
import { Adjusted, isIdleField, leftOut } from "../vendors/adjustments.ts"
import { readAnswer } from "../vendors/answer.ts"
import { jsonTexts, printInputs } from "../vendors/callTexts.ts"
import { type Heading, renderCompletion } from "../vendors/completion.ts"
import type { Dialect } from "../vendors/Dialect.ts"
import { dialectOf } from "../vendors/dialects.ts"
import { arrayOf, isObject, type Json, type JsonObject } from "../wire/json.ts"
import { plainPath, strip } from "../wire/strip.ts"
import { ownFields, refuseCloudFields, refuseOutside } from "./boundary.ts"
import { chatProtocol } from "./chatStream.ts"
import { apiError } from "./errorResponse.ts"
import { type Counts, type Prepared, reservedOutput, type Surface } from "./Surface.ts"

interface PreparedChat extends Prepared {
  readonly dialect: Dialect
  readonly route: Route
  readonly request: ChatRequest
  readonly heading: Heading
  readonly inputEstimate: number
}

const countsOf = ({ messages, tools }: ChatRequest): Counts => {
  let images = 0
  let files = 0
  let mediaBytes = 0
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) {
      if (part.type === "image_url") {
        images++
        mediaBytes += part.image_url.url.length
      } else if (part.type === "file") {
        files++
        mediaBytes += part.file.file_data?.length ?? 0
      }
    }
  }
  return { tools: tools?.length ?? 0, images, files, mediaBytes }
}

const partFields: ReadonlySet<string> = new Set(["type", "text", "cache_control"])

/** A part that is nothing but text. */
const isText = (part: Json): part is { readonly type: "text"; readonly text: string; readonly cache_control?: Json } =>
  isObject(part) &&
  part.type === "text" &&
  typeof part.text === "string" &&
  Object.keys(part).every((name) => partFields.has(name) || part[name] === null)

/** A mark of one of the parts is the message's: it stands at its end. */
const joined = (message: Json): Json => {
  if (!isObject(message) || message.role === "user" || !Array.isArray(message.content)) return message
  const parts = arrayOf(message.content)
  if (!parts.every(isText)) return message
  const mark = message.cache_control ?? parts.findLast((part) => part.cache_control)?.cache_control
  const content = parts.map(({ text }) => text).join("")
  return mark === undefined ? { ...message, content } : { ...message, content, cache_control: mark }
}

/** Lists of text as content in roles that have no parts are joined, where the operator allows them (docs/api.md#chat-messages). */
const joinTextArrays = (body: JsonObject): JsonObject =>
  Array.isArray(body.messages) ? { ...body, messages: body.messages.map(joined) } : body

/** What is read by its schema and said anew by every dialect is not walked: the rest is forwarded as it came. */
const readFields: ReadonlySet<string> = new Set([...ownFields, "messages", "response_format"])

/** What of a request its reply is read by: neither the conversation nor the tools, which are not held while a stream runs. */
const replied = (request: ChatRequest): ChatRequest => ({ ...request, messages: [], tools: null })

/** The body as the deployment takes it; what it does not take is named, too, unless it asked for nothing. */
const stripped = (body: JsonObject, { refused, strip: fields }: Route, adjusted: Adjusted): JsonObject => {
  const refusedPaths = new Set([...(refused ?? [])].map(plainPath))
  return strip(body, fields, (path, value) => {
    if (refusedPaths.has(path) || !isIdleField(path, value)) adjusted.add(leftOut(path, value))
  })
}

export const chat: Surface<ChatRequest, PreparedChat, ApiError> = {
  purpose: "chat",
  schema: ChatRequest,
  joinTexts: joinTextArrays,
  error: apiError,
  counts: countsOf,
  tools: (request) => (request.tools ?? []).map(({ function: { name, parameters } }) => ({ name, schema: parameters })),
  texts: jsonTexts,
  prepare: (request, route, { id, inputEstimate, startedAt }) => {
    const dialect = dialectOf(route)
    if (dialect === undefined) return Result.fail(internal) // the resolver answers chat models only
    const refusal = refuseCloudFields(request, ["store"]) ?? refuseOutside(request, readFields)
    if (refusal !== undefined) return Result.fail(invalid(refusal))
    const adjusted = new Adjusted()
    return Result.map(dialect.request(request, route, adjusted), (body) => ({
      operation: route.deployment.api,
      bodies: [stripped(body, route, adjusted)],
      adjusted: [...adjusted],
      stream: request.stream === true,
      maxOutput: reservedOutput(body, route.model),
      dialect,
      route,
      request: replied(request),
      heading: { id: `chatcmpl-${id}`, created: Math.floor(startedAt / 1000), model: request.model },
      inputEstimate
    }))
  },
  ahead: printInputs,
  answer: ({ dialect, route, request, heading, inputEstimate }, { body, bytes }) =>
    Result.map(readAnswer(dialect.reader(route, request), body), (answer) => {
      const received = { stream: false, events: 0, bytes: bytes.length, inputEstimate }
      const usage = isCount(answer.usage, received) ? answer.usage : estimateOf(answer.usage, received)
      return {
        calls: answer.toolCalls.map(({ id, function: { arguments: args, name } }) => ({ id, name, arguments: args })),
        body: (governance) => renderCompletion({ ...answer, usage }, { ...heading, governance }),
        tokens: usage,
        finishReason: answer.finishReason,
        filtered: answer.finishReason === "content_filter"
      }
    }),
  protocol: ({ dialect, route, request, heading, inputEstimate }) =>
    chatProtocol({
      reader: dialect.reader(route, request),
      heading,
      inputEstimate,
      includeUsage: request.stream_options?.include_usage === true
    })
}
