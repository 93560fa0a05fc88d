/**
 * What the gateway does itself where the vendor has no word for it: stop sequences, one call at a time, and JSON.
 */
import { Result } from "effect"
import { type GatewayError, invalid } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import { drops } from "../wire/strip.ts"
import { changed } from "./adjustments.ts"
import { addText } from "./answer.ts"
import type { Dialect, Ending, Pieces, ReplyReader } from "./Dialect.ts"
import { jsonFormat, jsonInstruction, stopsOf } from "./schema.ts"
import { jsonFenceFilter, type TextFilter } from "./textFilters.ts"

/** A text filter that comes to an end. */
interface StopFilter extends TextFilter {
  /** Whether a sequence has come; nothing is shown after it. */
  readonly stopped: () => boolean
}

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
 * beginning of a sequence is held back. Time is linear in the text and in the sequences, none of which is empty.
 */
export const stopFilter = (sequences: ReadonlyArray<string>): StopFilter => {
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
  const watched = (out: Pieces): Pieces => ({
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
  })

  return {
    ...reader,
    whole: (body, out) => {
      isWhole = true
      return reader.whole(body, watched(out))
    },
    step: (event, out) => {
      if (filter.stopped()) return undefined
      const fault = reader.step(event, watched(out))
      return filter.stopped() ? undefined : fault
    },
    end: (out) => {
      const stopped = (): Ending["finishReason"] => (calls > 0 ? "tool_calls" : "stop")
      // The vendor counts at its end: what it has said until here is no count of what was said.
      if (filter.stopped() && !isWhole) return Result.succeed({ finishReason: stopped(), usage: undefined })
      const ended = reader.end(watched(out))
      if (!filter.stopped()) show(filter.end(), out)
      return Result.map(ended, (ending) => (filter.stopped() ? { ...ending, finishReason: stopped() } : ending))
    },
    ended: () => filter.stopped() || reader.ended(),
    stopped: filter.stopped,
    kept: () => (reader.kept?.() ?? 0) + withheld
  }
}

/** Of what is watched for here: each sequence is compared with every character of an answer (docs/api.md#limits). */
const limits = { sequences: 256, length: 1000 } as const

const refuseStops = (sequences: ReadonlyArray<string>): GatewayError | undefined =>
  sequences.length > limits.sequences || sequences.some(({ length }) => length > limits.length)
    ? invalid(
        `stop: this model takes at most ${limits.sequences} sequences of at most ${limits.length.toLocaleString("en-US")} characters`
      )
    : undefined

/**
 * The dialect with stop sequences that its request leaves out: `unsaid` says which, and all where the deployment does not take the
 * field of the vendor's. The text ends before the first of them, and the call to the cloud with it (docs/decisions.md#stop-sequences).
 */
export const stopping = (
  dialect: Dialect,
  field: string,
  unsaid: (chat: ChatRequest, route: Route) => ReadonlyArray<string>
): Dialect => {
  const watched = (chat: ChatRequest, route: Route) =>
    !chat.stop ? [] : drops(route.strip, field) ? stopsOf(chat) : unsaid(chat, route)
  return {
    ...dialect,
    request: (chat, route, adjusted) => {
      const refusal = refuseStops(watched(chat, route))
      return refusal === undefined ? dialect.request(chat, route, adjusted) : Result.fail(refusal)
    },
    reader: (route, chat) => {
      const sequences = watched(chat, route)
      const reader = dialect.reader(route, chat)
      return sequences.length === 0 ? reader : cutReader(reader, sequences)
    }
  }
}

/** Whether a request wants no more than one call (`parallel_tool_calls: false`). */
export const wantsOne = ({ parallel_tool_calls }: ChatRequest): boolean => parallel_tool_calls === false

const oneOf = (reader: ReplyReader): ReplyReader => {
  const first = (out: Pieces): Pieces => ({
    push: (piece) => ("index" in piece && piece.index > 0 ? undefined : out.push(piece))
  })
  return {
    ...reader,
    whole: (body, out) => reader.whole(body, first(out)),
    step: (event, out) => reader.step(event, first(out)),
    end: (out) => reader.end(first(out))
  }
}

/**
 * The dialect, with one call at a time where `unsaid` says that its request cannot ask for it: of several calls the first is passed on,
 * and the model can ask for the others when it has seen what came of it (docs/decisions.md#one-call-at-a-time).
 */
export const onlyFirst = (dialect: Dialect, unsaid: (route: Route) => boolean): Dialect => ({
  ...dialect,
  reader: (route, chat) => {
    const reader = dialect.reader(route, chat)
    return wantsOne(chat) && unsaid(route) ? oneOf(reader) : reader
  }
})

const unfenced = (reader: ReplyReader): ReplyReader => {
  const filter = jsonFenceFilter()
  const shown = (out: Pieces): Pieces => ({
    push: (piece) => (piece.type === "text" ? addText(filter.push(piece.text), out, piece.logprobs) : out.push(piece))
  })
  return {
    ...reader,
    whole: (body, out) => reader.whole(body, shown(out)),
    step: (event, out) => reader.step(event, shown(out)),
    end: (out) => {
      const ended = reader.end(shown(out))
      addText(filter.end(), out)
      return ended
    }
  }
}

/**
 * The dialect, with an instruction in place of a format of the answer that the deployment has refused (`field`, the vendor's own), and
 * without the fence around the answer that words may bring (docs/decisions.md#structured-output).
 */
export const instructing = (dialect: Dialect, field: string): Dialect => {
  const instructed = (chat: ChatRequest, { strip }: Route) => (drops(strip, field) ? jsonFormat(chat) : undefined)
  return {
    request: (chat, route, adjusted) => {
      const format = instructed(chat, route)
      if (format === undefined) return dialect.request(chat, route, adjusted)
      const asked = format.schema === undefined ? "json_object" : "json_schema"
      adjusted.add(changed("response_format", asked, "instruction"))
      const first = chat.messages.findIndex(({ role }) => role !== "system" && role !== "developer")
      const instruction = { role: "system" as const, content: jsonInstruction(format.schema) }
      const messages = chat.messages.toSpliced(first < 0 ? chat.messages.length : first, 0, instruction)
      return dialect.request({ ...chat, messages, response_format: null }, route, adjusted)
    },
    reader: (route, chat) => {
      const reader = dialect.reader(route, chat)
      return instructed(chat, route) === undefined ? reader : unfenced(reader)
    }
  }
}
