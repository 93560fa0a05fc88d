/**
 * Frames of a streamed reply until guards have seen their words: sentence by sentence or all of them, calls whole. Where guards may
 * block or redact, the frames are held back until then.
 */
import { Effect } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { GuardAction } from "../contract/Governance.ts"
import type { Frame } from "../stream/Frame.ts"
import { getOrInsert } from "../wire/getOrInsert.ts"
import type { FrameReader, Part } from "./frames.ts"
import { type About, askGuards, type Guard } from "./Guard.ts"
import type { PlacedText } from "./places.ts"
import { lastCut } from "./sentences.ts"
import { makeTexts } from "./texts.ts"

export interface GuardStreamOptions {
  readonly about: About
  /** Of the reply, in order; there may be none. */
  readonly guards: ReadonlyArray<Guard>
  readonly reader: FrameReader
  /** What guards have done so far, for the request and the reply. */
  readonly actions: () => ReadonlyArray<GuardAction>
  readonly acted: (action: GuardAction) => void
  /** Tokens so far, as the final event says them; undefined where it says none. */
  readonly usage: () => object | undefined
  readonly onWithheld: () => void
  /** Takes memory for so many more characters; less than 0 gives it back. `all`: of what waits for guards. */
  readonly hold: (more: number, all: number) => GatewayError | undefined
}

export interface Entry {
  readonly frame: Frame
  readonly part: Part
}

/** A text that is asked about, and what stands for it: all pieces of one key, or one that a frame says whole. */
interface Slot extends PlacedText {
  text: string
  after: string
}

/** Where a text begins that may not be judged yet: a sentence that has not ended, or a call. */
interface Open {
  /** Of all entries that came. */
  entry: number
  /** In the piece of that entry. */
  at: number
  /** Characters since. */
  size: number
}

/** What an entry takes beside its texts, and what is open, in characters, about. */
const heldPerEntry = 448
const heldPerOpen = 256

/** Characters that an entry says: its frame, and the texts that were read of it. */
const sizeOf = ({ frame, part: { texts } }: Entry): number =>
  texts.reduce((sum, { text }) => sum + text.length, frame.data.length)

const copy = (text: string): string => Buffer.from(text).toString()
/** A frame as it is held: what came of it is a slice of the text of all that the cloud sent with it, and would hold that. */
const apart = (frame: Frame): Frame =>
  frame.data === "" ? frame : { ...frame, data: copy(frame.data), event: frame.event && copy(frame.event) }

