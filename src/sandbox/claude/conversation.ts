/** Checks of a request to Claude that span messages, with Anthropic's refusals. */
import type { Message } from "../turn.ts"
import { insist } from "./messages.ts"
import { checkThoughts } from "./thoughts.ts"

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

const idsIn = (message: Message | undefined) => (message?.parts ?? []).flatMap(({ call }) => call?.id ?? [])

const checkPairs = (messages: ReadonlyArray<Message>): void => {
  for (const [index, { parts }] of [...messages, { parts: [] }].entries()) {
    const asked = new Set(idsIn(messages[index - 1]))
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
    'messages: first message must use the "user" role': messages[0]?.role === "user",
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
