/**
 * The reply of a chat request, as one object (docs/api.md#chat-answers) or as a stream of chunks, with the flags on the final one
 * (docs/api.md#chat-stream).
 */
import { Result } from "effect"
import { estimateOf, isCount, type Tokens } from "../catalog/Tokens.ts"
import { invalidBody, type UpstreamFault } from "../catalog/UpstreamFault.ts"
import type { Reply } from "../cloud/Provider.ts"
import type { Completion, CompletionChunk, Usage } from "../contract/ChatReply.ts"
import { apiErrorBody } from "../contract/Errors.ts"
import type { Governance } from "../contract/Governance.ts"
import type { CallPiece } from "../governance/accumulate.ts"
import type { Frame, Progress, Protocol } from "../stream/Frame.ts"
import { listsOf } from "../vendors/answer.ts"
import type { Ending, Piece, ReplyReader } from "../vendors/Dialect.ts"
import type { JsonObject } from "../wire/json.ts"
import type { Slices } from "../wire/slices.ts"
import { apiError } from "./errorResponse.ts"
import type { Answer } from "./Surface.ts"

/** What a reply needs to know of its request. */
export interface Asked {
  readonly heading: Heading
  readonly inputEstimate: number
  readonly includeUsage: boolean
}

/** The same in every chunk of an answer; clients drop chunks that differ. */
interface Heading {
  readonly id: string
  /** Unix time in seconds. */
  readonly created: number
  /** The ID that the caller asked for. */
  readonly model: string
}

const makeCall = (id: string, name: string, args: string, extra: JsonObject | undefined) => ({
  id,
  type: "function" as const,
  function: { name, arguments: args },
  ...(extra === undefined ? {} : { extra_content: extra })
})

export const makeUsage = ({ input, output, cached, cacheWrites, reasoning }: Tokens): Usage => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...((cached ?? cacheWrites) === undefined
    ? {}
    : {
        prompt_tokens_details: { cached_tokens: cached ?? 0, ...(cacheWrites && { cache_write_tokens: cacheWrites }) }
      }),
  ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } })
})

// A whole reply

export interface ChatAnswer extends Ending {
  readonly message: Completion["choices"][number]["message"]
  readonly usage: Tokens
}

/**
 * Content is null only where there are calls or a refusal, so that callers can send the message back; an empty answer is an empty
 * string. `refusal` is null where there is none, because OpenAI's schema demands the key.
 */
const messageOf = (pieces: ReadonlyArray<Piece>): ChatAnswer["message"] => {
  const said = (type: "text" | "refusal") => pieces.flatMap((piece) => (piece.type === type ? piece.text : [])).join("")
  const [text, refusal] = [said("text"), said("refusal")]
  const cited = pieces.filter((piece) => piece.type === "annotations")
  const extra = pieces.findLast((piece) => piece.type === "extra")?.extra
  const args = new Map<number, string>()
  for (const piece of pieces) {
    if (piece.type === "arguments") args.set(piece.index, (args.get(piece.index) ?? "") + piece.text)
  }
  const calls = pieces
    .filter((piece) => piece.type === "call")
    .map(({ extra, id, index, name }) => makeCall(id, name, args.get(index) ?? "", extra))
  return {
    role: "assistant",
    content: text === "" && (calls.length > 0 || refusal !== "") ? null : text,
    refusal: refusal === "" ? null : refusal,
    ...(cited.length === 0 ? {} : { annotations: cited.flatMap(({ annotations }) => annotations) }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(extra === undefined ? {} : { extra_content: extra })
  }
}

/** Most blocks, parts, calls or items of a whole reply, which is read in one step: more than the longest answer of a model has. */
const maxParts = 10_000

export function* readAnswer(reader: ReplyReader, body: JsonObject): Slices<Result.Result<ChatAnswer, UpstreamFault>> {
  if (listsOf(body).some(({ length }) => length > maxParts)) return Result.fail(invalidBody)
  const pieces: Array<Piece> = []
  const fault = yield* reader.whole(body, pieces)
  if (fault !== undefined) return Result.fail(fault)
  return Result.map(reader.end(pieces), (ending) => ({
    ...ending,
    message: messageOf(pieces),
    usage: ending.usage ?? { input: 0, output: 0 }
  }))
}

/** `logprobs` is null where there are none, because OpenAI's schema demands the key. */
export const renderCompletion = (
  { finishReason, logprobs, message, served, usage }: ChatAnswer,
  { id, created, model }: Heading,
  governance?: Governance
): Completion => ({
  id,
  object: "chat.completion",
  created,
  model,
  choices: [{ index: 0, message, logprobs: logprobs ?? null, finish_reason: finishReason }],
  usage: makeUsage(usage),
  ...served,
  ...(governance === undefined ? {} : { x_gateway_governance: governance })
})

export function* chatAnswer(
  { heading, inputEstimate, reader }: Asked & { readonly reader: ReplyReader },
  { body, bytes }: Pick<Reply, "body" | "bytes">
): Slices<Result.Result<Answer, UpstreamFault>> {
  return Result.map(yield* readAnswer(reader, body), (answer) => {
    const received = { stream: false, events: 0, bytes: bytes.length, inputEstimate }
    const usage = isCount(answer.usage, received) ? answer.usage : estimateOf(answer.usage, received)
    return {
      calls: (answer.message.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called })),
      body: (governance) => renderCompletion({ ...answer, usage }, heading, governance),
      tokens: usage,
      finishReason: answer.finishReason,
      filtered: answer.finishReason === "content_filter"
    }
  })
}

