/**
 * Guards of a streamed reply (docs/guards.md#streams). Where they may block or redact, its words are held back until they have been
 * seen: by sentences, or all of them; calls are held whole. Where they only flag, it passes as it comes and they are asked beside it.
 */
import { Cause, Effect, Fiber, Option, Pull, Scope, Stream } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { GuardAction } from "../contract/Governance.ts"
import type { Frame } from "../stream/Frame.ts"
import { Enough } from "../stream/translate.ts"
import { getOrInsert } from "../wire/getOrInsert.ts"
import type { FrameReader, Part } from "./frames.ts"
import { type About, askGuards, type Guard } from "./Guard.ts"
import { contextCharacters } from "./markings.ts"
import type { Place, PlacedText } from "./places.ts"

export interface GuardStreamOptions {
  readonly about: About
  /** Of the reply, in order; there may be none. */
  readonly guards: ReadonlyArray<Guard>
  readonly reader: FrameReader
  /** What guards have done so far, for the request and the reply. */
  readonly actions: () => ReadonlyArray<GuardAction>
  readonly acted: (actions: ReadonlyArray<GuardAction>) => void
  /** Nothing more of the reply may pass. */
  readonly onWithheld: () => void
  /** Takes memory for so many more characters that are held, `all` in all; less than 0 gives it back. */
  readonly hold: (more: number, all: number) => GatewayError | undefined
}

type Failure = GatewayError | Enough
type Frames = readonly [Frame, ...Array<Frame>]

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

