/** The texts of a streamed reply that guards are asked about: where sentences end, and what was said before (docs/guards.md#streams). */
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { GuardAction } from "../contract/Governance.ts"
import type { Frame } from "../stream/Frame.ts"
import { getOrInsert } from "../wire/getOrInsert.ts"
import type { FrameReader } from "./frames.ts"
import type { About, Guard } from "./Guard.ts"

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
  /** Nothing more of the reply may pass. */
  readonly onWithheld: () => void
  /** Takes memory for so many more characters that are held, `all` in all; less than 0 gives it back. */
  readonly hold: (more: number, all: number) => GatewayError | undefined
}

/** Longest text that is held back while it has no end of a sentence, in characters. */
export const longestHeld = 4_000

/** Ends of sentences and of lines, with what closes them. */
const sentenceEnd = /[.!?…]["')\]»”]*\s+|[。！？]+|\n+/g
/** How much of what was before may belong to such an end. */
export const overlap = 8

/** Where the last sentence ends in a piece, of a text that went before; undefined where none does. */
export const lastSentenceEnd = (before: string, piece: string): number | undefined => {
  const lead = before.slice(-overlap)
  let end: number | undefined
  for (const match of (lead + piece).matchAll(sentenceEnd)) end = match.index + match[0].length
  return end === undefined || end <= lead.length ? undefined : end - lead.length
}

/** The texts of a reply so far, as they came and as they went out, for frames that say them again. `repeats`: whether any does. */
export const makeTexts = (repeats: boolean) => {
  const came = new Map<string, Array<string>>()
  const went = new Map<string, Array<string>>()
  /** Keys and whole texts by what the cloud said. */
  const keys = new Map<string, string>()
  const wholes = new Map<string, string>()
  const add = (map: Map<string, Array<string>>, key: string, text: string): void => {
    if (repeats) getOrInsert(map, key, () => []).push(text)
  }
  const joined = (map: Map<string, Array<string>>, key: string): string => (map.get(key) ?? []).join("")
  return {
    came: (key: string, text: string) => add(came, key, text),
    went: (key: string, text: string) => add(went, key, text),
    complete: (key: string) => void keys.set(joined(came, key), key),
    saidWhole: (text: string, other: string): void => {
      if (repeats) wholes.set(text, other)
    },
    isKnown: (text: string) => wholes.has(text) || keys.has(text),
    /** What stands for a text that was said before. */
    instead: (text: string): string | undefined => {
      const key = keys.get(text)
      return wholes.get(text) ?? (key === undefined ? undefined : joined(went, key))
    }
  }
}

/** The last frames, which say what guards did. */
export const reported = (
  { actions, reader }: GuardStreamOptions,
  frames: ReadonlyArray<Frame>
): ReadonlyArray<Frame> => (actions().length === 0 ? frames : reader.report(frames, actions()))
