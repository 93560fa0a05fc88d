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
export class ReasoningFilter implements TextFilter {
  private place: "start" | "reasoning" | "blank" | "text" = "start"
  private held = ""

  push(piece: string): string {
    if (this.place === "text") return piece
    if (this.place === "blank" && spaces.test(piece)) {
      // Not looked through again with each piece that follows.
      this.held += piece
      return ""
    }
    return this[this.place](this.held + piece)
  }

  end(): string {
    const { held, place } = this
    this.held = ""
    return place === "blank" ? held.replace(blankLines, "") : place === "start" ? held : ""
  }

  private start(rest: string): string {
    if (rest.startsWith(opening)) return this.reasoning(rest.slice(opening.length))
    if (!opening.startsWith(rest)) return this.text(rest)
    this.held = rest
    return ""
  }

  private reasoning(rest: string): string {
    this.place = "reasoning"
    const at = rest.indexOf(closing)
    if (at >= 0) return this.blank(rest.slice(at + closing.length))
    this.held = rest.slice(1 - closing.length)
    return ""
  }

  private blank(rest: string): string {
    this.place = "blank"
    const line = rest.replace(blankLines, "")
    this.held = line
    return line.trimStart() === "" ? "" : this.text(line)
  }

  private text(rest: string): string {
    this.place = "text"
    this.held = ""
    return rest
  }
}