// A stream

type Choice = CompletionChunk["choices"][number]
type Delta = Choice["delta"]

/** Writes the chunks of one stream, as the JSON text of each. */
export const chunkWriter = ({ includeUsage, id, created, model }: Heading & { readonly includeUsage: boolean }) => {
  const print = (choice: Choice, ending: Partial<CompletionChunk> = {}): string => {
    const chunk: CompletionChunk = { id, object: "chat.completion.chunk", created, model, choices: [choice], ...ending }
    return JSON.stringify(chunk)
  }
  return {
    role: print({ index: 0, delta: { role: "assistant" }, finish_reason: null }),
    /** The chunk of a piece; undefined for one without a delta. */
    write: (piece: Piece): string | undefined => {
      const delta = deltaOf(piece)
      if (delta === undefined) return undefined
      const logprobs = "logprobs" in piece ? { logprobs: piece.logprobs } : {}
      return print({ index: 0, delta, ...logprobs, finish_reason: null })
    },
    /** The one final chunk, with usage where it was asked for and the flag where there is one. */
    finish: ({ finishReason, usage, served }: Ending, governance: Governance | undefined): string =>
      print(
        { index: 0, delta: {}, finish_reason: finishReason },
        {
          ...(includeUsage && usage !== undefined ? { usage: makeUsage(usage) } : {}),
          ...served,
          ...(governance === undefined ? {} : { x_gateway_governance: governance })
        }
      )
  }
}

const deltaOf = (piece: Piece): Delta | undefined => {
  switch (piece.type) {
    case "text":
      return { content: piece.text }
    case "refusal":
      return { refusal: piece.text }
    case "annotations":
      return { annotations: piece.annotations }
    case "arguments":
      return { tool_calls: [{ index: piece.index, function: { arguments: piece.text } }] }
    case "call":
      return { tool_calls: [{ index: piece.index, ...makeCall(piece.id, piece.name, "", piece.extra) }] }
    case "extra":
      return { extra_content: piece.extra }
    case "call-end":
      return undefined
  }
}

const callPiece = (piece: Piece): CallPiece | undefined => {
  switch (piece.type) {
    case "call":
      return { type: "start", key: piece.index, id: piece.id, name: piece.name }
    case "arguments":
      return { type: "append", key: piece.index, text: piece.text }
    case "call-end":
      return { type: "end", key: piece.index }
    default:
      return undefined
  }
}

export const chatProtocol = (asked: Asked & { readonly reader: ReplyReader }): Protocol => {
  const { heading, includeUsage, inputEstimate, reader } = asked
  const writer = chunkWriter({ ...heading, includeUsage })
  const progress: Progress = { end: undefined, bytes: 0 }
  let frames: Array<Frame> = []
  /** Pieces of calls, which go with the next frame: the end of a call has none of its own. */
  let calls: Array<CallPiece> = []
  let begun = false
  /** No text and no call has come yet. */
  let silent = true
  /** How many events of the cloud have come. */
  let events = 0
  let ending: Ending | undefined

  const add = (frame: Frame): void => {
    frames.push(calls.length === 0 ? frame : { ...frame, calls })
    calls = []
  }

  /** Emits the first chunk, once. */
  const begin = (): void => {
    if (!begun) add({ data: writer.role })
    begun = true
  }

  const push = (piece: Piece): void => {
    if (piece.type !== "extra") silent = false
    if ("text" in piece) progress.bytes += Buffer.byteLength(piece.text)
    const data = writer.write(piece)
    if (data !== undefined) begin()
    const call = callPiece(piece)
    if (call !== undefined) calls.push(call)
    if (data !== undefined) add({ data })
  }

  /** The cloud's counts at its end; an estimate from what has come where there are none. */
  const usageOf = (counted: Tokens | undefined): Tokens => {
    const received = { stream: true, events, bytes: progress.bytes + (reader.unsent?.() ?? 0), inputEstimate }
    return counted !== undefined && isCount(counted, received) ? counted : estimateOf(reader.usage(), received)
  }

  const finish = (): void => {
    const pieces: Array<Piece> = []
    const ended = reader.end(pieces)
    if (Result.isFailure(ended)) {
      progress.end = ended.failure
      return
    }
    for (const piece of pieces) push(piece)
    const last: Ending = { ...ended.success, usage: usageOf(ended.success.usage) }
    ending = last
    // Empty content rather than none, so that callers can send the message back.
    if (silent) push({ type: "text", text: "" })
    add({ data: writer.finish(last, undefined), flagged: (governance) => [{ data: writer.finish(last, governance) }] })
    add({ data: "[DONE]" })
    progress.end = "complete"
    progress.early = reader.stopped?.() === true
  }

  const takeFrames = (): ReadonlyArray<Frame> => {
    progress.unsent = reader.unsent?.() ?? 0
    progress.held = reader.held?.() ?? 0
    const taken = frames
    frames = []
    return taken
  }

  return {
    progress,
    step: (array) => {
      for (const event of array) {
        events++
        progress.end = reader.step(event, { push })
        if (progress.end !== undefined) break
        // Thinking emits nothing: the caller gets the first chunk with the cloud's first event anyway.
        begin()
        if (reader.ended()) finish()
        if (progress.end !== undefined) break
      }
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
