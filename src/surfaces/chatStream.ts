/** The chat stream: a vendor's events become chunks, and the flags ride on the final one (docs/api.md#chat-stream). */
import { Result } from "effect"
import { estimateOf, isCount, type Tokens } from "../catalog/Tokens.ts"
import { apiErrorBody } from "../contract/Errors.ts"
import type { CallPiece } from "../governance/accumulate.ts"
import type { Governance } from "../governance/flags.ts"
import type { Frame, Progress, Protocol } from "../stream/Frame.ts"
import { ChunkWriter, type Heading } from "../vendors/completion.ts"
import type { Ending, Piece, Pieces, StreamReader } from "../vendors/Dialect.ts"
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

const none: ReadonlyArray<Frame> = []

/** A stream that is being said. It takes pieces one at a time: lists of pieces and of chunks were half of what an event allocated. */
export class ChatState implements Progress, Pieces {
  readonly reader: StreamReader
  readonly writer: ChunkWriter
  readonly inputEstimate: number
  end: Progress["end"]
  early = false
  bytes = 0
  kept = 0
  /** Events of the cloud so far. */
  events = 0
  /** Nothing has been said yet. */
  silent = true
  ending: Ending | undefined
  /** Calls that are complete, to be reported with the next frame. */
  private completed: Array<CallPiece> = []
  private frames: Array<Frame> | undefined

  constructor(reader: StreamReader, writer: ChunkWriter, inputEstimate: number) {
    this.reader = reader
    this.writer = writer
    this.inputEstimate = inputEstimate
  }

  /** Says the role, once. */
  begin(): void {
    const role = this.writer.begin()
    if (role !== undefined) this.say({ data: role })
  }

  push(piece: Piece): void {
    if (piece.type !== "extra") this.silent = false
    if ("text" in piece) this.bytes += Buffer.byteLength(piece.text)
    if (piece.type === "call-end") {
      this.completed.push({ type: "end", key: piece.index })
      return
    }
    this.begin()
    const data = this.writer.write(piece)
    if (data !== undefined) this.say(this.frameOf(data, callPiece(piece)))
  }

  say(frame: Frame): void {
    if (this.frames === undefined) this.frames = [frame]
    else this.frames.push(frame)
  }

  /** What was said since the last time. */
  said(): ReadonlyArray<Frame> {
    const { frames = none } = this
    this.frames = undefined
    return frames
  }

  /** What the reply used, as the cloud counted it at its end; about as much as came, where it has not. */
  usage(counted: Tokens | undefined): Tokens {
    const { bytes, events, inputEstimate, reader } = this
    const received = { stream: true, events, bytes: bytes + (reader.kept?.() ?? 0), inputEstimate }
    return counted !== undefined && isCount(counted, received) ? counted : estimateOf(reader.usage(), received)
  }

  /** A frame that tells governance of a call, and of those that were complete before it. */
  frameOf(data: string, call?: CallPiece): Frame {
    if (call === undefined && this.completed.length === 0) return { data }
    const calls = this.completed
    if (call !== undefined) calls.push(call)
    this.completed = []
    return { data, calls }
  }
}

/** The final chunk, with the flag where there is one. */
const finish = (state: ChatState): void => {
  const { reader, writer } = state
  const pieces: Array<Piece> = []
  const ended = reader.end(pieces)
  if (Result.isFailure(ended)) {
    state.end = ended.failure
    return
  }
  for (const piece of pieces) state.push(piece)
  const ending = { ...ended.success, usage: state.usage(ended.success.usage) }
  state.ending = ending
  // An answer of no words has empty content and not none, so that what clients assemble can be given back.
  if (state.silent) state.push({ type: "text", text: "" })
  const last = (governance: Governance | undefined) => writer.finish(ending, governance)
  const final = last(undefined)
  for (const [at, data] of final.entries()) {
    const frame = state.frameOf(data)
    state.say(
      at < final.length - 1 ? frame : { ...frame, flagged: (governance) => [{ data: last(governance)[at] ?? data }] }
    )
  }
  state.say(done)
  state.end = "complete"
}

export const chatProtocol = (options: {
  readonly makeReader: () => StreamReader
  readonly heading: Heading
  readonly inputEstimate: number
  readonly includeUsage: boolean
}): Protocol<ChatState> => ({
  initial: () => {
    const writer = new ChunkWriter({ ...options.heading, includeUsage: options.includeUsage })
    return new ChatState(options.makeReader(), writer, options.inputEstimate)
  },
  step: (state, events) => {
    const { reader } = state
    for (const event of events) {
      state.events++
      const fault = reader.step(event, state)
      if (fault !== undefined) {
        state.end = fault
        break
      }
      // The caller sees life with the upstream's first event, and not only when the model has thought.
      state.begin()
      if (reader.ended()) {
        finish(state)
        state.early = reader.stopped?.() === true
        break
      }
    }
    state.kept = reader.kept?.() ?? 0
    return [state, state.said()]
  },
  onHalt: (state) => {
    finish(state)
    return state.said()
  },
  inBand: (_, error, governance) => ({
    data: JSON.stringify({
      ...apiErrorBody(apiError(error)),
      ...(governance === undefined ? {} : { x_gateway_governance: governance })
    })
  }),
  summary: ({ ending, reader }) => ({ tokens: ending?.usage ?? reader.usage(), finishReason: ending?.finishReason })
})
