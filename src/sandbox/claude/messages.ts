import { check, Refusal } from "../http.ts"
import { isObject, type JsonObject, listOf, objectOf, stringOf } from "../json.ts"
import { decodeBase64, sniff } from "../media.ts"
import { isSigned } from "../signature.ts"

/** What the rules for messages depend on. */
export interface MessageRules {
  readonly thinking: "off" | "budgeted" | "adaptive"
  readonly prefill: boolean
  /** API version 2026-10-21: no documents in assistant turns. */
  readonly strict: boolean
  /** Takes system messages after a user's turn. */
  readonly systemTurns: boolean
}

const fields: Readonly<Record<string, ReadonlyArray<string>>> = {
  text: ["text", "citations"],
  image: ["source"],
  document: ["source", "title", "context", "citations"],
  tool_use: ["id", "name", "input", "caller"],
  tool_result: ["tool_use_id", "content", "is_error"],
  thinking: ["thinking", "signature"],
  redacted_thinking: ["data"]
}

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"]

/** Refuses fields that are not in the list, in the vendor's words. */
export const onlyFields = (value: JsonObject, allowed: ReadonlyArray<string>, path: string): void => {
  for (const name of Object.keys(value)) {
    check(allowed.includes(name), `${path === "" ? "" : `${path}.`}${name}: Extra inputs are not permitted`)
  }
}

/** Checks a `cache_control` marker. */
export const checkCache = (holder: JsonObject, path: string): void => {
  if (holder.cache_control === undefined || holder.cache_control === null) return
  const cache = objectOf(holder.cache_control)
  onlyFields(cache, ["type", "ttl"], `${path}.cache_control.ephemeral`)
  check(cache.type === "ephemeral", `${path}.cache_control.type: Input should be 'ephemeral'`)
  const ttl = cache.ttl ?? "5m"
  check(ttl === "5m" || ttl === "1h", `${path}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'`)
}

const checkSource = (block: JsonObject, path: string): void => {
  const kind = stringOf(block.type)
  const source = objectOf(block.source)
  if (kind === "document" && source.type === "text") return
  if (kind === "document" && source.type === "content") return
  check(
    source.type === "base64",
    `${path}.${kind}.source: URL sources are not supported on this platform; send the data as base64`
  )
  const type = stringOf(source.media_type)
  const allowed = kind === "image" ? imageTypes : ["application/pdf"]
  check(
    allowed.includes(type),
    `${path}.${kind}.source.base64.media_type: Input should be ${allowed.map((one) => `'${one}'`).join(", ")}`
  )
  const bytes = decodeBase64(stringOf(source.data))
  if (bytes === undefined) throw new Refusal(400, `${path}.${kind}.source.base64: invalid base64 data`)
  check(
    kind === "document" || bytes.length <= 5_242_880,
    `${path}.image.source.base64: image exceeds 5 MB maximum: ${bytes.length} bytes > 5242880 bytes`
  )
  const found = sniff(bytes)
  if (found === type) return
  if (kind === "document") throw new Refusal(400, `${path}.pdf.source.base64.data: The PDF specified was not valid.`)
  if (found === undefined || found === "application/pdf") throw new Refusal(400, "Could not process image")
  throw new Refusal(
    400,
    `${path}.image.source.base64.data: The image was specified using the ${type} media type, but the image appears to be a ${found} image`
  )
}

const checkText = (text: unknown, path: string): void => {
  check(typeof text === "string", `${path}.text.text: Input should be a valid string`)
  check(text !== "", "messages: text content blocks must be non-empty")
  check(typeof text !== "string" || /\S/.test(text), "messages: text content blocks must contain non-whitespace text")
}

const checkBlock = (block: JsonObject, role: string, path: string, rules: MessageRules): void => {
  const type = stringOf(block.type)
  const own = Object.hasOwn(fields, type) ? fields[type] : undefined
  if (own === undefined)
    throw new Refusal(400, `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags`)
  onlyFields(block, ["type", "cache_control", ...own], `${path}.${type}`)
  checkCache(block, `${path}.${type}`)
  const place = (expected: string) =>
    check(role === expected, `${path}: \`${type}\` blocks can only be in \`${expected}\` messages`)
  switch (type) {
    case "text":
      checkText(block.text, path)
      if (rules.strict && role === "user") {
        check(
          listOf(block.citations).length === 0,
          `${path}.text.citations: Citations are not permitted in user messages`
        )
      }
      return
    case "image":
    case "document":
      if (type === "image" || rules.strict) place("user")
      checkSource(block, path)
      return
    case "tool_use":
      place("assistant")
      check(
        /^[a-zA-Z0-9_-]+$/.test(stringOf(block.id)),
        `${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`
      )
      check(
        /^[a-zA-Z0-9_-]{1,200}$/.test(stringOf(block.name)),
        `${path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'`
      )
      check(isObject(block.input), `${path}.tool_use.input: Input should be a valid dictionary`)
      return
    case "tool_result": {
      place("user")
      const content = block.content
      if (typeof content === "string" || content === undefined) return
      for (const [index, inner] of listOf(content).entries()) {
        const innerPath = `${path}.tool_result.content.${index}`
        if (isObject(inner) && inner.type === "text" && inner.text !== "") checkBlock(inner, role, innerPath, rules)
        else if (isObject(inner) && inner.type !== "text") checkBlock(inner, "user", innerPath, rules)
        else throw new Refusal(400, "messages: text content blocks must be non-empty")
      }
      return
    }
    case "thinking":
      place("assistant")
      check(
        isSigned(stringOf(block.thinking), stringOf(block.signature)),
        `${path}: Invalid \`signature\` in \`thinking\` block`
      )
      return
    default:
      place("assistant")
      check(isSigned("redacted", stringOf(block.data)), `${path}: Invalid \`data\` in \`redacted_thinking\` block`)
  }
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
    const missing = asked.filter((id) => !answered.includes(id))
    check(
      missing.length === 0,
      `messages.${index - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    )
    const types = blocksOf(message).map((block) => block.type === "tool_result")
    check(
      types.lastIndexOf(true) < 0 || types.indexOf(false) < 0 || types.lastIndexOf(true) < types.indexOf(false),
      `messages.${index}: \`tool_result\` blocks must come before other content in a message`
    )
  }
  const open = idsOf(messages.at(-1), "tool_use", "id")
  check(
    open.length === 0,
    `messages.${messages.length - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}`
  )
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

/** Checks the messages as the vendor does: roles, blocks, tool pairs, thinking blocks, prefill. */
export const checkMessages = (given: ReadonlyArray<JsonObject>, rules: MessageRules): void => {
  const messages = rules.systemTurns ? withoutSystem(given) : given
  check(messages.length > 0, "messages: at least one message is required")
  for (const [index, message] of messages.entries()) {
    const path = `messages.${index}`
    const role = stringOf(message.role)
    onlyFields(message, ["role", "content"], path)
    check(role === "user" || role === "assistant", `${path}.role: Input should be 'user' or 'assistant'`)
    check(index > 0 || role === "user", 'messages: first message must use the "user" role')
    check(
      messages[index - 1]?.role !== role,
      `messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`
    )
    const content = message.content
    check(typeof content === "string" || Array.isArray(content), `${path}.content: Input should be a valid list`)
    check(content !== "" && listOf(content).every(isObject), `${path}: all messages must have non-empty content`)
    const blocks = blocksOf(message)
    check(blocks.length > 0, `${path}: all messages must have non-empty content`)
    for (const [at, block] of blocks.entries()) checkBlock(block, role, `${path}.content.${at}`, rules)
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
