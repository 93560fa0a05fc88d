/**
 * Checks of a request to Claude that span messages, with Anthropic's refusals. Thinking stays in its place: Claude refuses blocks
 * of the latest assistant message that have been moved (docs/upstreams.md#anthropic-messages).
 */
import type { Message, Part } from "../turn.ts"
import { insist } from "./messages.ts"

export type Kind = "thinking" | "text" | "call"

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
const checkThoughts = (messages: ReadonlyArray<Message>, thinks: boolean, budgeted: boolean): void => {
  for (const [index, { role, parts }] of messages.entries()) {
    const final = role === "assistant" && parts.at(-1)?.thought !== undefined
    insist({ [`messages.${index}: The final block in an assistant message cannot be \`thinking\`.`]: !final })
  }
  const last = messages.findLastIndex(({ role }) => role === "assistant")
  const parts = messages[last]?.parts ?? []
  const places = placesOf(parts.map(kindOf))
  for (const [at, { stoodAt }] of parts.entries()) {
    insist({ [`messages.${last}.content.${at}: ${MOVED}`]: !thinks || stoodAt?.(places[at] ?? "") !== false })
  }
  const goesOn = last === messages.length - 1 || parts.some(({ call }) => call !== undefined)
  const found = parts[0]?.call === undefined ? "text" : "tool_use"
  insist({
    [`messages.${last}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`.`]:
      !budgeted || last < 0 || !goesOn || begunThinking(messages, last)
  })
}

/** IDs of calls in the whole request. */
const checkIds = (messages: ReadonlyArray<Message>): void => {
  const known = new Set<string>()
  for (const [index, { parts }] of messages.entries()) {
    for (const [at, { call }] of parts.entries()) {
      if (call === undefined) continue
      insist({ [`messages.${index}.content.${at}: \`tool_use\` ids must be unique`]: !known.has(call.id) })
      known.add(call.id)
    }
  }
}

const checkPairs = (messages: ReadonlyArray<Message>): void => {
  for (const [index, { parts }] of [...messages, { parts: [] }].entries()) {
    const asked = new Set(messages[index - 1]?.parts.flatMap(({ call }) => call?.id ?? []))
    const results = parts.flatMap(({ result }) => result?.id ?? [])
    const answered = new Set(results)
    const [stray] = answered.difference(asked)
    const open = [...asked.difference(answered)].join(", ")
    insist({
      [`messages.${index}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`]:
        stray === undefined,
      [`messages.${index}: each tool_use must have a single result. Found multiple \`tool_result\` blocks`]:
        answered.size === results.length,
      [`messages.${index - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`]:
        open === "",
      [`messages.${index}: \`tool_result\` blocks must come before other content in a message`]:
        parts.findLastIndex(({ result }) => result !== undefined) < results.length
    })
  }
}

/** Checks that span messages: roles, tool pairs, thinking blocks, prefill. */
export const checkMessages = (
  given: ReadonlyArray<Message>,
  { prefill, thinks, budgeted }: { readonly prefill: boolean; readonly thinks: boolean; readonly budgeted: boolean }
): void => {
  for (const [index, { role }] of given.entries()) {
    if (role !== "system") continue
    insist({
      "messages.0: use the top-level 'system' parameter for the initial system prompt": index > 0,
      [`messages.${index}: role 'system' must follow a user message`]: given[index - 1]?.role === "user",
      [`messages.${index}: role 'system' must be last or before 'assistant'`]:
        (given[index + 1]?.role ?? "assistant") === "assistant"
    })
  }
  const messages = given.filter(({ role }) => role !== "system")
  const twice = messages.find(({ role }, index) => role === messages[index - 1]?.role)
  const last = messages.at(-1)
  const prefilled = last?.role === "assistant"
  const text = last?.parts.at(-1)?.text ?? ""
  insist({
    "messages: at least one message is required": last !== undefined,
    [`messages: roles must alternate between "user" and "assistant", but found multiple "${twice?.role}" roles in a row`]:
      twice === undefined,
    "This model does not support assistant message prefill. The conversation must end with a user message.":
      prefill || !prefilled,
    "messages: final assistant content cannot end with trailing whitespace": !prefilled || text.trimEnd() === text
  })
  checkIds(messages)
  checkPairs(messages)
  checkThoughts(messages, thinks, budgeted)
}
