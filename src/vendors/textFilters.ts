/** Filters of a text that arrives in pieces. */

/** Takes parts out of a text that arrives in pieces. Mutable, made anew for each answer. */
export interface TextFilter {
  /** The part of the text so far that may be shown and has not been yet. */
  push(text: string): string
  /** The text has ended: the part that was held back and is shown. */
  end(): string
}

const fence = /^\s*```[a-z]*[^\S\n]*\n/i
/** A text that may still become one. */
const mayOpenFence = /^\s*(?:`{0,2}|```[a-z]*[^\S\n]*)$/i
const fenceEnd = "```"
/** Longest text that is held back as a possible fence, in UTF-16 units. */
const maxHeld = 256

/**
 * Removes the Markdown fence around JSON that an instruction asked for (docs/decisions.md#structured-output). How the text is split makes
 * no difference: only a possible fence is held back.
 */
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
      const found = fence.exec(begun)?.[0]
      if (found === undefined && begun.length <= maxHeld && mayOpenFence.test(begun)) {
        held = begun
        return ""
      }
      held = ""
      place = found === undefined ? "plain" : "fenced"
      return body(begun.slice(found?.length ?? 0))
    },
    end: () => {
      const rest = place === "fenced" ? held.replace(fenceEnd, "").trimEnd() : held
      held = ""
      return rest
    }
  }
}

/** Where the closing fence, or what may become it, begins at the end of a text. */
const closingAt = (text: string): number => {
  const end = text.trimEnd().length
  let at = end
  while (at > end - fenceEnd.length && text[at - 1] === "`") at--
  at = text.slice(0, at).trimEnd().length
  return text.length - at > maxHeld ? text.length : at
}

const opening = "<reasoning>"
const closing = "</reasoning>"
/** What separates the reasoning from the text: the rest of its line, and lines of white space. */
const blankLines = /^(?:[^\S\n]*\n)+/
/** White space within a line. */
const spaces = /^[^\S\n]*$/

/**
 * Takes the reasoning off the beginning of a text: `<reasoning>…</reasoning>` and the blank lines after it
 * (docs/upstreams.md#gpt-oss-on-bedrock). Anywhere else these tags are the model's own text. Where the text is cut changes nothing: at most
 * a part of a tag, or white space, is held back, the latter up to a limit.
 */
export const reasoningFilter = (): TextFilter => {
  let place: "start" | "reasoning" | "blank" | "text" = "start"
  let held = ""
  const show = (): string => {
    const shown = held
    place = "text"
    held = ""
    return shown
  }
  return {
    push: (piece) => {
      if (place === "text") return piece
      held += piece
      // Not looked through again with each piece that follows.
      if (place === "blank" && held.length <= maxHeld && spaces.test(piece)) return ""
      if (place === "start") {
        if (!held.startsWith(opening)) return opening.startsWith(held) ? "" : show()
        place = "reasoning"
        held = held.slice(opening.length)
      }
      if (place === "reasoning") {
        const at = held.indexOf(closing)
        if (at < 0) {
          held = held.slice(1 - closing.length)
          return ""
        }
        place = "blank"
        held = held.slice(at + closing.length)
      }
      held = held.replace(blankLines, "")
      return held.length <= maxHeld && held.trimStart() === "" ? "" : show()
    },
    end: () => {
      const rest = held
      held = ""
      return place === "blank" ? rest.replace(blankLines, "") : place === "start" ? rest : ""
    }
  }
}
