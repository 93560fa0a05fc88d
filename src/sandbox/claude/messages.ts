/** The messages of a request to Claude, with Anthropic's refusals. */
import { invalid, type Refusal } from "../http.ts"
import { arrayOf, isObject, type Json, objectOf, stringOf } from "../json.ts"
import { fileOf, sniff } from "../media.ts"
import { anything, quoted, type Shape, shapesIn, under } from "../shape.ts"
import { isSigned, isSignedAt } from "../signature.ts"
import { countTokens } from "../tokens.ts"
import type { Part } from "../turn.ts"

const refused = (path: string, message: string): Refusal => invalid(path === "" ? message : `${path}: ${message}`)

export const { closed, variant, list, insist, where, typed } = shapesIn({
  item: under,
  inside: under,
  unknown: (path, name) => refused(under(path, name), "Extra inputs are not permitted"),
  missing: "Field required",
  noObject: "Input should be a valid dictionary",
  noList: "Input should be a valid list",
  noVariant: (path, tag, name, known) =>
    refused(path, `Input tag '${name}' found using '${tag}' does not match any of the expected tags: ${known}`),
  refused
})

const text = typed((value) => typeof value === "string", "Input should be a valid string")
export const dictionary = typed(isObject, "Input should be a valid dictionary")

export const oneOf = <const S extends string>(values: ReadonlyArray<S>): Shape<S> => {
  const expected = quoted(values).replace(/, (?=[^,]*$)/, " or ")
  return typed((value): value is S => values.some((one) => one === value), `Input should be ${expected}`)
}

export const matching = (pattern: RegExp): Shape<string> =>
  where(stringOf, (text) => pattern.test(text), `String should match pattern '${pattern.source}'`)

const integer = typed((value): value is number => Number.isInteger(value), "Input should be a valid integer")
export const whole = (least: number): Shape<number> =>
  where(integer, (value) => value >= least, `Input should be greater than or equal to ${least}`)

/** What looks like a person's address, of those that stand alone. */
const email = /[^\s@]+@[^\s@]+\.[^\s@]+/
const phone = /(?<![\w-])\+?\d[\d\s().-]{5,}\d(?![\w-])/
const opaque = "Please send a uuid or hash value instead."

const short = where(text, ({ length }) => length <= 256, "String should have at most 256 characters")
const noEmail = where(short, (id) => !email.test(id), `user_id appears to contain an email address. ${opaque}`)
const noPerson = where(noEmail, (id) => !phone.test(id), `user_id appears to contain a phone number. ${opaque}`)
const MALFORMED =
  "Request metadata contains a value that violates the regular expression [a-zA-Z0-9\\s:_@$#=/+,-.]{0,256}"
