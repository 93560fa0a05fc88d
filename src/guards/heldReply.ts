/**
 * Frames of a streamed reply until guards have seen their words: sentence by sentence or all of them, calls whole. Where guards may
 * block or redact, the frames are held back until then.
 */
import { Effect } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { GuardAction } from "../contract/Governance.ts"
import type { Place } from "../contract/places.ts"
import type { Frame } from "../stream/Frame.ts"
import { getOrInsert } from "../wire/getOrInsert.ts"
import { copyOf } from "../wire/print.ts"
import type { FrameReader, Part } from "./frames.ts"
import { type About, askGuards, type Guard } from "./Guard.ts"
import { contextCharacters } from "./markings.ts"
import type { PlacedText } from "./places.ts"

export interface GuardStreamOptions {
  readonly about: About
  /** Of the reply, in order; there may be none. */
  readonly guards: ReadonlyArray<Guard>
  readonly reader: FrameReader
  /** What guards have done so far, for the request and the reply. */
  readonly actions: () => ReadonlyArray<GuardAction>
  readonly acted: (actions: ReadonlyArray<GuardAction>) => void
  /** Tokens so far, as the final event says them; undefined where it says none. */
  readonly usage: () => object | undefined
  readonly onWithheld: () => void
  /** Takes memory for so many more characters; less than 0 gives it back. `all`: of what waits for guards. */
  readonly hold: (more: number, all: number) => GatewayError | undefined
}

/** Longest text that is held back while it has no end of a sentence, in characters. */
const longestHeld = 4_000

