/** Takes the Markdown fence off a JSON answer that was asked for in words (docs/decisions.md#structured-output). */
import type { TextFilter } from "../textFilter.ts"

const opening = /^\s*```[a-z]*[^\S\n]*\n/i
/** A text that may still become an opening. */
const mayOpen = /^\s*(?:`{0,2}|```[a-z]*[^\S\n]*)$/i
const closing = "```"
/** More than this, in UTF-16 units, is no fence and is not held back. */
const maxHeld = 256

/** Where the text is cut changes nothing: only what could be a fence is held back. */
export const jsonFenceFilter = (): TextFilter => {
  let place: "start" | "fenced" | "plain" = "start"
  let held = ""
  const body = (text: string): string => {
    if (place === "plain") return text
    const rest = held + text
    const at = closingAt(rest)
    held = rest.slice(at)
    return rest.slice(0, at)
  }
  return {
    push: (text) => {
      if (place !== "start") return body(text)
      const begun = held + text
      const fence = opening.exec(begun)?.[0]
      if (fence === undefined && begun.length <= maxHeld && mayOpen.test(begun)) {
        held = begun
        return ""
      }
      held = ""
      place = fence === undefined ? "plain" : "fenced"
      return body(begun.slice(fence?.length ?? 0))
    },
    end: () => {
      const rest = place === "fenced" ? held.replace(closing, "").trimEnd() : held
      held = ""
      return rest
    }
  }
}

/** Where the closing fence, or what may become it, begins at the end of a text. */
const closingAt = (text: string): number => {
  const end = text.trimEnd().length
  let at = end
  while (at > end - closing.length && text[at - 1] === "`") at--
  at = text.slice(0, at).trimEnd().length
  return text.length - at > maxHeld ? text.length : at
}