/** Frames that wait; `all`: until the reply is complete. */
export const makeQueue = ({ about, acted, guards, hold, reader }: GuardStreamOptions, all: boolean) => {
  const said = makeTexts(about.surface === "responses")
  const queue: Array<Entry> = []
  /** How many entries have left the queue. */
  let left = 0
  /** By key, in the order in which they begin: from the first on, all waits. */
  const open = new Map<string, Open>()
  let isComplete = false
  /** Entries that are not judged yet, and their characters. */
  let unjudged = 0
  let size = 0
  /** For how many characters memory has been taken. */
  let taken = 0
  const count = (entries: ReadonlyArray<Entry>, sign: 1 | -1) => {
    unjudged += sign * entries.length
    for (const entry of entries) size += sign * sizeOf(entry)
  }

  /** The first one leaves its place to the next: pieces of it may have come behind where that one began. */
  const close = (key: string): void => {
    const [first, second] = open.values()
    if (first !== undefined && second !== undefined && open.get(key) === first) {
      second.entry = first.entry
      second.at = first.at
    }
    open.delete(key)
  }

  /** Takes a piece in. Its text is open from the end of the last sentence on. */
  const takePiece = (entry: number, key: string, { place, text }: PlacedText, isDelta: boolean) => {
    const before = said.came(key, text)
    const begun = open.get(key) ?? { entry, at: 0, size: 0 }
    begun.size += text.length
    const end = isDelta && place !== "arguments" ? lastCut(before, text, begun.size) : undefined
    if (end === undefined) {
      open.set(key, begun)
      return
    }
    close(key)
    if (end < text.length) open.set(key, { entry, at: end, size: text.length - end })
  }

  /** Takes a frame in; returns whether it goes out as it is. */
  const take = ({ frame, part }: Entry): boolean => {
    const { begins, ends = [], isDelta = false, last = false, signs, texts } = part
    for (const key of ends) close(key)
    isComplete ||= last
    if (queue.length === 0 && texts.length === 0 && begins === undefined && signs === undefined) return true
    const entry = left + queue.length
    const held = { frame: apart(frame), part }
    queue.push(held)
    count([held], 1)
    if (begins !== undefined && !open.has(begins)) open.set(begins, { entry, at: 0, size: 0 })
    for (const text of texts) if (text.key !== undefined) takePiece(entry, text.key, text, isDelta)
    return false
  }

  /** The entry with a part of its piece. */
  const cut = ({ frame, part }: Entry, from: number, to?: number): Entry => {
    const texts = part.texts.map((text) =>
      text.key === undefined ? text : { ...text, text: text.text.slice(from, to) }
    )
    const words = texts.map(({ text }) => text)
    return { frame: reader.rewrite(frame, words), part: { ...part, texts } }
  }

  /** What may be judged now; the rest of a piece that is cut stays. `isEnd`: no more come. */
  const judgeable = (isEnd: boolean): ReadonlyArray<Entry> => {
    if (isEnd || isComplete) open.clear()
    else if (all) return []
    const [first = { entry: left + queue.length, at: 0 }] = open.values()
    const entries = queue.splice(0, first.entry - left)
    left = first.entry
    const [split] = queue
    if (split === undefined || first.at === 0) return entries
    const [begin, end] = [cut(split, 0, first.at), cut(split, first.at)]
    first.at = 0
    queue[0] = end
    count([split], -1)
    count([begin, end], 1)
    return [...entries, begin]
  }

  /** Asks about frames, in order; returns those that go out, undefined where nothing may. */
  const judged = Effect.fnUntraced(function* (entries: ReadonlyArray<Entry>) {
    /** By key, and each that is said whole. */
    const slots = new Map<string | PlacedText, Slot>()
    for (const { part } of entries) {
      if (part.repeats !== undefined) said.complete(part.repeats, part.texts, false)
      for (const held of part.texts) {
        const { key, place, text } = held
        if (key === undefined && said.isKnown(text)) continue
        const before = key === undefined ? "" : said.judgedTail(key)
        getOrInsert(slots, key ?? held, () => ({ place, text: "", after: "", before })).text += text
      }
    }
    const asked = [...slots.values()]
    if (asked.length > 0) {
      const verdict = yield* askGuards(guards, { about, input: "response", texts: asked }, acted)
      if (verdict.blocked !== undefined) return undefined
      for (const [at, slot] of asked.entries()) slot.after = verdict.texts[at] ?? slot.text
    }
    for (const [key, { after, text }] of slots) if (typeof key === "string") said.judged(key, text, after !== text)
    count(entries, -1)
    const otherOf = (held: PlacedText): string => {
      const slot = slots.get(held.key ?? held)
      if (slot === undefined) return said.instead(held.text) ?? held.text
      if (slot.after === slot.text) return held.text
      const { after } = slot
      // All of it stands in the place of the first piece.
      slot.after = ""
      return after
    }
    return entries.flatMap(({ frame, part: { isDelta, repeats, signs, texts } }) => {
      if (signs !== undefined && said.isChanged(signs)) return []
      if (repeats !== undefined) said.complete(repeats, texts, true)
      const others = texts.map(otherOf)
      for (const [at, { key, text }] of texts.entries()) {
        if (key === undefined) said.saidWhole(text, others[at] ?? text)
        else said.went(key, others[at] ?? text)
      }
      if (texts.every(({ text }, at) => text === others[at])) return frame
      return isDelta === true && others.join("") === "" ? [] : reader.rewrite(frame, others)
    })
  })

  return {
    /** Takes frames in; returns those that go out as they are. */
    take: (entries: ReadonlyArray<Entry>) => entries.filter(take).map(({ frame }) => frame),
    judgeable,
    judged,
    isComplete: () => isComplete,
    /** Takes memory for what is not judged yet, with what holds it, and for what is remembered. */
    takeMemory: Effect.suspend((): Effect.Effect<void, GatewayError> => {
      const held = size + heldPerEntry * unjudged + heldPerOpen * open.size + said.held()
      const refused = held === taken ? undefined : hold(held - taken, size)
      taken = held
      return refused === undefined ? Effect.void : Effect.fail(refused)
    })
  }
}

/** The last frames, which say what guards did. */
export const reported = (
  { actions, reader }: GuardStreamOptions,
  frames: ReadonlyArray<Frame>
): ReadonlyArray<Frame> => (actions().length === 0 ? frames : reader.report(frames, actions()))

/** Holds frames back until guards have seen their words; `all`: until the reply is complete. */
export const heldReply = (options: GuardStreamOptions, all: boolean) => {
  const { actions, onWithheld, reader, usage } = options
  const queue = makeQueue(options, all)
  /** The frames that go out after these came, and whether they are the last. */
  return Effect.fnUntraced(function* (frames: ReadonlyArray<Frame>, isEnd = false) {
    const free = queue.take(frames.map((frame) => ({ frame, part: reader.read(frame) })))
    const passed = yield* queue.judged(queue.judgeable(isEnd))
    if (passed === undefined) {
      const before = free.map(reader.emit)
      onWithheld()
      return { frames: [...before, ...reader.report(reader.withheld(usage()), actions())], over: true }
    }
    yield* queue.takeMemory
    const shown = [...free, ...passed].map(reader.emit)
    return { frames: queue.isComplete() && !isEnd ? reported(options, shown) : shown, over: false }
  })
}