const plain = where(noPerson, (id) => /^[a-zA-Z0-9\s:_@$#=/+,\-.]*$/.test(id), MALFORMED, "")

/** Who a request is for. Bedrock takes some characters only. */
export const userId =
  (platform: string): Shape<string> =>
  (value, path) =>
    value === null ? "" : (platform === "bedrock" ? plain : noPerson)(value, path)

export const cache: Shape = (value, path) => {
  if (value === null) return
  oneOf(["ephemeral"])(objectOf(value).type, `${path}.type`)
  closed("type", { ttl: oneOf(["5m", "1h"]) })(value, `${path}.ephemeral`)
}

/** A text with words, in the system prompt or in messages. */
export const words = (place: "system" | "messages"): Shape<string> => {
  const filled = where(text, (value) => value !== "", "text content blocks must be non-empty", place)
  return where(filled, (text) => /\S/.test(text), "text content blocks must contain non-whitespace text", place)
}

/** A file in base64 of one of these types, or a source of another kind, which holds its text. */
const source = (types: ReadonlyArray<string>, others: ReadonlyArray<string> = []): Shape<Part> => {
  const base64 = closed("type data", { "media_type!": oneOf(types) }, ({ data, media_type: type }, path): Part => {
    const { valid, length, type: found } = sniff(data)
    const size = stringOf(data).length
    const pdf = type === "application/pdf"
    insist({
      [`${path}: invalid base64 data`]: valid,
      [`${path.replace(".document.", ".pdf.")}.data: The PDF specified was not valid.`]: !pdf || found === type,
      [`${path}: image exceeds 5 MB maximum: ${size} bytes > 5242880 bytes`]: pdf || size <= 5_242_880,
      "Could not process image": pdf || found.startsWith("image/"),
      [`${path}.data: The image was specified using the ${type} media type, but the image appears to be a ${found} image`]:
        found === type
    })
    return fileOf(type, length)
  })
  return (value, path) => {
    const { type, data } = objectOf(value)
    const known = type === "base64" || others.includes(stringOf(type))
    insist({ "URL sources are not supported on this platform; send the data as base64": known }, path)
    if (type === "base64") return base64(value, `${path}.base64`)
    return { media: "a text document", tokens: countTokens(stringOf(data)) }
  }
}
const image = source(["image/jpeg", "image/png", "image/gif", "image/webp"])
const document = source(["application/pdf"], ["text", "content"])

const signedThought = (path: string, field: string, text: unknown, signature: unknown): Part => {
  insist(
    { [`Invalid ${field} block`]: isSigned(stringOf(text), stringOf(signature)) },
    path.slice(0, path.lastIndexOf("."))
  )
  return { thought: true, stoodAt: (place) => isSignedAt(place, stringOf(signature)) }
}

const shared = { cache_control: cache }
const names = { "id!": matching(/^[a-zA-Z0-9_-]+$/), "name!": matching(/^[a-zA-Z0-9_-]{1,200}$/) }
const called = { ...shared, ...names, "input!": dictionary }

const citing: Shape = (value, path) => value === null || closed("enabled")(value, path)

const blocks: Readonly<Record<string, Shape<Part>>> = {
  image: closed("type", { ...shared, "source!": image }, ({ source }) => source),
  document: closed("type title context", { ...shared, citations: citing, "source!": document }, ({ source }) => source),
  search_result: closed(
    "type",
    { ...shared, citations: citing, "source!": text, "title!": text, "content!": list(dictionary) },
    ({ content }) => ({ media: "a search result", tokens: countTokens(JSON.stringify(content)) })
  ),
  tool_use: closed("type caller toolset_name", called, ({ id, name, input }) => ({
    call: { id, name, json: JSON.stringify(input) }
  })),
  thinking: closed("type thinking signature", {}, ({ thinking, signature }, path) =>
    signedThought(path, "`signature` in `thinking`", thinking, signature)
  ),
  redacted_thinking: closed("type data", {}, ({ data }, path) =>
    signedThought(path, "`data` in `redacted_thinking`", "redacted", data)
  )
}

const nothing = (): Part => ({})
/** Of a result of the browser toolset. */
const browser_state = closed("type state_changes", { ...shared, "tabs!": list(dictionary) }, nothing)

/** Blocks of the search among tools, which come with its beta. */
const found = closed("type", { ...shared, "tool_name!": text }, nothing)
const searches: typeof blocks = {
  server_tool_use: closed("type caller", called, nothing),
  tool_search_tool_result: closed("type", { ...shared, "tool_use_id!": text, "content!": dictionary }, nothing)
}
/** What a compaction left of the conversation before it, which comes with its beta. */
const compaction = closed("type content encrypted_content", shared, nothing)

/** The types of blocks that only one role may send. */
const places = {
  user: ["image", "document", "search_result", "tool_result"],
  assistant: ["tool_use", "thinking", "redacted_thinking", "server_tool_use", "tool_search_tool_result", "compaction"]
}

const blocksOf = (role: string, strict: boolean, betas: ReadonlyArray<string>): Shape<ReadonlyArray<Part>> => {
  const sent = (start: string) => betas.some((beta) => beta.startsWith(start))
  const searching = sent("tool-search-tool-")
  const listOf = (shapes: typeof blocks): Shape<ReadonlyArray<Part>> => {
    const shape = variant("type", shapes)
    return list((value, path) => {
      const type = stringOf(objectOf(value).type)
      const [place = role] = Object.entries(places).find(([, types]) => types.includes(type)) ?? []
      const placed = place === role || (type === "document" && !strict)
      insist({ [`\`${type}\` blocks can only be in \`${place}\` messages`]: placed }, path)
      return shape(value, path)
    })
  }
  const cites = (citations: unknown) => strict && role === "user" && arrayOf(citations).length > 0
  const uncited = where(anything, (value) => !cites(value), "Citations are not permitted in user messages")
  const worded = closed(
    "type",
    { ...shared, "text!": words("messages"), citations: uncited },
    ({ text }): Part => ({ text })
  )
  const plain: Shape<Part> = (value, path) => {
    const { cache_control: marker, text } = objectOf(value)
    const empty = text === "" && isObject(marker)
    insist({ "cache_control cannot be set for empty text blocks": !empty }, path)
    return worded(value, path)
  }
  const inner = listOf({ text: plain, ...blocks, browser_state, ...(searching && { tool_reference: found }) })
  const content: Shape<Json | undefined> = (value, path) => {
    if (typeof value !== "string" && value !== null) inner(value, path)
    return value
  }
  const answer = { ...shared, content }
  const tool_result = closed("type tool_use_id toolset_name is_error", answer, ({ tool_use_id: id, content }) => ({
    result: { id: stringOf(id), content }
  }))
  const ofBetas = { ...(searching && searches), ...(sent("compact-") && { compaction }) }
  const outer = listOf({ text: plain, ...blocks, tool_result, ...ofBetas })
  return (value, path) => outer(typeof value === "string" ? [{ type: "text", text: value }] : value, path)
}

/**
 * Each message for its own. `strict`: API version 2026-10-21. `systemTurns`: system messages may follow a user's turn.
 * `betas`: those that are sent, some of which have blocks.
 */
export const messagesOf = (strict: boolean, systemTurns: boolean, betas: ReadonlyArray<string>) => {
  const role = oneOf(["user", "assistant", ...(systemTurns ? (["system"] as const) : [])])
  const messageOf = (side: string) =>
    closed("", { "role!": role, "content!": blocksOf(side, strict, betas) }, ({ role, content: parts }) => ({
      role,
      parts
    }))
  const [user, assistant] = [messageOf("user"), messageOf("assistant")]
  return list((value, path) => {
    const { role, content } = objectOf(value)
    const empty = content === "" || (Array.isArray(content) && content.length === 0)
    insist({ "all messages must have non-empty content": !empty }, path)
    return (role === "assistant" ? assistant : user)(value, path)
  })
}
