/**
 * What the gateway does itself where the vendor has no word for it: stop sequences, one call at a time, and JSON.
 */
import { Result } from "effect"
import { invalid } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { JsonObject } from "../wire/json.ts"
import { drops } from "../wire/strip.ts"
import type { Adjusted } from "./adjustments.ts"
import { addText, finishOf } from "./answer.ts"
import { jsonFormat, jsonInstruction, stopsOf } from "./chatRequest.ts"
import type { Dialect, Pieces, ReplyReader } from "./Dialect.ts"
import { jsonFenceFilter, type TextFilter } from "./textFilters.ts"

/** For each place in a sequence, how much of its beginning is also the end of what stands before (Knuth, Morris, Pratt). */
const bordersOf = (sequence: string): Int32Array => {
  const borders = new Int32Array(sequence.length)
  for (let at = 1, length = 0; at < sequence.length; at++) {
    while (length > 0 && sequence[at] !== sequence[length]) length = borders[length - 1] ?? 0
    if (sequence[at] === sequence[length]) length++
    borders[at] = length
  }
  return borders
}

/** Where the sequence that is complete first begins in a whole text, the longer one of two; -1 where there is none. */
const stopIn = (text: string, sequences: ReadonlyArray<string>): number => {
  let start = -1
  let end = text.length
  for (const sequence of sequences) {
    const at = text.slice(0, end).indexOf(sequence)
    if (at < 0) continue
    start = at + sequence.length < end || start < 0 ? at : Math.min(start, at)
    end = at + sequence.length
  }
  return start
}

/**
 * The sequence that is complete first ends the text; of two, the longer one. So where the text is cut changes nothing. At most the
 * beginning of a sequence is held back. Time is linear in the text and in the sequences, none of which is empty. `stopped`: a sequence
 * has come, and nothing is shown after it.
 */
export const stopFilter = (sequences: ReadonlyArray<string>): TextFilter & { readonly stopped: () => boolean } => {
  const watches = sequences.map((sequence) => ({ sequence, borders: bordersOf(sequence), matched: 0 }))
  const longest = sequences.reduce((most, { length }) => Math.max(most, length), 0)
  let held = ""
  let stopped = false

  /** How much of a sequence the text so far ends with, at most; the whole of one stops. */
  const read = (unit: string): number => {
    let most = 0
    for (const watch of watches) {
      const { sequence, borders } = watch
      while (watch.matched > 0 && sequence[watch.matched] !== unit) watch.matched = borders[watch.matched - 1] ?? 0
      if (sequence[watch.matched] === unit) watch.matched++
      if (watch.matched === sequence.length) {
        most = stopped ? Math.max(most, watch.matched) : watch.matched
        stopped = true
      } else if (!stopped && watch.matched > most) most = watch.matched
    }
    return most
  }

  return {
    push: (text) => {
      if (stopped) return ""
      const rest = held + text
      let end = held.length
      let most = end
      // Of a long text only the end is looked at character by character: there a sequence may have begun.
      if (text.length > longest) {
        const at = stopIn(rest, sequences)
        if (at >= 0) {
          held = ""
          stopped = true
          return rest.slice(0, at)
        }
        for (const watch of watches) watch.matched = 0
        end = rest.length - longest
      }
      while (end < rest.length && !stopped) most = read(rest[end++] ?? "")
      held = stopped ? "" : rest.slice(end - most)
      return rest.slice(0, end - most)
    },
    end: () => {
      const rest = held
      held = ""
      for (const watch of watches) watch.matched = 0
      return rest
    },
    stopped: () => stopped
  }
}

/** The reader, whose pieces go through something on their way out. */
const through = (reader: ReplyReader, way: (out: Pieces) => Pieces): ReplyReader => ({
  ...reader,
  whole: (body, out) => reader.whole(body, way(out)),
  step: (event, out) => reader.step(event, way(out)),
  end: (out) => reader.end(way(out))
})

