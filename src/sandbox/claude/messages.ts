/** The messages of a request to Claude: what their blocks may hold, and how turns follow each other. */
import { check, Refusal } from "../http.ts"
import { isObject, type JsonObject, listOf, objectOf, stringOf } from "../json.ts"
import { decodeBase64, sniff } from "../media.ts"
import { all, anything, type Fields, free, type Shape } from "../shape.ts"
import { isSigned } from "../signature.ts"
import { closed, dictionary, holds, list, matching, oneOf, refusal, rule, text, variant } from "./shape.ts"

/** What the rules for messages depend on. */
export interface MessageRules {
  readonly thinking: "off" | "budgeted" | "adaptive"
  readonly prefill: boolean
  /** API version 2026-10-21: no documents in assistant turns. */
  readonly strict: boolean
  /** Takes system messages after a user's turn. */
  readonly systemTurns: boolean
}

const ephemeral = closed({ type: anything, ttl: oneOf(["5m", "1h"], "'5m' or '1h'") })

/** A `cache_control` marker. */
export const cache: Shape = (value, path) => {
  if (value === null) return
  oneOf(["ephemeral"])(objectOf(value).type, `${path}.type`)
  ephemeral(value, `${path}.ephemeral`)
}

const block = (fields: Fields): Shape => closed({ type: anything, cache_control: cache, ...fields })

/** A text that is not empty, in the system prompt or in messages. */
export const filled = (where: "system" | "messages"): Shape =>
  all(
    text,
    rule((value) => value !== "", `${where}: text content blocks must be non-empty`)
  )

/** The path of the block that a type's fields are in. */
const blockAt = (path: string): string => path.slice(0, path.lastIndexOf("."))

const base64 = (kind: string, types: ReadonlyArray<string>): Shape =>
  all(closed({ type: anything, media_type: oneOf(types), data: anything }), (source, path) => {
    const { data, media_type: type } = objectOf(source)
    const bytes = decodeBase64(stringOf(data))
    if (bytes === undefined) throw refusal(path, "invalid base64 data")
    const size = `image exceeds 5 MB maximum: ${bytes.length} bytes > 5242880 bytes`
    if (kind === "image" && bytes.length > 5_242_880) throw refusal(path, size)
    const found = sniff(bytes)
    if (found === type) return
    if (kind === "document") {
      throw refusal(`${path.replace(".document.", ".pdf.")}.data`, "The PDF specified was not valid.")
    }
    if (found === undefined || found === "application/pdf") throw new Refusal(400, "Could not process image")
    const words = `The image was specified using the ${type} media type, but the image appears to be a ${found} image`
    throw refusal(`${path}.data`, words)
  })

const sourceOf = (kind: string, types: ReadonlyArray<string>, others: Fields = {}): Shape => {
  const known = variant("type", { base64: base64(kind, types), ...others })
  const words = "URL sources are not supported on this platform; send the data as base64"
  return all(
    holds((source) => ["base64", ...Object.keys(others)].includes(stringOf(objectOf(source).type)), words),
    known
  )
}

const image = block({ "source!": sourceOf("image", ["image/jpeg", "image/png", "image/gif", "image/webp"]) })
const document = block({
  "source!": sourceOf("document", ["application/pdf"], free("text", "content")),
  ...free("title", "context", "citations")
})
const call = block({
  "id!": matching(/^[a-zA-Z0-9_-]+$/),
  "name!": matching(/^[a-zA-Z0-9_-]{1,200}$/),
  "input!": dictionary,
  caller: anything
})
const thinking: Shape = all(block(free("thinking", "signature")), (value, path) => {
  const { thinking, signature } = objectOf(value)
  if (isSigned(stringOf(thinking), stringOf(signature))) return
  throw refusal(blockAt(path), "Invalid `signature` in `thinking` block")
})
const redacted: Shape = all(block(free("data")), (value, path) => {
  if (isSigned("redacted", stringOf(objectOf(value).data))) return
  throw refusal(blockAt(path), "Invalid `data` in `redacted_thinking` block")
})

const blockOf = (role: string, { strict }: MessageRules): Shape => {
  const only =
    (place: string, shape: Shape): Shape =>
    (value, path) => {
      const type = stringOf(objectOf(value).type)
      if (role !== place) throw refusal(blockAt(path), `\`${type}\` blocks can only be in \`${place}\` messages`)
      shape(value, path)
    }
  const words = all(
    filled("messages"),
    rule((text) => /\S/.test(stringOf(text)), "messages: text content blocks must contain non-whitespace text")
  )
  const uncited = holds(
    (citations) => !strict || role !== "user" || listOf(citations ?? []).length === 0,
    "Citations are not permitted in user messages"
  )
  const shapes: Record<string, Shape> = {
    text: block({ "text!": words, citations: uncited }),
    image: only("user", image),
    document: strict ? only("user", document) : document,
    tool_use: only("assistant", call),
    thinking: only("assistant", thinking),
    redacted_thinking: only("assistant", redacted)
  }
  const content = list(all(rule(isObject, "messages: text content blocks must be non-empty"), variant("type", shapes)))
  const result = block({
    ...free("tool_use_id", "is_error"),
    content: (value, path) => (typeof value === "string" || value === null ? undefined : content(value, path))
  })
  return variant("type", { ...shapes, tool_result: only("user", result) })
}