/** Ends of sentences and of lines, with what closes them. */
const sentenceEnd = /[.!?…]["')\]»”]*\s+|[。！？]+|\n+/g
/** How much of what was before may belong to such an end. */
const overlap = 8

/** Where the last sentence ends in a piece, of a text that went before; undefined where none does. */
export const lastSentenceEnd = (before: string, piece: string): number | undefined => {
  const lead = before.slice(-overlap)
  let end: number | undefined
  for (const match of (lead + piece).matchAll(sentenceEnd)) end = match.index + match[0].length
  return end === undefined || end <= lead.length ? undefined : end - lead.length
}

/** What a piece of a text takes beside it, in characters, about. */
const heldPerPiece = 16

/** The texts of a reply so far, as they came and as they went out, for frames that say them again. `repeats`: whether any does. */
const makeTexts = (repeats: boolean) => {
  const came = new Map<string, Array<string>>()
  /** Characters that came. */
  const lengths = new Map<string, number>()
  const went = new Map<string, Array<string>>()
  /** Keys and whole texts by what the cloud said. */
  const keys = new Map<string, string>()
  const wholes = new Map<string, string>()
  let held = 0
  const add = (map: Map<string, Array<string>>, key: string, text: string): void => {
    if (!repeats) return
    getOrInsert(map, key, () => []).push(text)
    held += heldPerPiece + text.length
  }
  const joined = (map: Map<string, Array<string>>, key: string): string => (map.get(key) ?? []).join("")
  return {
    came: (key: string, text: string): void => {
      add(came, key, text)
      lengths.set(key, (lengths.get(key) ?? 0) + text.length)
    },
    went: (key: string, text: string) => add(went, key, text),
    /** `said`: it again, whole. Pieces are joined only where they may be that: a stream may say of a key many times that it is complete. */
    complete: (key: string, said: ReadonlyArray<PlacedText>): void => {
      if (!said.some(({ text }) => text.length === lengths.get(key))) return
      const text = joined(came, key)
      if (!keys.has(text)) held += text.length
      keys.set(text, key)
    },
    saidWhole: (text: string, other: string): void => {
      if (!repeats) return
      if (!wholes.has(text)) held += heldPerPiece + text.length + other.length
      wholes.set(text, other)
    },
    /** Characters that are held, about. */
    held: () => held,
    isKnown: (text: string) => wholes.has(text) || keys.has(text),
    /** What stands for a text that was said before. */
    instead: (text: string): string | undefined => {
      const key = keys.get(text)
      return wholes.get(text) ?? (key === undefined ? undefined : joined(went, key))
    }
  }
}

/** Where the last word begins; undefined where there is one word. */
const lastBlank = (text: string): number | undefined => {
  const at = text.search(/\s\S*$/)
  return at < 0 ? undefined : at + 1
}

export interface Entry {
  readonly frame: Frame
  readonly part: Part
}

/** A text that is asked about: all pieces of one key, or one that a frame says whole. */
interface Slot {
  readonly place: Place
  text: string
  after: string
  readonly before: string
}

const isInCall = ({ begins, delta }: Part): boolean => begins === true || delta?.place === "arguments"
const isWhole = ({ whole }: Part): boolean => whole !== undefined

/** What an entry takes beside its texts, in characters, about. */
const heldPerEntry = 256

/** Characters that an entry says: its frame, and the texts that were read of it. */
const sizeOf = ({ frame, part: { delta, whole = [] } }: Entry): number =>
  whole.reduce((sum, { text }) => sum + text.length, frame.data.length + (delta?.text.length ?? 0))

/** A frame as it is held: what came of it is a slice of the text of all that the cloud sent with it, and would hold that. */
const apart = (frame: Frame): Frame => {
  const { data, event } = frame
  const copy = (text: string): string => Buffer.from(text).toString()
  return data === "" ? frame : { ...frame, data: copy(data), event: event === undefined ? event : copy(event) }
}

/** Frames that wait; `all`: until the reply is complete. */
export const makeQueue = ({ about, acted, guards, reader }: GuardStreamOptions, all: boolean) => {
  const texts = makeTexts(about.surface === "responses")
  /** The end of what came and of what was judged, and the keys of what was changed. */
  const tails = new Map<string, string>()
  const judgedTails = new Map<string, string>()
  const changed = new Set<string>()
  let queue: Array<Entry> = []
  /** How many of the queue may be judged, and where the last of them is cut. */
  let ready = 0
  let cut: number | undefined
  /** Characters of the texts in the queue. */
  let queuedText = 0
  /** Entries that are not judged yet, and their characters. */
  let unjudged = 0
  let size = 0
  /** Characters of keys, and of what is kept for each. */
  let ofKeys = 0
  let inCall = false
  let ended = false

  const mark = (to: number, at?: number) => {
    ready = to
    cut = at
  }

  const count = (entries: ReadonlyArray<Entry>, sign: 1 | -1) => {
    unjudged += sign * entries.length
    for (const entry of entries) size += sign * sizeOf(entry)
  }

  /** Takes a frame in; returns whether it goes out as it is. */
  const take = (entry: Entry): boolean => {
    const { frame, part } = entry
    const { begins, delta, ends, last, signs } = part
    if (inCall && !all && (begins === true || !isInCall(part))) mark(queue.length)
    inCall = isInCall(part)
    if (last === true) ended = true
    const isFree = !inCall && delta === undefined && !isWhole(part) && signs === undefined
    if (queue.length === 0 && isFree) return true
    queue.push({ frame: apart(frame), part })
    count([entry], 1)
    if (delta !== undefined) {
      if (!tails.has(delta.key)) ofKeys += delta.key.length + contextCharacters
      const before = tails.get(delta.key) ?? ""
      tails.set(delta.key, (before + delta.text).slice(-overlap))
      texts.came(delta.key, delta.text)
      if (inCall || all) return false
      queuedText += delta.text.length
      const end = lastSentenceEnd(before, delta.text) ?? (queuedText > longestHeld ? lastBlank(delta.text) : undefined)
      if (end !== undefined) mark(queue.length, end)
      else if (queuedText > 2 * longestHeld) mark(queue.length)
    } else if (last === true || (!all && !inCall && (ends === true || (isWhole(part) && queuedText === 0)))) {
      // What is said whole may stand in the middle of a word, and waits for its sentence.
      mark(queue.length)
    }
    return false
  }

  /** What may be judged now; the rest of a piece that is cut stays. */
  const judgeable = (): ReadonlyArray<Entry> => {
    if (ready === 0) return []
    const entries = queue.slice(0, ready)
    const rest = queue.slice(ready)
    const at = cut
    const split = entries.at(-1)
    const delta = split?.part.delta
    if (split !== undefined && delta !== undefined && at !== undefined && at < delta.text.length) {
      const pieceOf = (text: string): Entry => ({
        frame: reader.rewrite(split.frame, [text]),
        part: { ...split.part, delta: { ...delta, text } }
      })
      const [begin, end] = [pieceOf(delta.text.slice(0, at)), pieceOf(delta.text.slice(at))]
      entries.splice(-1, 1, begin)
      rest.unshift(end)
      count([split], -1)
      count([begin, end], 1)
    }
    queue = rest
    queuedText = rest.reduce((sum, { part }) => sum + (part.delta?.text.length ?? 0), 0)
    mark(0)
    return entries
  }

  /** Asks about frames, in order; returns those that go out, undefined where nothing may. */
  const judged = Effect.fnUntraced(function* (entries: ReadonlyArray<Entry>) {
    const keyed = new Map<string, Slot>()
    const slots: Array<Slot> = []
    const add = (slot: Slot): Slot => {
      slots.push(slot)
      return slot
    }
    const owns = entries.map(({ part: { delta, repeats, whole } }) => {
      if (delta !== undefined) {
        const { key, place, text } = delta
        const known = keyed.get(key)
        if (known !== undefined) known.text += text
        else keyed.set(key, add({ place, text, after: "", before: judgedTails.get(key) ?? "" }))
      }
      if (repeats !== undefined) texts.complete(repeats, whole ?? [])
      return whole?.map(({ place, text }) =>
        texts.isKnown(text) ? undefined : add({ place, text, after: text, before: "" })
      )
    })
    const asked = slots.filter(({ text }) => text !== "")
    if (asked.length > 0) {
      const verdict = yield* askGuards(guards, { about, input: "response", texts: asked })
      acted(verdict.actions)
      if (verdict.blocked !== undefined) return undefined
      for (const [at, slot] of asked.entries()) slot.after = verdict.texts[at] ?? slot.text
    }
    for (const [key, { before, text }] of keyed) judgedTails.set(key, copyOf((before + text).slice(-contextCharacters)))
    count(entries, -1)
    const out: Array<Frame> = []
    /** Keys whose other text has gone out, all of it in the place of the first piece. */
    const done = new Set<string>()
    for (const [n, { frame, part }] of entries.entries()) {
      const { delta, signs, whole } = part
      if (signs !== undefined && changed.has(signs)) continue
      if (delta !== undefined) {
        const { key, text } = delta
        const slot = keyed.get(key)
        if (slot === undefined || slot.after === slot.text) {
          texts.went(key, text)
          out.push(frame)
        } else if (!done.has(key)) {
          done.add(key)
          changed.add(key)
          texts.went(key, slot.after)
          if (slot.after !== "") out.push(reader.rewrite(frame, [slot.after]))
        }
      } else if (whole !== undefined) {
        const others = whole.map(({ text }, at) => owns[n]?.[at]?.after ?? texts.instead(text) ?? text)
        for (const [at, { text }] of whole.entries()) texts.saidWhole(text, others[at] ?? text)
        out.push(whole.every(({ text }, at) => text === others[at]) ? frame : reader.rewrite(frame, others))
      } else out.push(frame)
    }
    return out
  })

  return {
    /** Takes frames in; returns those that go out as they are. `isEnd`: no more come. */
    take: (entries: ReadonlyArray<Entry>, isEnd: boolean): ReadonlyArray<Frame> => {
      const out = entries.filter(take)
      if (isEnd || ended) mark(queue.length)
      return out.map(({ frame }) => frame)
    },
    judgeable,
    judged,
    isComplete: () => ended,
    /** Characters of what is not judged yet. */
    size: () => size,
    /** The same with what holds it, and what is remembered. */
    held: () => size + heldPerEntry * unjudged + ofKeys + texts.held()
  }
}

/** The last frames, which say what guards did. */
export const reported = (
  { actions, reader }: GuardStreamOptions,
  frames: ReadonlyArray<Frame>
): ReadonlyArray<Frame> => (actions().length === 0 ? frames : reader.report(frames, actions()))

/** Holds frames back until guards have seen their words; `all`: until the reply is complete. */
export const heldReply = (options: GuardStreamOptions, all: boolean) => {
  const { actions, hold, onWithheld, reader, usage } = options
  const queue = makeQueue(options, all)
  let taken = 0
  /** The frames that go out after these came, and whether they are the last. */
  return Effect.fnUntraced(function* (frames: ReadonlyArray<Frame>, isEnd = false) {
    const free = queue.take(
      frames.map((frame) => ({ frame, part: reader.read(frame) })),
      isEnd
    )
    const passed = yield* queue.judged(queue.judgeable())
    if (passed === undefined) {
      const before = free.map(reader.emit)
      onWithheld()
      return { frames: [...before, ...reader.report(reader.withheld(usage()), actions())], over: true }
    }
    const held = queue.held()
    if (held !== taken) {
      const refused = hold(held - taken, queue.size())
      taken = held
      if (refused !== undefined) return yield* refused
    }
    const shown = [...free, ...passed].map(reader.emit)
    return { frames: queue.isComplete() && !isEnd ? reported(options, shown) : shown, over: false }
  })
}
