/** The texts of a streamed reply so far: of those that come in pieces what their next piece needs, and what may be said again. */
import { hash } from "node:crypto"
import { getOrInsert } from "../wire/getOrInsert.ts"
import { copyOf } from "../wire/print.ts"
import { contextCharacters } from "./markings.ts"
import type { PlacedText } from "./places.ts"
import { overlap } from "./sentences.ts"

/** What a piece takes beside it, in characters, about. */
const heldPerPiece = 16
/** What a text that may be said again takes beside it, with its digest. */
const heldPerText = 80

const digestOf = (text: string): string => hash("sha256", text)

/** A text that comes in pieces. */
interface Text {
  /** Pieces as they came and as they went out, where the reply says them again. */
  readonly came: Array<string>
  readonly went: Array<string>
  /** Characters that came. */
  length: number
  /** The end of what came, and of what was judged. */
  tail: string
  judgedTail: string
  isChanged: boolean
}

/** `repeats`: whether frames say again what others said. */
export const makeTexts = (repeats: boolean) => {
  const byKey = new Map<string, Text>()
  /**
   * What stands for a text that is said again: another, or what went out of the one that came in pieces. By the text's digest, because
   * V8 tells long texts of one length apart only by comparing them.
   */
  const known = new Map<string, string | Text>()
  let held = 0
  const of = (key: string): Text =>
    getOrInsert(byKey, key, () => {
      held += key.length + contextCharacters
      return { came: [], went: [], length: 0, tail: "", judgedTail: "", isChanged: false }
    })
  const keep = (pieces: Array<string>, piece: string): void => {
    if (!repeats) return
    pieces.push(piece)
    held += heldPerPiece + piece.length
  }
  const know = (text: string, instead: string | Text): void => {
    if (!repeats) return
    const digest = digestOf(text)
    if (!known.has(digest)) held += heldPerText + text.length
    known.set(digest, instead)
  }
  return {
    /** Takes a piece in; returns the end of what came before it. */
    came: (key: string, piece: string): string => {
      const text = of(key)
      const { tail } = text
      text.tail = (tail + piece).slice(-overlap)
      text.length += piece.length
      keep(text.came, piece)
      return tail
    },
    went: (key: string, piece: string) => keep(of(key).went, piece),
    /** The end of what was judged. */
    judgedTail: (key: string) => of(key).judgedTail,
    judged: (key: string, piece: string, isChanged: boolean): void => {
      const text = of(key)
      text.judgedTail = copyOf((text.judgedTail + piece).slice(-contextCharacters))
      text.isChanged ||= isChanged
    },
    isChanged: (key: string) => byKey.get(key)?.isChanged === true,
    /**
     * `said`: it again, whole. `isOut`: its own pieces have gone out, and stand for it in the place of those of another key.
     * Pieces are joined only where they may be that: a stream may say of a key many times that it is complete.
     */
    complete: (key: string, said: ReadonlyArray<PlacedText>, isOut: boolean): void => {
      const text = byKey.get(key)
      if (text === undefined || !said.some(({ text: { length } }) => length === text.length)) return
      const came = text.came.join("")
      if (isOut || !known.has(digestOf(came))) know(came, text)
    },
    saidWhole: know,
    isKnown: (text: string) => known.has(digestOf(text)),
    /** What stands for a text that was said before. */
    instead: (text: string): string | undefined => {
      const instead = known.get(digestOf(text))
      return typeof instead === "object" ? instead.went.join("") : instead
    },
    /** Characters that are held, about. */
    held: () => held
  }
}
