/** The chat stream: a vendor's events become chunks, and the flags ride on the final one (spec: Chat-completions stream). */
import { Result } from "effect"
import { type Heading, makeChunkWriter } from "../dialect/completion.ts"
import type { Ending, Piece, StreamReader } from "../dialect/Dialect.ts"
import { makeAccumulator } from "../governance/accumulate.ts"
import { governanceOf } from "../governance/flags.ts"
import { errorDetail } from "./errorReply.ts"
import type { Observation } from "./Observation.ts"
import type { Rewriter, Rewritten } from "./streamReply.ts"
import { chatTokens, usageAttributes } from "./tokens.ts"

/** An answer of no words has empty content and not none, so that what clients assemble can be given back. */
const nothing: ReadonlyArray<Piece> = [{ type: "text", text: "" }]

export const chatRewriter = (options: {
  readonly reader: StreamReader
  readonly heading: Heading
  readonly includeUsage: boolean
  readonly observation: Observation
}): Rewriter => {
  const { reader, observation } = options
  const writer = makeChunkWriter({ ...options.heading, includeUsage: options.includeUsage })
  const calls = makeAccumulator()
  let ending: Ending | undefined
  let silent = true

  const watch = (pieces: ReadonlyArray<Piece>) => {
    if (pieces.length > 0) silent = false
    for (const piece of pieces) {
      if (piece.type === "call") calls.start(piece.index, piece.id, piece.name)
      else if (piece.type === "arguments") calls.append(piece.index, piece.text)
      else if (piece.type === "call-end") calls.complete(piece.index)
    }
    return pieces
  }

  const end = (): Rewritten => {
    const ended = reader.end()
    if (Result.isFailure(ended)) return { text: "", failure: ended.failure }
    ending = ended.success.ending
    const rest = writer.write(watch(ended.success.pieces)) + (silent ? writer.write(nothing) : "")
    return { text: rest + writer.finish(ending, governanceOf(calls.flags())), done: true }
  }

  return {
    step: (events) => {
      let text = ""
      for (const event of events) {
        const pieces = reader.step(event)
        if (Result.isFailure(pieces)) return { text, failure: pieces.failure }
        text += writer.write(watch(pieces.success))
        if (reader.ended()) {
          const last = end()
          return { ...last, text: text + last.text }
        }
      }
      return { text }
    },
    end,
    settle: (span) => {
      const usage = ending?.usage ?? reader.usage()
      observation.flags = calls.flags().length
      observation.finishReason = ending?.finishReason
      if (usage === undefined) return
      observation.tokens = chatTokens(usage)
      span.set(usageAttributes(observation.tokens, ending?.finishReason, observation.flags))
    },
    // Flags of the calls so far are not lost with the stream.
    inBand: (error) => {
      const governance = governanceOf(calls.flags())
      return `data: ${JSON.stringify({
        error: errorDetail(error),
        ...(governance === undefined ? {} : { x_gateway_governance: governance })
      })}\n\n`
    }
  }
}
