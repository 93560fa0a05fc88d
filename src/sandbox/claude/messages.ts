/** The messages of a request to Claude: what their blocks may hold, and how turns follow each other. */
import { arrayOf, type Json, objectOf, stringOf } from "../json.ts"
import { fileOf, sniff } from "../media.ts"
import { anything, type Fields, reads, type Shape } from "../shape.ts"
import { isSigned } from "../signature.ts"
import { countTokens } from "../tokens.ts"
import type { Message, Part } from "../turn.ts"
import { closed, dictionary, insist, list, matching, oneOf, text, variant, where } from "./shape.ts"

/** A `cache_control` marker. */
export const cache: Shape = (value, path) => {
  if (value === null) return
  oneOf(["ephemeral"])(objectOf(value).type, `${path}.type`)
  closed("type", { ttl: oneOf(["5m", "1h"], "'5m' or '1h'") })(value, `${path}.ephemeral`)
}

const block = <const N extends string, const F extends Fields>(names: N, fields: F = {} as F) =>
  closed(`type ${names}`, { cache_control: cache, ...fields })

/** A text that is not empty, in the system prompt or in messages. */
export const filled = (place: "system" | "messages"): Shape<string> =>
  where(text, (value) => ({ "text content blocks must be non-empty": value !== "" }), place)

const words = where(
  filled("messages"),
  (text) => ({ "text content blocks must contain non-whitespace text": /\S/.test(text) }),
  "messages"
)

/** The path of the block that a type's fields are in. */
const blockAt = (path: string): string => path.slice(0, path.lastIndexOf("."))

const base64 = (types: ReadonlyArray<string>) =>
  reads(closed("type data", { "media_type!": oneOf(types) }), ({ data, media_type: type }, path): Part => {
    const { valid, length, type: found } = sniff(data)
    const pdf = type === "application/pdf"
    insist({
      [`${path}: invalid base64 data`]: valid,
      [`${path.replace(".document.", ".pdf.")}.data: The PDF specified was not valid.`]: !pdf || found === type,
      [`${path}: image exceeds 5 MB maximum: ${length} bytes > 5242880 bytes`]: pdf || length <= 5_242_880,
      "Could not process image": pdf || found.startsWith("image/"),
      [`${path}.data: The image was specified using the ${type} media type, but the image appears to be a ${found} image`]:
        found === type
    })
    return fileOf(type, length)
  })

const source =
  (types: ReadonlyArray<string>, others: ReadonlyArray<string> = []): Shape<Part> =>
  (value, path) => {
    const { type, data } = objectOf(value)
    const known = type === "base64" || others.includes(stringOf(type))
    insist({ "URL sources are not supported on this platform; send the data as base64": known }, path)
    if (type === "base64") return base64(types)(value, `${path}.base64`)
    return { media: "a text document", tokens: countTokens(stringOf(data)) }
  }

const file = (source: Shape<Part>, names = "") => reads(block(names, { "source!": source }), (read) => read.source)

const call = block("caller", {
  "id!": matching(/^[a-zA-Z0-9_-]+$/),
  "name!": matching(/^[a-zA-Z0-9_-]{1,200}$/),
  "input!": dictionary
})

const sealed = (path: string, said: string, text: unknown, signature: unknown): Part => {
  insist({ [`Invalid ${said} block`]: isSigned(stringOf(text), stringOf(signature)) }, blockAt(path))
  return { thought: true }
}

/** Blocks that only one side sends. */
const kinds = {
  image: ["user", file(source(["image/jpeg", "image/png", "image/gif", "image/webp"]))],
  document: ["user", file(source(["application/pdf"], ["text", "content"]), "title context citations")],
  tool_use: ["assistant", reads(call, ({ id, name, input }) => ({ call: { id, name, json: JSON.stringify(input) } }))],
  thinking: [
    "assistant",
    reads(block("thinking signature"), ({ thinking, signature }, path) =>
      sealed(path, "`signature` in `thinking`", thinking, signature)
    )
  ],
  redacted_thinking: [
    "assistant",
    reads(block("data"), ({ data }, path) => sealed(path, "`data` in `redacted_thinking`", "redacted", data))
  ]
} satisfies Readonly<Record<string, readonly [role: string, shape: Shape<Part>]>>

