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

/** Where a piece ends what may be judged; undefined where the text goes on. `size`: of all that is held of the text. */
const endOf = (before: string, piece: string, size: number): number | undefined =>
  lastSentenceEnd(before, piece) ??
  (size > longestHeld ? lastBlank(piece) : undefined) ??
  (size > 2 * longestHeld ? piece.length : undefined)

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

/** Where a text begins that may not be judged yet: a sentence that has not ended, or a call. */
interface Open {
  /** Of all entries that came. */
  readonly entry: number
  /** In the piece of that entry. */
  at: number
  /** Characters since. */
  size: number
}

/** What an entry takes beside its texts, in characters, about. */
const heldPerEntry = 448

/** Characters that an entry says: its frame, and the texts that were read of it. */
const sizeOf = ({ frame, part: { texts } }: Entry): number =>
  texts.reduce((sum, { text }) => sum + text.length, frame.data.length)

/** A frame as it is held: what came of it is a slice of the text of all that the cloud sent with it, and would hold that. */
const apart = (frame: Frame): Frame => {
  const { data, event } = frame
  const copy = (text: string): string => Buffer.from(text).toString()
  return data === "" ? frame : { ...frame, data: copy(data), event: event === undefined ? event : copy(event) }
}

/** Frames that wait; `all`: until the reply is complete. */
export const makeQueue = ({ about, acted, guards, reader }: GuardStreamOptions, all: boolean) => {
  const said = makeTexts(about.surface === "responses")
  /** The end of what came and of what was judged, and the keys of what was changed. */
  const tails = new Map<string, string>()
  const judgedTails = new Map<string, string>()
  const changed = new Set<string>()
  const queue: Array<Entry> = []
  /** How many entries have left the queue. */
  let left = 0
  /** By key, in the order in which they begin: from the first on, all waits. */
  const open = new Map<string, Open>()
  /** Entries that are not judged yet, and their characters. */
  let unjudged = 0
  let size = 0
  /** Characters of keys, and of what is kept for each. */
  let ofKeys = 0
  let ended = false
  let isOver = false

  const count = (entries: ReadonlyArray<Entry>, sign: 1 | -1) => {
    unjudged += sign * entries.length
    for (const entry of entries) size += sign * sizeOf(entry)
  }

  /** Takes a piece in. It is open from the end of its last sentence on, or from that of a piece before it. */
  const takePiece = (entry: number, key: string, { place, text }: PlacedText, isDelta: boolean) => {
    const before = tails.get(key) ?? ""
    if (!tails.has(key)) ofKeys += key.length + contextCharacters
    tails.set(key, (before + text).slice(-overlap))
    said.came(key, text)
    const begun = open.get(key) ?? { entry, at: 0, size: 0 }
    begun.size += text.length
    const end = isDelta && place !== "arguments" ? endOf(before, text, begun.size) : undefined
    if (end !== undefined) open.delete(key)
    if (end !== text.length) open.set(key, end === undefined ? begun : { entry, at: end, size: text.length - end })
  }

  /** Takes a frame in; returns whether it goes out as it is. */
  const take = (entry: Entry): boolean => {
    const { begins, ends = [], isDelta = false, last, signs, texts } = entry.part
    for (const key of ends) open.delete(key)
    if (last === true) ended = true
    if (queue.length === 0 && texts.length === 0 && begins === undefined && signs === undefined) return true
    const at = left + queue.length
    queue.push({ ...entry, frame: apart(entry.frame) })
    count([entry], 1)
    if (begins !== undefined && !open.has(begins)) open.set(begins, { entry: at, at: 0, size: 0 })
    for (const text of texts) if (text.key !== undefined) takePiece(at, text.key, text, isDelta)
    return false
  }

  /** What may be judged now; the rest of a piece that is cut stays. */
  const judgeable = (): ReadonlyArray<Entry> => {
    if (all && !isOver) return []
    const [first = { entry: left + queue.length, at: 0 }] = open.values()
    const { at, entry } = first
    if (at === 0 && entry === left) return []
    const entries = queue.splice(0, entry - left)
    left = entry
    const [split] = queue
    if (at > 0 && split !== undefined) {
      const cut = (from: number, to?: number): Entry => {
        const cutTo = split.part.texts.map((text) =>
          text.key === undefined ? text : { ...text, text: text.text.slice(from, to) }
        )
        const frame = reader.rewrite(
          split.frame,
          cutTo.map(({ text }) => text)
        )
        return { frame, part: { ...split.part, texts: cutTo } }
      }
      const [begin, end] = [cut(0, at), cut(at)]
      entries.push(begin)
      queue[0] = end
      first.at = 0
      count([split], -1)
      count([begin, end], 1)
    }
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
    const slotOf = ({ key, place, text }: PlacedText): Slot | undefined => {
      if (key === undefined) return said.isKnown(text) ? undefined : add({ place, text, after: text, before: "" })
      const known = keyed.get(key)
      if (known === undefined) {
        const slot = add({ place, text, after: "", before: judgedTails.get(key) ?? "" })
        keyed.set(key, slot)
        return slot
      }
      known.text += text
      return known
    }
    const owns = entries.map(({ part: { repeats, texts } }) => {
      if (repeats !== undefined) said.complete(repeats, texts)
      return texts.map(slotOf)
    })
    if (slots.length > 0) {
      const verdict = yield* askGuards(guards, { about, input: "response", texts: slots })
      acted(verdict.actions)
      if (verdict.blocked !== undefined) return undefined
      for (const [at, slot] of slots.entries()) slot.after = verdict.texts[at] ?? slot.text
    }
    for (const [key, { after, before, text }] of keyed) {
      judgedTails.set(key, copyOf((before + text).slice(-contextCharacters)))
      if (after !== text) changed.add(key)
    }
    count(entries, -1)
    /** Keys whose other text has gone out, all of it in the place of the first piece. */
    const done = new Set<string>()
    const otherOf = ({ key, text }: PlacedText, slot: Slot | undefined): string => {
      if (slot === undefined) return said.instead(text) ?? text
      if (key === undefined) return slot.after
      if (slot.after === slot.text) return text
      if (done.has(key)) return ""
      done.add(key)
      return slot.after
    }
    return entries.flatMap(({ frame, part: { isDelta, signs, texts } }, n) => {
      if (signs !== undefined && changed.has(signs)) return []
      const others = texts.map((text, at) => {
        const other = otherOf(text, owns[n]?.[at])
        if (text.key === undefined) said.saidWhole(text.text, other)
        else said.went(text.key, other)
        return other
      })
      if (texts.every(({ text }, at) => text === others[at])) return frame
      return isDelta === true && others.join("") === "" ? [] : reader.rewrite(frame, others)
    })
  })

  return {
    /** Takes frames in; returns those that go out as they are. `isEnd`: no more come. */
    take: (entries: ReadonlyArray<Entry>, isEnd: boolean): ReadonlyArray<Frame> => {
      const out = entries.filter(take)
      if (isEnd || ended) {
        isOver = true
        open.clear()
      }
      return out.map(({ frame }) => frame)
    },
    judgeable,
    judged,
    isComplete: () => ended,
    /** Characters of what is not judged yet. */
    size: () => size,
    /** The same with what holds it, and what is remembered. */
    held: () => size + heldPerEntry * unjudged + ofKeys + said.held()
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
