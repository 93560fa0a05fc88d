/** Answers in the chat format: one object, or a stream of chunks (docs/api.md#chat-answers, docs/api.md#chat-stream). */
import type { Tokens } from "../catalog/Tokens.ts"
import type { Completion, Usage } from "../contract/ChatReply.ts"
import type { Governance } from "../contract/Governance.ts"
import type { Answer, Ending, Piece } from "./Dialect.ts"

/** What every chunk of an answer repeats; clients lose chunks that differ. */
export interface Heading {
  readonly id: string
  /** Unix time in seconds. */
  readonly created: number
  /** The composite ID that was asked for. */
  readonly model: string
}

/** Token counts as the chat format says them. */
export const makeUsage = ({ input, output, cached, reasoning }: Tokens): Usage => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } })
})

/**
 * Null content stands only beside what is said instead, so that the message can be given back as it is. `refusal` and `logprobs`
 * are null where there are none, because OpenAI's schema demands the keys.
 */
export const renderCompletion = (
  answer: Answer,
  { id, created, model, governance }: Heading & { readonly governance?: Governance | undefined }
): Completion => ({
  id,
  object: "chat.completion",
  created,
  model,
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: answer.content ?? (answer.toolCalls.length > 0 || answer.refusal !== undefined ? null : ""),
        refusal: answer.refusal ?? null,
        ...(answer.annotations === undefined ? {} : { annotations: answer.annotations }),
        ...(answer.toolCalls.length === 0 ? {} : { tool_calls: answer.toolCalls }),
        ...(answer.extra === undefined ? {} : { extra_content: answer.extra })
      },
      logprobs: answer.logprobs ?? null,
      finish_reason: answer.finishReason
    }
  ],
  usage: makeUsage(answer.usage),
  ...answer.served,
  ...(governance === undefined ? {} : { x_gateway_governance: governance })
})

/**
 * Writes the chunks of one stream, as the JSON text of each. Only what changes is printed for each piece: texts are the hot path.
 * It has state: whether the role has been said.
 */
export const chunkWriter = ({ id, created, model, includeUsage }: Heading & { readonly includeUsage: boolean }) => {
  const heading = JSON.stringify({ id, object: "chat.completion.chunk", created, model }).slice(0, -1)
  const before = `${heading},"choices":[{"index":0,"delta":`
  const role = `${before}{"role":"assistant"}${unfinished}`
  let begun = false
  return {
    /** The role's chunk, once. */
    begin: (): string | undefined => {
      if (begun) return undefined
      begun = true
      return role
    },
    /** The chunk of a piece, before which the role's has been said; undefined for a piece without a delta. */
    write: (piece: Piece): string | undefined => {
      const delta = deltaOf(piece)
      return delta === undefined ? undefined : before + delta + after(piece)
    },
    /** The one final chunk, with usage where it was asked for and the flag where there is one; the role's first, if unsaid. */
    finish: ({ finishReason, usage, served }: Ending, governance: Governance | undefined): ReadonlyArray<string> => {
      const counted = includeUsage && usage !== undefined ? `,"usage":${JSON.stringify(makeUsage(usage))}` : ""
      const flagged = governance === undefined ? "" : `,"x_gateway_governance":${JSON.stringify(governance)}`
      const how = served === undefined ? "" : `,${JSON.stringify(served).slice(1, -1)}`
      const final = `${before}{},"finish_reason":"${finishReason}"}]${counted}${how}${flagged}}`
      return begun ? [final] : [role, final]
    }
  }
}

const unfinished = `,"finish_reason":null}]}`

/** What follows a delta in its chunk. */
const after = (piece: Piece): string =>
  (piece.type === "text" || piece.type === "refusal") && piece.logprobs !== undefined
    ? `,"logprobs":${JSON.stringify(piece.logprobs)}${unfinished}`
    : unfinished

const deltaOf = (piece: Piece): string | undefined => {
  switch (piece.type) {
    case "text":
      return `{"content":${JSON.stringify(piece.text)}}`
    case "refusal":
      return `{"refusal":${JSON.stringify(piece.text)}}`
    case "annotations":
      return JSON.stringify({ annotations: piece.annotations })
    case "arguments":
      return `{"tool_calls":[{"index":${piece.index},"function":{"arguments":${JSON.stringify(piece.text)}}}]}`
    case "call": {
      const { index, id, name, extra } = piece
      return JSON.stringify({
        tool_calls: [{ index, id, type: "function", function: { name, arguments: "" }, extra_content: extra }]
      })
    }
    case "extra":
      return JSON.stringify({ extra_content: piece.extra })
    case "call-end":
      return undefined
  }
}
