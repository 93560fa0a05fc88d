/**
 * Takes the reasoning off the beginning of a text that arrives in pieces: `<reasoning>…</reasoning>` and the blank lines after
 * it (docs/upstreams.md#gpt-oss-on-bedrock). Anywhere else these tags are the model's own text.
 */
import type { TextFilter } from "../textFilter.ts"

const opening = "<reasoning>"
const closing = "</reasoning>"
/** What separates the reasoning from the text: the rest of its line, and lines of white space. */
const blankLines = /^(?:[^\S\n]*\n)+/
/** White space within a line. */
const spaces = /^[^\S\n]*$/

/** Where the text is cut changes nothing: at most a part of a tag, or white space, is held back. */
export const reasoningFilter = (): TextFilter => {
  let place: "start" | "reasoning" | "blank" | "text" = "start"
  let held = ""

  const text = (rest: string): string => {
    place = "text"
    held = ""
    return rest
  }
  const blank = (rest: string): string => {
    place = "blank"
    held = rest.replace(blankLines, "")
    return held.trimStart() === "" ? "" : text(held)
  }
  const reasoning = (rest: string): string => {
    place = "reasoning"
    const at = rest.indexOf(closing)
    if (at >= 0) return blank(rest.slice(at + closing.length))
    held = rest.slice(1 - closing.length)
    return ""
  }
  const start = (rest: string): string => {
    if (rest.startsWith(opening)) return reasoning(rest.slice(opening.length))
    if (!opening.startsWith(rest)) return text(rest)
    held = rest
    return ""
  }
  const next = { start, reasoning, blank, text }

  return {
    push: (piece) => {
      if (place === "text") return piece
      if (place === "blank" && spaces.test(piece)) {
        // Not looked through again with each piece that follows.
        held += piece
        return ""
      }
      return next[place](held + piece)
    },
    end: () => {
      const rest = held
      held = ""
      return place === "blank" ? rest.replace(blankLines, "") : place === "start" ? rest : ""
    }
  }
}
