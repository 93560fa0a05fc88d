/** Answers in the chat format: one object, or a stream of chunks (docs/api.md#chat-answers, docs/api.md#chat-stream). */
import type { Tokens } from "../catalog/Tokens.ts"
import type { Completion, CompletionChunk, Usage } from "../contract/ChatReply.ts"
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

type Choice = CompletionChunk["choices"][number]
type Delta = Choice["delta"]

/** Writes the chunks of one stream, as the JSON text of each. It has state: whether the role has been said. */
export const chunkWriter = ({ includeUsage, id, created, model }: Heading & { readonly includeUsage: boolean }) => {
  const print = (choice: Choice, ending: Partial<CompletionChunk> = {}): string => {
    const chunk: CompletionChunk = { id, object: "chat.completion.chunk", created, model, choices: [choice], ...ending }
    return JSON.stringify(chunk)
  }
  const role = print({ index: 0, delta: { role: "assistant" }, finish_reason: null })
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
      if (delta === undefined) return undefined
      const logprobs = "logprobs" in piece ? { logprobs: piece.logprobs } : {}
      return print({ index: 0, delta, ...logprobs, finish_reason: null })
    },
    /** The one final chunk, with usage where it was asked for and the flag where there is one; the role's first, if unsaid. */
    finish: ({ finishReason, usage, served }: Ending, governance: Governance | undefined): ReadonlyArray<string> => {
      const final = print(
        { index: 0, delta: {}, finish_reason: finishReason },
        {
          ...(includeUsage && usage !== undefined ? { usage: makeUsage(usage) } : {}),
          ...served,
          ...(governance === undefined ? {} : { x_gateway_governance: governance })
        }
      )
      return begun ? [final] : [role, final]
    }
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
    case "call": {
      const { index, id, name, extra } = piece
      const call = { index, id, type: "function" as const, function: { name, arguments: "" } }
      return { tool_calls: [extra === undefined ? call : { ...call, extra_content: extra }] }
    }
    case "extra":
      return { extra_content: piece.extra }
    case "call-end":
      return undefined
  }
}