/** The blocks of a message; a plain string is one text block. */
export const blocksOf = (message: JsonObject): ReadonlyArray<JsonObject> =>
  typeof message.content === "string"
    ? [{ type: "text", text: message.content }]
    : listOf(message.content).filter(isObject)

const idsOf = (message: JsonObject | undefined, type: string, key: string): ReadonlyArray<string> =>
  message === undefined
    ? []
    : blocksOf(message)
        .filter((block) => block.type === type)
        .map((block) => stringOf(block[key]))

const checkPairs = (messages: ReadonlyArray<JsonObject>): void => {
  const unanswered = (ids: ReadonlyArray<string>, index: number, hint = "") =>
    check(
      ids.length === 0,
      `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}${hint}`
    )
  for (const [index, message] of messages.entries()) {
    const asked = idsOf(messages[index - 1], "tool_use", "id")
    const answered = idsOf(message, "tool_result", "tool_use_id")
    const stray = answered.find((id) => !asked.includes(id))
    check(
      stray === undefined,
      `messages.${index}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
    )
    check(
      new Set(answered).size === answered.length,
      `messages.${index}: each tool_use must have a single result. Found multiple \`tool_result\` blocks`
    )
    unanswered(
      asked.filter((id) => !answered.includes(id)),
      index - 1,
      ". Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )
    const types = blocksOf(message).map((block) => block.type === "tool_result")
    check(
      types.indexOf(false) < 0 || types.lastIndexOf(true) < types.indexOf(false),
      `messages.${index}: \`tool_result\` blocks must come before other content in a message`
    )
  }
  unanswered(idsOf(messages.at(-1), "tool_use", "id"), messages.length - 1)
}

/** The turns, where the system messages among them are in places that they may have. */
const withoutSystem = (messages: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  for (const [index, { role }] of messages.entries()) {
    if (role !== "system") continue
    check(index > 0, `messages.0: use the top-level 'system' parameter for the initial system prompt`)
    check(messages[index - 1]?.role === "user", `messages.${index}: role 'system' must follow a user message`)
    const next = messages[index + 1]?.role
    check(
      next === undefined || next === "assistant",
      `messages.${index}: role 'system' must be last or before 'assistant'`
    )
  }
  return messages.filter(({ role }) => role !== "system")
}

const message = closed({
  "role!": oneOf(["user", "assistant"], "'user' or 'assistant'"),
  "content!": holds((content) => typeof content === "string" || Array.isArray(content), "Input should be a valid list")
})

/** Checks the messages as the vendor does: roles, blocks, tool pairs, thinking blocks, prefill. */
export const checkMessages = (given: ReadonlyArray<JsonObject>, rules: MessageRules): void => {
  const messages = rules.systemTurns ? withoutSystem(given) : given
  check(messages.length > 0, "messages: at least one message is required")
  const shapes: Fields = { user: blockOf("user", rules), assistant: blockOf("assistant", rules) }
  for (const [index, turn] of messages.entries()) {
    const path = `messages.${index}`
    const { role, content } = turn
    message(turn, path)
    check(index > 0 || role === "user", 'messages: first message must use the "user" role')
    check(
      messages[index - 1]?.role !== role,
      `messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`
    )
    const blocks = blocksOf(turn)
    const empty = content === "" || blocks.length === 0 || !listOf(content).every(isObject)
    check(!empty, `${path}: all messages must have non-empty content`)
    for (const [at, one] of blocks.entries()) shapes[stringOf(role)]?.(one, `${path}.content.${at}`)
  }
  const last = messages.at(-1)
  if (last?.role === "assistant") {
    check(
      rules.prefill,
      "This model does not support assistant message prefill. The conversation must end with a user message."
    )
    const text = stringOf(blocksOf(last).at(-1)?.text)
    check(text.trimEnd() === text, "messages: final assistant content cannot end with trailing whitespace")
  }
  checkPairs(messages)
  if (rules.thinking !== "budgeted") return
  const at = messages.findLastIndex((message) => message.role === "assistant")
  const turn = messages[at]
  if (turn === undefined || idsOf(turn, "tool_use", "id").length === 0 || at !== messages.length - 2) return
  const first = stringOf(blocksOf(turn)[0]?.type)
  check(
    first === "thinking" || first === "redacted_thinking",
    `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`.`
  )
}
