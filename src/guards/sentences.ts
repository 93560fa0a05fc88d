/** Where a text that comes in pieces may be cut, so that a guard sees sentences whole (docs/guards.md#streams). */

/** Longest text that is held back while it has no end of a sentence, in characters. */
const longestHeld = 4_000

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

/** Where what may be judged ends in a piece; undefined where the text goes on. `size`: characters of it that are held, with the piece. */
export const lastCut = (before: string, piece: string, size: number): number | undefined => {
  const end = lastSentenceEnd(before, piece)
  if (end !== undefined || size <= longestHeld) return end
  const lastWord = piece.search(/\s\S*$/) + 1
  if (lastWord > 0) return lastWord
  return size > 2 * longestHeld ? piece.length : undefined
}
