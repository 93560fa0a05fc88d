/** Takes `<reasoning>…</reasoning>` out of a text that arrives in pieces (docs/upstreams.md#gpt-oss-on-bedrock). */
import type { TextFilter } from "../textFilter.ts"

const opening = "<reasoning>"
const closing = "</reasoning>"

/** Where the text is cut changes nothing: at most the beginning of a tag is held back. */
export const reasoningFilter = (): TextFilter => {
  let inside = false
  let held = ""
  return {
    push: (text) => {
      let rest = held + text
      let shown = ""
      for (;;) {
        const tag = inside ? closing : opening
        const at = rest.indexOf(tag)
        if (at < 0) {
          const kept = begun(rest, tag)
          if (!inside) shown += rest.slice(0, rest.length - kept)
          held = kept === 0 ? "" : rest.slice(-kept)
          return shown
        }
        if (!inside) shown += rest.slice(0, at)
        rest = rest.slice(at + tag.length)
        inside = !inside
      }
    },
    end: () => {
      const shown = inside ? "" : held
      held = ""
      return shown
    }
  }
}

/** How many characters at the text's end could be the beginning of the tag. */
const begun = (text: string, tag: string): number => {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length
  }
  return 0
}
