/**
 * `parallel_tool_calls: false` where the vendor has no word for it: of several calls the first is passed on, and the model can ask
 * for the others when it has seen what came of it (docs/decisions.md#one-call-at-a-time).
 */
import { Result } from "effect"
import type { Route } from "../catalog/Route.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { Dialect, Piece, Pieces, StreamReader } from "./Dialect.ts"

/** Whether a request wants no more than one call. */
export const wantsOne = ({ parallel_tool_calls }: ChatRequest): boolean => parallel_tool_calls === false

const isOther = (piece: Piece): boolean => "index" in piece && piece.index > 0

const oneOf = (reader: StreamReader): StreamReader => {
  const heard: Array<Piece> = []
  const pass = (out: Pieces): void => {
    for (const piece of heard) if (!isOther(piece)) out.push(piece)
    heard.length = 0
  }
  return {
    step: (event, out) => {
      const fault = reader.step(event, heard)
      pass(out)
      return fault
    },
    end: (out) => {
      const ended = reader.end(heard)
      pass(out)
      return ended
    },
    ended: () => reader.ended(),
    kept: () => reader.kept?.() ?? 0,
    usage: () => reader.usage()
  }
}

/** The dialect, with one call at a time where `unsaid` says that its request cannot ask for it. */
export const onlyFirst = (dialect: Dialect, unsaid: (route: Route) => boolean): Dialect => ({
  ...dialect,
  reply: (body, route, chat) => {
    const answer = dialect.reply(body, route, chat)
    return chat !== undefined && wantsOne(chat) && unsaid(route)
      ? Result.map(answer, (whole) => ({ ...whole, toolCalls: whole.toolCalls.slice(0, 1) }))
      : answer
  },
  stream: (route, chat) => {
    const reader = dialect.stream(route, chat)
    return chat !== undefined && wantsOne(chat) && unsaid(route) ? oneOf(reader) : reader
  }
})
