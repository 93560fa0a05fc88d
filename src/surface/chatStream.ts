/** The chat stream: a vendor's events become chunks, and the flags ride on the final one (docs/api.md#chat-stream). */
import { Result } from "effect"
import { apiErrorBody } from "../api/Errors.ts"
import { type ChunkWriter, type Heading, makeChunkWriter } from "../dialect/completion.ts"
import type { Ending, Piece, StreamReader } from "../dialect/Dialect.ts"
import type { CallPiece } from "../governance/accumulate.ts"
import type { Governance } from "../governance/flags.ts"
import type { Frame, Progress, Protocol } from "../stream/Frame.ts"
import { apiError } from "./wireError.ts"

export interface ChatState extends Progress {
  readonly reader: StreamReader
  readonly writer: ChunkWriter
  /** Nothing has been said yet. */
  silent: boolean
  /** Calls that are complete, to be told with the next frame. */
  completed: ReadonlyArray<CallPiece>
  ending: Ending | undefined
}

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

/** A frame that tells governance of a call, and of those that were complete before it. */
const frameOf = (state: ChatState, data: string, call: CallPiece | undefined): Frame => {
  if (call === undefined && state.completed.length === 0) return { data }
  const calls = call === undefined ? state.completed : [...state.completed, call]
  state.completed = []
  return { data, calls }
}

const write = (state: ChatState, pieces: ReadonlyArray<Piece>, frames: Array<Frame>): void => {
  const chunks: Array<string> = []
  for (const piece of pieces) {
    state.silent = false
    if (piece.type === "call-end") {
      state.completed = [...state.completed, { type: "end", key: piece.index }]
      continue
    }
    state.writer.write(piece, chunks)
    for (const [at, data] of chunks.entries()) {
      frames.push(frameOf(state, data, at === chunks.length - 1 ? callPiece(piece) : undefined))
    }
    chunks.length = 0
  }
}

/** An answer of no words has empty content and not none, so that what clients assemble can be given back. */
const nothing: ReadonlyArray<Piece> = [{ type: "text", text: "" }]

/** The final chunk, with the flag where there is one. */
const finish = (state: ChatState, frames: Array<Frame>): void => {
  const pieces: Array<Piece> = []
  const ended = state.reader.end(pieces)
  if (Result.isFailure(ended)) {
    state.end = ended.failure
    return
  }
  const ending = ended.success
  state.ending = ending
  write(state, pieces, frames)
  if (state.silent) write(state, nothing, frames)
  const last = (governance: Governance | undefined) => state.writer.finish(ending, governance)
  const final = last(undefined)
  for (const [at, data] of final.entries()) {
    const frame = frameOf(state, data, undefined)
    frames.push(
      at < final.length - 1 ? frame : { ...frame, flagged: (governance) => [{ data: last(governance)[at] ?? data }] }
    )
  }
  frames.push(done)
  state.end = "complete"
}

export const chatProtocol = (options: {
  readonly makeReader: () => StreamReader
  readonly heading: Heading
  readonly includeUsage: boolean
}): Protocol<ChatState> => ({
  initial: () => ({
    end: undefined,
    kept: 0,
    reader: options.makeReader(),
    writer: makeChunkWriter({ ...options.heading, includeUsage: options.includeUsage }),
    silent: true,
    completed: [],
    ending: undefined
  }),
  step: (state, events) => {
    const frames: Array<Frame> = []
    const pieces: Array<Piece> = []
    for (const event of events) {
      const fault = state.reader.step(event, pieces)
      // The caller sees life with the upstream's first event, and not only when the model has thought.
      const role = fault === undefined ? state.writer.begin() : undefined
      if (role !== undefined) frames.push({ data: role })
      write(state, pieces, frames)
      pieces.length = 0
      if (fault !== undefined) {
        state.end = fault
        break
      }
      if (state.reader.ended()) {
        finish(state, frames)
        state.early = state.reader.stopped?.() === true
        break
      }
    }
    state.kept = state.reader.kept?.() ?? 0
    return [state, frames]
  },
  onHalt: (state) => {
    const frames: Array<Frame> = []
    finish(state, frames)
    return frames
  },
  inBand: (_, error, governance) => ({
    data: JSON.stringify({
      ...apiErrorBody(apiError(error)),
      ...(governance === undefined ? {} : { x_gateway_governance: governance })
    })
  }),
  summary: ({ ending, reader }) => ({ tokens: ending?.usage ?? reader.usage(), finishReason: ending?.finishReason })
})