/** A reader that is at its end where the text is. */
const cutReader = (reader: ReplyReader, sequences: ReadonlyArray<string>): ReplyReader => {
  const filter = stopFilter(sequences)
  let calls = 0
  let withheld = 0
  let isWhole = false

  const show = (text: string, out: Pieces): void => {
    if (text === "") return
    withheld -= Buffer.byteLength(text)
    out.push({ type: "text", text })
  }
  const watched = through(reader, (out) => ({
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
    whole: (body, out) => {
      isWhole = true
      return watched.whole(body, out)
    },
    step: (event, out) => {
      if (filter.stopped()) return undefined
      const fault = watched.step(event, out)
      return filter.stopped() ? undefined : fault
    },
    end: (out) => {
      // The vendor counts at its end: what it has said until here is no count of what was said.
      if (filter.stopped() && !isWhole)
        return Result.succeed({ finishReason: finishOf("stop", calls), usage: undefined })
      const ended = watched.end(out)
      if (!filter.stopped()) show(filter.end(), out)
      return Result.map(ended, (ending) =>
        filter.stopped() ? { ...ending, finishReason: finishOf("stop", calls) } : ending
      )
    },
    ended: () => filter.stopped() || reader.ended(),
    stopped: filter.stopped,
    kept: () => (reader.kept?.() ?? 0) + withheld
  }
}

/** Of what is watched for here: each sequence is compared with every character of an answer (docs/api.md#limits). */
const limits = { sequences: 256, length: 1000 } as const

/** Whether a request wants no more than one call (`parallel_tool_calls: false`). */
export const wantsOne = ({ parallel_tool_calls }: ChatRequest): boolean => parallel_tool_calls === false

/** Of several calls the first. */
const firstCallOnly = (reader: ReplyReader): ReplyReader =>
  through(reader, (out) => ({
    push: (piece) => ("index" in piece && piece.index > 0 ? undefined : out.push(piece))
  }))

/** Without the fence around JSON that was asked for in words. */
const unfenced = (reader: ReplyReader): ReplyReader => {
  const filter = jsonFenceFilter()
  const shown = through(reader, (out) => ({
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

/** The request with an instruction in place of its format, behind the other instructions at its beginning. */
const instructed = (chat: ChatRequest, schema: JsonObject | undefined, adjusted: Adjusted): ChatRequest => {
  adjusted.changed("response_format", schema === undefined ? "json_object" : "json_schema", "instruction")
  const first = chat.messages.findIndex(({ role }) => role !== "system" && role !== "developer")
  const instruction = { role: "system" as const, content: jsonInstruction(schema) }
  const messages = chat.messages.toSpliced(first < 0 ? chat.messages.length : first, 0, instruction)
  return { ...chat, messages, response_format: null }
}

/** What a dialect's request cannot say. */
export interface Gaps {
  /** The vendor's field for stop sequences: all are watched for where the deployment does not take it. */
  readonly stopField: string
  /** The stop sequences that the request leaves out. */
  readonly unsaidStops: (chat: ChatRequest, route: Route) => ReadonlyArray<string>
  /** Whether the request cannot ask for one call at a time. */
  readonly refusesOne: (route: Route) => boolean
  /** The vendor's field for the format of an answer; absent where the dialect sees to it itself. */
  readonly formatField?: string
}

/**
 * The dialect, with what it cannot say done here:
 * - The text ends before the first stop sequence, and the call to the cloud with it (docs/decisions.md#stop-sequences).
 * - Of several calls the first is passed on where one was wanted: the model can ask for the others when it has seen what came of it
 *   (docs/decisions.md#one-call-at-a-time).
 * - An instruction stands for a format that the deployment has refused, and the fence that words may bring is taken off
 *   (docs/decisions.md#structured-output).
 */
export const emulating = (dialect: Dialect, { formatField, refusesOne, stopField, unsaidStops }: Gaps): Dialect => {
  const watched = (chat: ChatRequest, route: Route) =>
    !chat.stop ? [] : drops(route.strip, stopField) ? stopsOf(chat) : unsaidStops(chat, route)
  const unsaidFormat = (chat: ChatRequest, { strip }: Route) =>
    formatField !== undefined && drops(strip, formatField) ? jsonFormat(chat) : undefined
  return {
    request: (chat, route, adjusted) => {
      const stops = watched(chat, route)
      if (stops.length > limits.sequences || stops.some(({ length }) => length > limits.length)) {
        const length = limits.length.toLocaleString("en-US")
        return Result.fail(
          invalid(`stop: this model takes at most ${limits.sequences} sequences of at most ${length} characters`)
        )
      }
      const format = unsaidFormat(chat, route)
      return dialect.request(format === undefined ? chat : instructed(chat, format.schema, adjusted), route, adjusted)
    },
    reader: (route, chat) => {
      let reader = dialect.reader(route, chat)
      if (unsaidFormat(chat, route) !== undefined) reader = unfenced(reader)
      if (wantsOne(chat) && refusesOne(route)) reader = firstCallOnly(reader)
      const stops = watched(chat, route)
      return stops.length === 0 ? reader : cutReader(reader, stops)
    }
  }
}