/** The texts of a reply so far, as they came and as they went out, for frames that say them again. */
const makeTexts = () => {
  const came = new Map<string, Array<string>>()
  const went = new Map<string, Array<string>>()
  /** Keys and whole texts by what the cloud said. */
  const keys = new Map<string, string>()
  const wholes = new Map<string, string>()
  const add = (map: Map<string, Array<string>>, key: string, text: string) =>
    void getOrInsert(map, key, () => []).push(text)
  const joined = (map: Map<string, Array<string>>, key: string): string => (map.get(key) ?? []).join("")
  return {
    came: (key: string, text: string) => add(came, key, text),
    went: (key: string, text: string) => add(went, key, text),
    complete: (key: string) => void keys.set(joined(came, key), key),
    saidWhole: (text: string, other: string) => void wholes.set(text, other),
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

interface Entry {
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

/** The last frames, which say what guards did. */
const reported = ({ actions, reader }: GuardStreamOptions, frames: ReadonlyArray<Frame>): ReadonlyArray<Frame> =>
  actions().length === 0 ? frames : reader.report(frames, actions())

/** Holds frames back; `all`: until the reply is complete. */
const holding = (options: GuardStreamOptions, all: boolean) => {
  const { about, acted, actions, guards, hold, onWithheld, reader } = options
  const texts = makeTexts()
  const repeats = about.surface === "responses"
  /** The end of what came and of what was judged, and the keys of what was changed. */
  const tails = new Map<string, string>()
  const judgedTails = new Map<string, string>()
  const changed = new Set<string>()
  let queue: Array<Entry> = []
  /** How many of the queue may be judged, and where the last of them is cut. */
  let ready = 0
  let cut: number | undefined
  /** Characters of texts and of frames that are held. */
  let heldText = 0
  let held = 0
  let taken = 0
  let inCall = false
  let ended = false

  const mark = (to: number, at?: number) => {
    ready = to
    cut = at
  }

  /** Takes a frame in; answers whether it goes out as it is. */
  const take = (entry: Entry): boolean => {
    const { frame, part } = entry
    const { delta, ends, last, signs } = part
    if (inCall && !isInCall(part) && !all) mark(queue.length)
    if (part.begins === true && inCall && !all) mark(queue.length)
    inCall = isInCall(part)
    if (last === true) ended = true
    const isFree = !inCall && delta === undefined && !isWhole(part) && signs === undefined
    if (queue.length === 0 && isFree) return true
    queue.push(entry)
    held += frame.data.length
    if (delta !== undefined) {
      const before = tails.get(delta.key) ?? ""
      tails.set(delta.key, (before + delta.text).slice(-overlap))
      if (repeats) texts.came(delta.key, delta.text)
      if (inCall || all) return false
      heldText += delta.text.length
      const end = lastSentenceEnd(before, delta.text) ?? (heldText > longestHeld ? lastBlank(delta.text) : undefined)
      if (end !== undefined) mark(queue.length, end)
      else if (heldText > 2 * longestHeld) mark(queue.length)
    } else if (last === true || (!all && !inCall && (ends === true || isWhole(part)))) mark(queue.length)
    return false
  }

  /** What may be judged now; the rest of a piece that is cut stays. */
  const judgeable = (): ReadonlyArray<Entry> => {
    const entries = queue.slice(0, ready)
    const rest = queue.slice(ready)
    const at = cut
    const split = entries.at(-1)
    const delta = split?.part.delta
    if (split !== undefined && delta !== undefined && at !== undefined && at < delta.text.length) {
      const pieceOf = (text: string): Entry => ({
        frame: delta.with(text),
        part: { ...split.part, delta: { ...delta, text } }
      })
      entries.splice(-1, 1, pieceOf(delta.text.slice(0, at)))
      rest.unshift(pieceOf(delta.text.slice(at)))
    }
    queue = rest
    held = rest.reduce((sum, { frame }) => sum + frame.data.length, 0)
    heldText = rest.reduce((sum, { part }) => sum + (part.delta?.text.length ?? 0), 0)
    mark(0)
    return entries
  }

  const judged = Effect.fnUntraced(function* (entries: ReadonlyArray<Entry>) {
    const keyed = new Map<string, Slot>()
    const slots: Array<Slot> = []
    const slotsOf = new Map<Entry, ReadonlyArray<Slot | undefined>>()
    const add = (slot: Slot): Slot => {
      slots.push(slot)
      return slot
    }
    for (const entry of entries) {
      const { delta, repeats: repeated, whole } = entry.part
      if (delta !== undefined) {
        const known = keyed.get(delta.key)
        if (known !== undefined) known.text += delta.text
        else {
          const before = judgedTails.get(delta.key) ?? ""
          keyed.set(delta.key, add({ place: delta.place, text: delta.text, after: "", before }))
        }
      }
      if (repeated !== undefined) texts.complete(repeated)
      if (whole !== undefined) {
        slotsOf.set(
          entry,
          whole.texts.map(({ place, text }) =>
            texts.isKnown(text) ? undefined : add({ place, text, after: text, before: "" })
          )
        )
      }
    }
    const asked = slots.filter(({ text }) => text !== "")
    if (asked.length > 0) {
      const verdict = yield* askGuards(guards, { about, input: "response", texts: asked })
      acted(verdict.actions)
      if (verdict.blocked !== undefined) return undefined
      for (const [at, slot] of asked.entries()) slot.after = verdict.texts[at] ?? slot.text
    }
    for (const [key, { before, text }] of keyed) judgedTails.set(key, (before + text).slice(-contextCharacters))
    const out: Array<Frame> = []
    const done = new Set<string>()
    for (const entry of entries) {
      const { delta, signs, whole } = entry.part
      if (delta !== undefined) {
        const { key, text } = delta
        const slot = keyed.get(key)
        if (slot === undefined || slot.after === slot.text) {
          if (repeats) texts.went(key, text)
          out.push(entry.frame)
        } else if (!done.has(key)) {
          done.add(key)
          changed.add(key)
          if (repeats) texts.went(key, slot.after)
          if (slot.after !== "") out.push(delta.with(slot.after))
        }
      } else if (signs !== undefined && changed.has(signs)) continue
      else if (whole !== undefined) {
        const own = slotsOf.get(entry) ?? []
        const others = whole.texts.map(({ text }, at) => own[at]?.after ?? texts.instead(text) ?? text)
        if (repeats) for (const [at, { text }] of whole.texts.entries()) texts.saidWhole(text, others[at] ?? text)
        out.push(whole.texts.every(({ text }, at) => text === others[at]) ? entry.frame : whole.with(others))
      } else out.push(entry.frame)
    }
    return out
  })

  /** The frames that go out after these came, and whether they are the last. */
  const step = Effect.fnUntraced(function* (frames: ReadonlyArray<Frame>, isEnd = false) {
    const out: Array<Frame> = []
    for (const frame of frames) {
      const entry = { frame, part: reader.read(frame) }
      if (take(entry)) out.push(frame)
    }
    if (isEnd || ended) mark(queue.length)
    if (ready > 0) {
      const passed = yield* judged(judgeable())
      if (passed === undefined) {
        const all_ = out.map(reader.emit)
        onWithheld()
        return { frames: [...all_, ...reader.report(reader.withheld(), actions())], over: true }
      }
      out.push(...passed)
    }
    if (held !== taken) {
      const refused = hold(held - taken, held)
      taken = held
      if (refused !== undefined) return yield* refused
    }
    const shown = out.map(reader.emit)
    return { frames: ended && !isEnd ? reported(options, shown) : shown, over: false }
  })
  return step
}

/** Passes frames as they come, and asks beside them; before the last ones it waits for what was asked. */
const beside = (options: GuardStreamOptions) => {
  const { about, acted, guards, reader } = options
  const texts = makeTexts()
  const repeats = about.surface === "responses"
  const pieces = new Map<string, { readonly place: Place; text: string; before: string }>()
  let pending: Array<PlacedText> = []
  let running: Fiber.Fiber<void, GatewayError> | undefined
  let ended = false

  const flush = (key: string, to?: number) => {
    const piece = pieces.get(key)
    if (piece === undefined) return
    const text = piece.text.slice(0, to)
    if (text !== "") pending.push({ place: piece.place, text, before: piece.before })
    const before = (piece.before + text).slice(-contextCharacters)
    pieces.set(key, { place: piece.place, text: piece.text.slice(text.length), before })
  }
  const hear = ({ delta, ends, last, repeats: repeated, whole }: Part) => {
    if (delta !== undefined) {
      const { key, place, text } = delta
      if (repeats) texts.came(key, text)
      const known = pieces.get(key) ?? { place, text: "", before: "" }
      const end = place === "arguments" ? undefined : lastSentenceEnd(known.text, text)
      pieces.set(key, { ...known, text: known.text + text })
      if (end !== undefined) flush(key, known.text.length + end)
      else if (place !== "arguments" && known.text.length > longestHeld) flush(key)
    }
    if (ends === true) for (const key of pieces.keys()) flush(key)
    if (repeated !== undefined) texts.complete(repeated)
    for (const text of whole?.texts ?? []) {
      if (texts.isKnown(text.text)) continue
      pending.push(text)
      if (repeats) texts.saidWhole(text.text, text.text)
    }
    if (last === true) ended = true
  }
  const ask: Effect.Effect<void, GatewayError> = Effect.suspend(() => {
    const asked = pending
    pending = []
    if (asked.length === 0 || guards.length === 0) return Effect.void
    return Effect.andThen(
      Effect.map(askGuards(guards, { about, input: "response", texts: asked }), (judged) => acted(judged.actions)),
      ask
    )
  })
  const start = Effect.gen(function* () {
    const scope = yield* Effect.scope
    if (running !== undefined && running.pollUnsafe() === undefined) return
    if (running !== undefined) yield* Fiber.join(running)
    running = pending.length === 0 ? undefined : yield* Effect.forkIn(ask, scope, { startImmediately: true })
  })
  return Effect.fnUntraced(function* (frames: ReadonlyArray<Frame>, isEnd = false) {
    for (const frame of frames) hear(reader.read(frame))
    if (!ended && !isEnd) {
      yield* start
      return { frames, over: false }
    }
    for (const key of pieces.keys()) flush(key)
    if (running !== undefined) yield* Fiber.join(running)
    running = undefined
    yield* ask
    return { frames: ended && !isEnd ? reported(options, frames) : frames, over: false }
  })
}

const isFilled = (frames: ReadonlyArray<Frame>): frames is Frames => frames.length > 0

/** After what it ends with where guards block, the cloud is not waited for. */
export const guardStream =
  (options: GuardStreamOptions) =>
  (self: Stream.Stream<Frame, Failure>): Stream.Stream<Frame, Failure> =>
    Stream.transformPull(self, (upstream, scope) =>
      Effect.sync(() => {
        const holders = options.guards.filter(({ action }) => action !== "flag")
        const step =
          holders.length === 0
            ? beside(options)
            : holding(
                options,
                holders.some(({ hold }) => hold === "whole")
              )
        const run = (frames: ReadonlyArray<Frame>, isEnd = false) =>
          Effect.provideService(step(frames, isEnd), Scope.Scope, scope)
        let end: Pull.Pull<never, Failure> | undefined
        /** What is left when the stream before has ended, then its end. */
        const finish = (after: Pull.Pull<never, Failure>) =>
          Effect.flatMap(run([], true), ({ frames, over }) => {
            end = over ? Effect.fail(new Enough()) : after
            return isFilled(frames) ? Effect.succeed(frames) : end
          })
        const next: Pull.Pull<Frames, Failure> = Pull.matchEffect(upstream, {
          onSuccess: (frames) =>
            Effect.flatMap(run(frames), ({ frames: out, over }) => {
              if (over) end = Effect.fail(new Enough())
              return isFilled(out) ? Effect.succeed(out) : (end ?? next)
            }),
          onFailure: (cause) => {
            const failed = Effect.failCause(cause)
            return Option.isNone(Cause.findErrorOption(cause)) ? failed : finish(failed)
          },
          onDone: () => finish(Cause.done())
        })
        return Effect.suspend(() => end ?? next)
      })
    )
