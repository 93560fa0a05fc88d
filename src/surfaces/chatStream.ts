/** The chat stream: a vendor's events become chunks, and the flags ride on the final one (docs/api.md#chat-stream). */
import { Result } from "effect"
import { estimateOf, isCount, type Tokens } from "../catalog/Tokens.ts"
import { apiErrorBody } from "../contract/Errors.ts"
import type { CallPiece, Governance } from "../governance/accumulate.ts"
import type { Frame, Progress, Protocol } from "../stream/Frame.ts"
import { chunkWriter, type Heading, makeUsage } from "../vendors/completion.ts"
import type { Ending, Piece, Pieces, ReplyReader } from "../vendors/Dialect.ts"
import { apiError } from "./errorResponse.ts"

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

/** It takes pieces one at a time: lists of pieces and of chunks were half of what an event allocated. */
export const chatProtocol = (options: {
  readonly reader: ReplyReader
  readonly heading: Heading
  readonly inputEstimate: number
  readonly includeUsage: boolean
}): Protocol => {
  const { heading, includeUsage, inputEstimate, reader } = options
  const writer = chunkWriter({ ...heading, includeUsage })
  const progress: Progress = { end: undefined, early: false, bytes: 0, kept: 0 }
  /** Events of the cloud so far. */
  let events = 0
  /** Nothing has been said yet. */
  let silent = true
  let ending: Ending | undefined
  /** Calls that are complete, to be reported with the next frame. */
  let completed: Array<CallPiece> = []
  let frames: Array<Frame> = []

  /** A frame that tells governance of a call, and of those that were complete before it. */
  const frameOf = (data: string, call?: CallPiece): Frame => {
    if (call === undefined && completed.length === 0) return { data }
    const calls = completed
    if (call !== undefined) calls.push(call)
    completed = []
    return { data, calls }
  }

  /** Says the role, once. */
  const begin = (): void => {
    const role = writer.begin()
    if (role !== undefined) frames.push({ data: role })
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

  /** What was said since the last time. */
  const said = (): ReadonlyArray<Frame> => {
    const all = frames
    frames = []
    return all
  }

  /** What the reply used, as the cloud counted it at its end; about as much as came, where it has not. */
  const usageOf = (counted: Tokens | undefined): Tokens => {
    const received = { stream: true, events, bytes: progress.bytes + (reader.kept?.() ?? 0), inputEstimate }
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
    // An answer of no words has empty content and not none, so that what clients assemble can be given back.
    if (silent) out.push({ type: "text", text: "" })
    const last = (governance: Governance | undefined) => writer.finish(all, governance)
    const final = last(undefined)
    for (const [at, data] of final.entries()) {
      const frame = frameOf(data)
      frames.push(
        at < final.length - 1 ? frame : { ...frame, flagged: (governance) => [{ data: last(governance)[at] ?? data }] }
      )
    }
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
        // The caller sees life with the upstream's first event, and not only when the model has thought.
        begin()
        if (reader.ended()) {
          finish()
          progress.early = reader.stopped?.() === true
          break
        }
      }
      progress.kept = reader.kept?.() ?? 0
      return said()
    },
    onHalt: () => {
      finish()
      return said()
    },
    inBand: (error, governance) => [
      {
        data: JSON.stringify({
          ...apiErrorBody(apiError(error)),
          ...(governance === undefined ? {} : { x_gateway_governance: governance })
        })
      }
    ],
    usage: () => (includeUsage ? makeUsage(ending?.usage ?? usageOf(undefined)) : undefined),
    summary: () => ({
      tokens: ending?.usage ?? reader.usage(),
      finishReason: ending?.finishReason,
      filtered: ending?.finishReason === "content_filter"
    })
  }
}