const blocksOf = (role: string, strict: boolean): Shape<ReadonlyArray<Part>> => {
  const only =
    (place: string, type: string, shape: Shape<Part>): Shape<Part> =>
    (value, path) => {
      const placed = role === place || (type === "document" && !strict)
      insist({ [`\`${type}\` blocks can only be in \`${place}\` messages`]: placed }, blockAt(path))
      return shape(value, path)
    }
  const uncited = where(anything, (citations) => ({
    "Citations are not permitted in user messages": !strict || role !== "user" || arrayOf(citations).length === 0
  }))
  const shapes: Readonly<Record<string, Shape<Part>>> = {
    text: reads(block("", { "text!": words, citations: uncited }), ({ text }) => ({ text })),
    ...Object.fromEntries(Object.entries(kinds).map(([type, [place, shape]]) => [type, only(place, type, shape)]))
  }
  const inner = list(variant("type", shapes))
  const content: Shape<Json | undefined> = (value, path) => {
    if (typeof value !== "string" && value !== null) inner(value, path)
    return value
  }
  const result = reads(block("tool_use_id is_error", { content }), ({ tool_use_id: id, content }) => ({
    result: { id: stringOf(id), content }
  }))
  const blocks = list(variant("type", { ...shapes, tool_result: only("user", "tool_result", result) }))
  return (value, path) => blocks(typeof value === "string" ? [{ type: "text", text: value }] : value, path)
}

/**
 * The messages, each for itself. `strict` are those of API version 2026-10-21: no documents in assistant turns, no citations in
 * the user's. With `systemTurns`, system messages may follow a user's turn.
 */
export const messagesOf = (strict: boolean, systemTurns: boolean): Shape<ReadonlyArray<Message>> => {
  const two = ["user", "assistant"] as const
  const role = systemTurns ? oneOf([...two, "system"]) : oneOf(two, "'user' or 'assistant'")
  const shapeOf = (side: string) => closed("", { "role!": role, "content!": blocksOf(side, strict) })
  const [user, assistant] = [shapeOf("user"), shapeOf("assistant")]
  return list((value, path) => {
    const { role: given, content } = objectOf(value)
    const empty = content === "" || (Array.isArray(content) && content.length === 0)
    insist({ "all messages must have non-empty content": !empty }, path)
    const message = (given === "assistant" ? assistant : user)(value, path)
    return { role: message.role, parts: message.content }
  })
}

const idsIn = (message: Message | undefined) => (message?.parts ?? []).flatMap(({ call }) => call?.id ?? [])

const checkPairs = (messages: ReadonlyArray<Message>): void => {
  for (const [index, { parts }] of [...messages, { parts: [] }].entries()) {
    const asked = idsIn(messages[index - 1])
    const answered = parts.flatMap(({ result }) => result?.id ?? [])
    const stray = answered.find((id) => !asked.includes(id))
    const open = asked.filter((id) => !answered.includes(id)).join(", ")
    const others = parts.findIndex(({ result }) => result === undefined)
    const unexpected = `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
    insist({ [unexpected]: stray === undefined }, `messages.${index}.content.0`)
    const single = "each tool_use must have a single result. Found multiple `tool_result` blocks"
    insist({ [single]: new Set(answered).size === answered.length }, `messages.${index}`)
    const unanswered = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    insist({ [unanswered]: open === "" }, `messages.${index - 1}`)
    const first = others < 0 || parts.slice(others).every(({ result }) => result === undefined)
    insist({ "`tool_result` blocks must come before other content in a message": first }, `messages.${index}`)
  }
}

/** The turns, where the system messages among them are in places that they may have. */
const withoutSystem = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  for (const [index, { role }] of messages.entries()) {
    if (role !== "system") continue
    insist({
      "messages.0: use the top-level 'system' parameter for the initial system prompt": index > 0,
      [`messages.${index}: role 'system' must follow a user message`]: messages[index - 1]?.role === "user",
      [`messages.${index}: role 'system' must be last or before 'assistant'`]:
        (messages[index + 1]?.role ?? "assistant") === "assistant"
    })
  }
  return messages.filter(({ role }) => role !== "system")
}

/** Checks the messages together, as the vendor does: roles, tool pairs, thinking blocks, prefill. */
export const checkMessages = (given: ReadonlyArray<Message>, prefill: boolean, budgeted: boolean): void => {
  const messages = withoutSystem(given)
  insist({ "messages: at least one message is required": messages.length > 0 })
  const twice = messages.find(({ role }, index) => role === messages[index - 1]?.role)
  insist({
    'messages: first message must use the "user" role': messages[0]?.role === "user",
    [`messages: roles must alternate between "user" and "assistant", but found multiple "${twice?.role}" roles in a row`]:
      twice === undefined
  })
  const last = messages.at(-1)
  const text = last?.parts.at(-1)?.text ?? ""
  insist({
    "This model does not support assistant message prefill. The conversation must end with a user message.":
      prefill || last?.role !== "assistant",
    "messages: final assistant content cannot end with trailing whitespace":
      last?.role !== "assistant" || text.trimEnd() === text
  })
  checkPairs(messages)
  const at = messages.length - 2
  const turn = messages[at]
  const first = turn?.parts[0]
  insist({
    [`messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first?.call ? "tool_use" : "text"}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`.`]:
      !budgeted || idsIn(turn).length === 0 || first?.thought === true
  })
}
