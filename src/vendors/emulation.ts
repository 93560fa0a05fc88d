/** What the gateway does itself where the vendor's API does not support it: stop sequences, one call at a time, and JSON. */
import { Result } from "effect"
import { invalid } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { JsonObject } from "../wire/json.ts"
import { drops } from "../wire/strip.ts"
import type { Adjusted } from "./adjustments.ts"
import { addText, finishOf } from "./answer.ts"
import { choiceOf, formatInstruction, jsonFormat, stopsOf, toolsOf, wantsSingleCall } from "./chatRequest.ts"
import type { Dialect, Pieces, ReplyReader } from "./Dialect.ts"
import { stopFilter } from "./stopFilter.ts"
import { jsonFenceFilter } from "./textFilters.ts"

const mapPieces = (reader: ReplyReader, change: (out: Pieces) => Pieces): ReplyReader => ({
  ...reader,
  whole: (body, out) => reader.whole(body, change(out)),
  step: (event, out) => reader.step(event, change(out)),
  end: (out) => reader.end(change(out))
})

/** A reader that ends where its text ends, before the first stop sequence. */
const stoppingReader = (reader: ReplyReader, sequences: ReadonlyArray<string>): ReplyReader => {
  const filter = stopFilter(sequences)
  let calls = 0
  let withheld = 0
  let isWhole = false

  const show = (text: string, out: Pieces): void => {
    if (text === "") return
    withheld -= Buffer.byteLength(text)
    out.push({ type: "text", text })
  }
  const watched = mapPieces(reader, (out) => ({
    push: (piece) => {
      if (piece.type === "text") {
        withheld += Buffer.byteLength(piece.text)
        show(filter.push(piece.text), out)
      } else if (!filter.stopped()) {
        // What was held back is text after all, and comes before what follows it.
        show(filter.end(), out)
        if (piece.type === "call") calls++
        out.push(piece)
      }
    }
  }))

  return {
    ...watched,
    *whole(body, out) {
      isWhole = true
      const fault = yield* watched.whole(body, out)
      return filter.stopped() ? undefined : fault
    },
    step: (event, out) => {
      if (filter.stopped()) return undefined
      const fault = watched.step(event, out)
      return filter.stopped() ? undefined : fault
    },
    end: (out) => {
      // The vendor counts at the end of its reply, which has not come.
      if (filter.stopped() && !isWhole)
        return Result.succeed({ finishReason: finishOf("stop", calls), usage: undefined })
      const ended = watched.end(out)
      if (!filter.stopped()) {
        show(filter.end(), out)
        return ended
      }
      // The answer was whole before the rest of it, which may have failed.
      const ending = Result.getOrElse(ended, () => ({ usage: reader.usage() }))
      return Result.succeed({ ...ending, finishReason: finishOf("stop", calls) })
    },
    ended: () => filter.stopped() || reader.ended(),
    stopped: filter.stopped,
    unsent: () => (reader.unsent?.() ?? 0) + withheld,
    held: () => (reader.held?.() ?? 0) + filter.held
  }
}

/** Of the sequences that the gateway looks for (docs/api.md#limits). */
const limits = { sequences: 256, length: 1000 } as const

/** Names one call at a time where the gateway does it, because calls of the model may be left out. */
const firstCall = "parallel_tool_calls:false->first-call"

const firstCallOnly = (reader: ReplyReader): ReplyReader =>
  mapPieces(reader, (out) => ({
    push: (piece) => ("index" in piece && piece.index > 0 ? undefined : out.push(piece))
  }))

/** Without the fence around JSON that an instruction asked for. */
const unfenced = (reader: ReplyReader): ReplyReader => {
  const filter = jsonFenceFilter()
  const shown = mapPieces(reader, (out) => ({
    push: (piece) => (piece.type === "text" ? addText(filter.push(piece.text), out, piece.logprobs) : out.push(piece))
  }))
  return {
    ...shown,
    end: (out) => {
      const ended = shown.end(out)
      addText(filter.end(), out)
      return ended
    }
  }
}

/** The request with an instruction in place of its format, after its first system messages. */
const withInstruction = (chat: ChatRequest, schema: JsonObject | undefined, adjusted: Adjusted): ChatRequest => {
  const first = chat.messages.findIndex(({ role }) => role !== "system" && role !== "developer")
  const instruction = { role: "system" as const, content: formatInstruction(schema, adjusted) }
  const messages = chat.messages.toSpliced(first < 0 ? chat.messages.length : first, 0, instruction)
  return { ...chat, messages, response_format: null }
}

/** What a dialect's request does not support. */
export interface Unsupported {
  /** The vendor's field for stop sequences; where the deployment does not take it, the gateway looks for all of them. */
  readonly stopField: string
  /** Stop sequences that the request leaves out. */
  readonly unsupportedStops: (chat: ChatRequest, route: Route) => ReadonlyArray<string>
  /** The vendor's field for one call at a time; absent where it has none. */
  readonly singleCallField?: string
  /** The vendor's field for the format of an answer; absent where the dialect handles formats itself. */
  readonly formatField?: string
}

/**
 * The dialect, with what it does not support done here:
 * - The text ends before the first stop sequence, and the call to the cloud with it (docs/decisions.md#stop-sequences).
 * - Of several calls the first is passed on where one was wanted: the model can ask for the others when it has seen what came of it
 *   (docs/decisions.md#one-call-at-a-time).
 * - An instruction replaces a format that the deployment has refused, and the fence that the model may add is removed
 *   (docs/decisions.md#structured-output).
 */
export const withEmulation = (
  dialect: Dialect,
  { formatField, singleCallField, stopField, unsupportedStops }: Unsupported
): Dialect => {
  const stopsFor = (chat: ChatRequest, route: Route) =>
    !chat.stop ? [] : drops(route.strip, stopField) ? stopsOf(chat) : unsupportedStops(chat, route)
  const lacksSingleCall = (chat: ChatRequest, { strip }: Route) =>
    wantsSingleCall(chat) && (singleCallField === undefined || drops(strip, singleCallField))
  const unsupportedFormat = (chat: ChatRequest, { strip }: Route) =>
    formatField !== undefined && drops(strip, formatField) ? jsonFormat(chat) : undefined
  return {
    request: (chat, route, adjusted) => {
      const stops = stopsFor(chat, route)
      if (stops.length > limits.sequences || stops.some(({ length }) => length > limits.length)) {
        const most = `${limits.sequences} sequences of at most ${limits.length.toLocaleString("en-US")} characters`
        return Result.fail(invalid(`stop: this model takes at most ${most}`))
      }
      const mayCall = toolsOf(chat).length > 0 && choiceOf(chat) !== "none"
      if (mayCall && lacksSingleCall(chat, route)) adjusted.add(firstCall)
      const format = unsupportedFormat(chat, route)
      const sent = format === undefined ? chat : withInstruction(chat, format.schema, adjusted)
      return dialect.request(sent, route, adjusted)
    },
    reader: (route, chat) => {
      let reader = dialect.reader(route, chat)
      if (unsupportedFormat(chat, route) !== undefined) reader = unfenced(reader)
      if (lacksSingleCall(chat, route)) reader = firstCallOnly(reader)
      const stops = stopsFor(chat, route)
      return stops.length === 0 ? reader : stoppingReader(reader, stops)
    }
  }
}
