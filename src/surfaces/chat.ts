/**
 * The chat completions surface: one format for models of every vendor (docs/api.md#chat-completions). In its stream a vendor's
 * events become chunks, and the flags ride on the final one (docs/api.md#chat-stream).
 */
import { Result } from "effect"
import { internal, invalid } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import { estimateOf, isCount, reservedOutput, type Tokens } from "../catalog/Tokens.ts"
import { ChatRequest } from "../contract/Chat.ts"
import { type ApiError, apiErrorBody } from "../contract/Errors.ts"
import type { CallPiece } from "../governance/accumulate.ts"
import type { Frame, Progress, Protocol } from "../stream/Frame.ts"
import { Adjusted } from "../vendors/adjustments.ts"
import { chunkWriter, type Heading, makeUsage, readAnswer, renderCompletion } from "../vendors/answer.ts"
import { choiceOf, toolsOf } from "../vendors/chatRequest.ts"
import type { Dialect, Ending, Piece, Pieces, ReplyReader } from "../vendors/Dialect.ts"
import { dialectOf, reportLeftOut } from "../vendors/dialects.ts"
import { jsonTexts, printInputs } from "../vendors/toolCalls.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf } from "../wire/json.ts"
import { plainPaths, strip } from "../wire/strip.ts"
import { isNothing, ownFields, refuseCloudFields, refuseOutside } from "./boundary.ts"
import { apiError } from "./errorResponse.ts"
import type { Counts, Prepared, Surface } from "./Surface.ts"

const done: Frame = { data: "[DONE]" }

const callPiece = (piece: Piece): CallPiece | undefined => {
  switch (piece.type) {
    case "call":
      return { type: "start", key: piece.index, id: piece.id, name: piece.name }
    case "arguments":
      return { type: "append", key: piece.index, text: piece.text }
    default:
      return undefined
  }
}

/** What a reply needs to know of its request. */
interface Asked {
  readonly heading: Heading
  readonly inputEstimate: number
  readonly includeUsage: boolean
}

/** Pieces are taken one at a time, because lists of pieces and of chunks would double what an event allocates. */
export const chatProtocol = (asked: Asked & { readonly reader: ReplyReader }): Protocol => {
  const { heading, includeUsage, inputEstimate, reader } = asked
  const writer = chunkWriter({ ...heading, includeUsage })
  const progress: Progress = { end: undefined, early: false, bytes: 0, unsent: 0, held: 0 }
  /** How many events of the cloud have come. */
  let events = 0
  let begun = false
  /** No text and no call has come yet. */
  let silent = true
  let ending: Ending | undefined
  /** Calls that are complete, to be reported with the next frame. */
  let completed: Array<CallPiece> = []
  let frames: Array<Frame> = []

  /** A frame with a piece of a call, and the ends of calls before it. */
  const frameOf = (data: string, call?: CallPiece): Frame => {
    if (call === undefined && completed.length === 0) return { data }
    const calls = completed
    if (call !== undefined) calls.push(call)
    completed = []
    return { data, calls }
  }

  /** Emits the first chunk, once. */
  const begin = (): void => {
    if (!begun) frames.push({ data: writer.role })
    begun = true
  }

  const out: Pieces = {
    push: (piece) => {
      if (piece.type !== "extra") silent = false
      if ("text" in piece) progress.bytes += Buffer.byteLength(piece.text)
      if (piece.type === "call-end") {
        completed.push({ type: "end", key: piece.index })
        return
      }
      begin()
      const data = writer.write(piece)
      if (data !== undefined) frames.push(frameOf(data, callPiece(piece)))
    }
  }

  /** The frames since the last time. */
  const takeFrames = (): ReadonlyArray<Frame> => {
    const all = frames
    frames = []
    return all
  }

  /** The cloud's counts at its end; an estimate from what has come where there are none. */
  const usageOf = (counted: Tokens | undefined): Tokens => {
    const received = { stream: true, events, bytes: progress.bytes + (reader.unsent?.() ?? 0), inputEstimate }
    return counted !== undefined && isCount(counted, received) ? counted : estimateOf(reader.usage(), received)
  }

  /** The final chunk, with the flag where there is one. */
  const finish = (): void => {
    const pieces: Array<Piece> = []
    const ended = reader.end(pieces)
    if (Result.isFailure(ended)) {
      progress.end = ended.failure
      return
    }
    for (const piece of pieces) out.push(piece)
    const all = { ...ended.success, usage: usageOf(ended.success.usage) }
    ending = all
    // Empty content rather than none, so that callers can send the message back.
    if (silent) out.push({ type: "text", text: "" })
    frames.push({
      ...frameOf(writer.finish(all, undefined)),
      flagged: (governance) => [{ data: writer.finish(all, governance) }]
    })
    frames.push(done)
    progress.end = "complete"
  }

  return {
    progress,
    step: (array) => {
      for (const event of array) {
        events++
        const fault = reader.step(event, out)
        if (fault !== undefined) {
          progress.end = fault
          break
        }
        // Thinking emits nothing: the caller gets the first chunk with the cloud's first event anyway.
        begin()
        if (reader.ended()) {
          finish()
          progress.early = reader.stopped?.() === true
          break
        }
      }
      progress.unsent = reader.unsent?.() ?? 0
      progress.held = reader.held?.() ?? 0
      return takeFrames()
    },
    onHalt: () => {
      finish()
      return takeFrames()
    },
    inBand: (error, governance) => [
      { data: JSON.stringify({ ...apiErrorBody(apiError(error)), x_gateway_governance: governance }) }
    ],
    usage: () => (includeUsage ? makeUsage(ending?.usage ?? usageOf(undefined)) : undefined),
    summary: () => ({
      tokens: ending?.usage ?? reader.usage(),
      finishReason: ending?.finishReason,
      filtered: ending?.finishReason === "content_filter"
    })
  }
}

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
    request: { messages: "user", prediction: "assistant", response_format: "system" },
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
      adjusted: [...adjusted],
      stream: request.stream === true,
      maxOutput: reservedOutput(body, route.model),
      reader: readerFor(dialect, route, request),
      heading: { id: `chatcmpl-${id}`, created: Math.floor(startedAt / 1000), model: request.model },
      inputEstimate,
      includeUsage: request.stream_options?.include_usage === true
    }))
  },
  beforeAnswer: printInputs,
  answer: ({ heading, inputEstimate, reader }, { body, bytes }) =>
    Result.map(readAnswer(reader(), body), (answer) => {
      const received = { stream: false, events: 0, bytes: bytes.length, inputEstimate }
      const usage = isCount(answer.usage, received) ? answer.usage : estimateOf(answer.usage, received)
      return {
        calls: (answer.message.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called })),
        body: (governance) => renderCompletion({ ...answer, usage }, heading, governance),
        tokens: usage,
        finishReason: answer.finishReason,
        filtered: answer.finishReason === "content_filter"
      }
    }),
  protocol: (prepared) => chatProtocol({ ...prepared, reader: prepared.reader() })
}
