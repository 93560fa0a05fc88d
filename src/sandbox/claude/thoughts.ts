/** Thinking in its place: Claude refuses blocks of the latest assistant message that have been moved (docs/upstreams.md#anthropic-messages). */
import { insistOn } from "../shape.ts"
import type { Message, Part } from "../turn.ts"

type Kind = "thinking" | "text" | "call"

/** The place of each block: how many thoughts, runs of text and calls stand before it. Texts may be joined and changed. */
export const placesOf = (kinds: ReadonlyArray<Kind>): ReadonlyArray<string> => {
  const before = { thinking: 0, text: 0, call: 0 }
  return kinds.map((kind, at) => {
    const place = `${before.thinking} ${before.text} ${before.call}`
    if (kind !== "text" || kinds[at - 1] !== "text") before[kind]++
    return place
  })
}

const kindOf = ({ thought, call }: Part): Kind =>
  thought !== undefined ? "thinking" : call !== undefined ? "call" : "text"

const MOVED =
  "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."

/** Whether an assistant's turn that goes on began with thinking: a loop of tools is one turn. */
const begunThinking = (messages: ReadonlyArray<Message>, last: number): boolean => {
  for (let at = last; at >= 0; at -= 2) {
    if (messages[at]?.parts[0]?.thought !== undefined) return true
    if (messages[at - 1]?.parts.every(({ result }) => result !== undefined) !== true) return false
  }
  return false
}

/** `messages` alternate. Throws a `Refusal`. */
export const checkThoughts = (messages: ReadonlyArray<Message>, thinks: boolean, budgeted: boolean): void => {
  for (const [index, { role, parts }] of messages.entries()) {
    const final = role === "assistant" && parts.at(-1)?.thought !== undefined
    insistOn({ [`messages.${index}: The final block in an assistant message cannot be \`thinking\`.`]: !final })
  }
  const last = messages.findLastIndex(({ role }) => role === "assistant")
  const parts = messages[last]?.parts ?? []
  const places = placesOf(parts.map(kindOf))
  for (const [at, { stoodAt }] of parts.entries()) {
    insistOn({ [`messages.${last}.content.${at}: ${MOVED}`]: !thinks || stoodAt?.(places[at] ?? "") !== false })
  }
  const goesOn = last === messages.length - 1 || parts.some(({ call }) => call !== undefined)
  const found = parts[0]?.call === undefined ? "text" : "tool_use"
  insistOn({
    [`messages.${last}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`.`]:
      !budgeted || last < 0 || !goesOn || begunThinking(messages, last)
  })
}
