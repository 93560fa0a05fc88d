/**
 * Answers to chat requests: what the dialects' answers have in common (docs/api.md#chat-answers), and how they are written, as one
 * object or as a stream of chunks (docs/api.md#chat-stream).
 */
import { hash, randomBytes } from "node:crypto"
import { Predicate, Record, Result } from "effect"
import type { Tokens } from "../catalog/Tokens.ts"
import { type Broken, invalidBody, type UpstreamFault, unfinished } from "../catalog/UpstreamFault.ts"
import { chatLimits } from "../contract/ChatMessage.ts"
import type { Completion, CompletionChunk, FinishReason, Usage } from "../contract/ChatReply.ts"
import type { Governance } from "../contract/Governance.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { meaningsOf } from "../wire/words.ts"
import type { Ending, Piece, Pieces, ReplyReader, Served } from "./Dialect.ts"

/** An ID that is the same each time for the same text: `call_` and so many hexadecimal digits. */
export const digestId = (text: string, digits: number): string => `call_${hash("sha256", text).slice(0, digits)}`

/**
 * The ID of a call, as callers may give it back: one that is longer becomes a digest of itself, the same each time. Without one it is
 * unique across turns, so that a history of several turns is unambiguous (docs/decisions.md#tool-calls-of-gemini).
 */
export const callId = (given: Json | undefined): string => {
  const id = textOf(given) || `call_${randomBytes(12).toString("hex")}`
  return id.length <= chatLimits.toolCallId ? id : digestId(id, 48)
}

/** A model that calls tools has not stopped, whatever its vendor says (docs/decisions.md#tool-calls-of-gemini). */
export const finishOf = (reason: FinishReason, calls: number): FinishReason =>
  reason === "stop" && calls > 0 ? "tool_calls" : reason

const makeCall = (id: string, name: string, args: string, extra: JsonObject | undefined) => ({
  id,
  type: "function" as const,
  function: { name, arguments: args },
  ...(extra === undefined ? {} : { extra_content: extra })
})

/** The piece of a text; an empty one is none. */
export const addText = (text: string, out: Pieces, logprobs?: JsonObject, type: "text" | "refusal" = "text"): void => {
  if (text !== "") out.push(logprobs === undefined ? { type, text } : { type, text, logprobs })
}

/** How a completion, a chunk or a response was served; undefined where it does not say. */
export const servedOf = ({ service_tier, system_fingerprint }: JsonObject): Served | undefined => {
  const served = Record.filter({ service_tier, system_fingerprint }, Predicate.isString)
  return Record.isEmptyRecord(served) ? undefined : served
}

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

/** The lists of a reply's blocks, parts, calls or items, in the formats of all vendors. */
export const listsOf = ({ candidates, choices, content, output }: JsonObject): ReadonlyArray<ReadonlyArray<Json>> =>
  [
    content,
    objectOf(objectOf(arrayOf(candidates)[0]).content).parts,
    objectOf(objectOf(arrayOf(choices)[0]).message).tool_calls,
    output
  ].map(arrayOf)

export const readAnswer = (reader: ReplyReader, body: JsonObject): Result.Result<ChatAnswer, UpstreamFault> => {
  if (listsOf(body).some(({ length }) => length > maxParts)) return Result.fail(invalidBody)
  const pieces: Array<Piece> = []
  const fault = reader.whole(body, pieces)
  if (fault !== undefined) return Result.fail(fault)
  return Result.map(reader.end(pieces), (ending) => ({
    ...ending,
    message: messageOf(pieces),
    usage: ending.usage ?? { input: 0, output: 0 }
  }))
}

/** `failed`: there is no usable answer. */
type Meaning = FinishReason | "failed"

/**
 * Why an answer ended: one table for the finish reasons of all vendors (docs/decisions.md#finish-reasons,
 * docs/upstreams.md#finish-reasons). An unknown one is never `stop`, because the answer may not be whole.
 */
const meanings = meaningsOf<Meaning>(
  // OpenAI's formats; `completed` is the status of a response, and `max_output_tokens` why one is incomplete.
  ["stop completed", "stop"],
  ["length max_output_tokens", "length"],
  ["tool_calls function_call", "tool_calls"],
  ["content_filter", "content_filter"],
  // Claude, and Bedrock.
  ["end_turn stop_sequence", "stop"],
  ["max_tokens model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal guardrail_intervened content_filtered", "content_filter"],
  // Only the vendor's server tools pause a turn, and those are refused.
  ["pause_turn", "failed"],
  // Gemini.
  ["STOP", "stop"],
  ["MAX_TOKENS CONTINUATION", "length"],
  ["SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR OTHER", "content_filter"],
  ["IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION", "content_filter"],
  ["FINISH_REASON_UNSPECIFIED MISSING_THOUGHT_SIGNATURE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS", "failed"],
  ["NO_IMAGE IMAGE_OTHER", "failed"]
)

/** Kinds of failure, of any vendor: `error`, `server_error`, `malformed_tool_use`, `MALFORMED_FUNCTION_CALL`. */
const failure = /^malformed|(?:^|_)error$/i

/**
 * The finish reason that a vendor's word means. Fails for one of a failure; an unknown one, or none, is `content_filter`. So is any of a
 * guarded answer (`isGuarded`).
 */
export const finishOfWord = (word: string | undefined, guarded = false): Result.Result<FinishReason, Broken> => {
  if (guarded) return Result.succeed("content_filter")
  const meaning = meanings.get(word ?? "") ?? (failure.test(word ?? "") ? "failed" : "content_filter")
  return meaning === "failed" ? Result.fail(unfinished(word ?? "")) : Result.succeed(meaning)
}

/** Whether a vendor's finish reason is that of a filter; an unknown one is not, on surfaces that pass it on. */
export const isFilter = (word: Json | undefined): boolean => meanings.get(textOf(word) ?? "") === "content_filter"

/** The type of an event. An error without one is that of the cloud in front of the API. */
export const eventTypeOf = ({ type, error }: JsonObject): string | undefined =>
  textOf(type) ?? (isObject(error) ? "error" : undefined)

/** Whether a guardrail of Bedrock replaced the answer; its finish reason may be that of a normal end. */
export const isGuarded = (body: JsonObject): boolean => (body["amazon-bedrock-guardrailAction"] ?? "NONE") !== "NONE"

/** The same in every chunk of an answer; clients drop chunks that differ. */
export interface Heading {
  readonly id: string
  /** Unix time in seconds. */
  readonly created: number
  /** The ID that the caller asked for. */
  readonly model: string
}

/** Token counts in the chat format. */
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

type Choice = CompletionChunk["choices"][number]
type Delta = Choice["delta"]

/** Writes the chunks of one stream, as the JSON text of each. */
export const chunkWriter = ({ includeUsage, id, created, model }: Heading & { readonly includeUsage: boolean }) => {
  const print = (choice: Choice, ending: Partial<CompletionChunk> = {}): string => {
    const chunk: CompletionChunk = { id, object: "chat.completion.chunk", created, model, choices: [choice], ...ending }
    return JSON.stringify(chunk)
  }
  return {
    /** The first chunk. */
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
