/**
 * The order of a turn's blocks, which a chat message has no place for: it goes to the caller and comes back with the message, as
 * `extra_content.anthropic` (docs/decisions.md#tool-loops-that-survive-thinking). `thinking_blocks` has the thinking blocks as they came, and
 * `order` has every block by its type: a thinking block is the next of `thinking_blocks`, a text has its length, a call its ID. `model` is
 * the model that thought. Texts and calls come from the message itself, so that a caller's changes are kept.
 */
import { Array as Arr } from "effect"
import type { MessageOf, ToolCall } from "../../contract/ChatMessage.ts"
import { arrayOf, isObject, type JsonObject, numberOf, objectOf, omitNull, textOf } from "../../wire/json.ts"
import type { Adjusted } from "../adjustments.ts"
import { isBlank } from "../chatRequest.ts"
import { originalId } from "../toolCalls.ts"

export const isThinking = (block: JsonObject): boolean =>
  block.type === "thinking" || block.type === "redacted_thinking"

/** Thinking that lost its signature, because the stream broke off, a guard redacted it or a client did not keep it. */
export const isUnsigned = (block: JsonObject): boolean => block.type === "thinking" && (block.signature ?? "") === ""

/** Largest order with its thinking that is sent to the caller, in bytes of JSON. */
const maxBytes = 1024 * 1024
/** In place of a larger one. */
const omitted = "omitted"

export interface TextPlace extends JsonObject {
  readonly type: "text"
  length: number
}

/** Fields of a block that a chat message has no place for, but for empty ones. */
const extraFields = (block: JsonObject, known: ReadonlySet<string>): JsonObject =>
  omitNull(block, (name) => {
    const value = block[name]
    return !known.has(name) && !(Array.isArray(value) && value.length === 0)
  })
const textFields = new Set(["type", "text", "length"])
const callFields = new Set(["type", "id", "name", "input"])

/** Notes the blocks of one answer as they come. It has state, made anew for each answer. `model`: the one that answers, without a level. */
export const orderWriter = (model: string) => {
  const places: Array<JsonObject> = []
  const thoughts: Array<JsonObject> = []

  /** A bound on the time that it takes to see how large the order is. */
  const isShort = (): boolean => {
    const texts = thoughts.flatMap((thought) => Object.values(thought)).map((value) => textOf(value) ?? "")
    return texts.reduce((sum, { length }) => sum + length, places.length) <= maxBytes
  }

  return {
    /** A text, which grows by what the caller is shown of it, in UTF-16 units. */
    text: (block: JsonObject): TextPlace => {
      const place: TextPlace = { type: "text", length: 0, ...extraFields(block, textFields) }
      places.push(place)
      return place
    },
    /** The block may still grow. */
    thinking: (block: JsonObject): void => {
      places.push({ type: block.type ?? null })
      thoughts.push(block)
    },
    /** `id` as the caller gets it. */
    call: (block: JsonObject, id: string): void => {
      places.push({ type: "tool_use", id, ...extraFields(block, callFields) })
    },
    /** `extra_content` of the message; undefined where the message alone says the order: one text, and the calls after it. */
    extra: (): JsonObject | undefined => {
      const order = places.filter((place) => place.type !== "text" || place.length !== 0)
      const plain = order.every(
        (place, at) => !isThinking(place) && (place.type !== "text" || at === 0) && Object.keys(place).length === 2
      )
      if (plain) return undefined
      const thinking = thoughts.length === 0 ? {} : { model, thinking_blocks: thoughts }
      const whole = { ...thinking, order }
      const isSmall = isShort() && Buffer.byteLength(JSON.stringify(whole)) <= maxBytes
      return { anthropic: isSmall ? whole : { order: omitted } }
    }
  }
}

const thinkingField = "messages.extra_content.anthropic.thinking_blocks"

const extraOf = ({ extra_content }: MessageOf<"assistant"> | ToolCall): JsonObject =>
  objectOf(objectOf(extra_content).anthropic)

/** The signed blocks, exactly as they were. */
const thinkingIn = (extra: JsonObject): ReadonlyArray<JsonObject> =>
  arrayOf(extra.thinking_blocks)
    .filter(isObject)
    .filter((block) => isThinking(block) && !isUnsigned(block))

/**
 * The order that a message has, with its thinking blocks filled in, or those of its calls; undefined where it has none. The vendor refuses
 * thinking that was moved, and where some is missing it is not known from which place: then none is sent.
 */
const placesOf = (message: MessageOf<"assistant">, adjusted: Adjusted): ReadonlyArray<JsonObject> | undefined => {
  const extra = extraOf(message)
  if (extra.order === omitted) adjusted.changed("messages.extra_content.anthropic.order", "over-1-MiB", "best-order")
  const places = arrayOf(extra.order).filter(isObject)
  if (places.length === 0) return undefined
  const count = places.filter(isThinking).length
  const ofCalls = (message.tool_calls ?? []).flatMap((call) => thinkingIn(extraOf(call)))
  const thoughts = [thinkingIn(extra), ofCalls].find(({ length }) => length === count)
  if (thoughts === undefined) {
    adjusted.removed(thinkingField)
    return places.filter((place) => !isThinking(place))
  }
  let next = 0
  return places.map((place) => (isThinking(place) ? (thoughts[next++] ?? place) : place))
}

/** In place of an order: thinking first, then the texts, and the first call. */
const bestPlaces = (message: MessageOf<"assistant">): ReadonlyArray<JsonObject> => {
  const calls = message.tool_calls ?? []
  // Callers that keep the calls as they came keep more of the order.
  const holder = calls.some((call) => thinkingIn(extraOf(call)).length > 0) ? calls[0] : message
  const first = calls.slice(0, 1).map((call) => ({ type: "tool_use", id: originalId(call) }))
  return [...thinkingIn(extraOf(holder ?? message)), { type: "text" }, ...first]
}

/** The text in pieces of these lengths; undefined where they do not add up to the text, because the caller changed it. */
const cutAt = (
  message: MessageOf<"assistant">,
  places: ReadonlyArray<JsonObject>
): ReadonlyArray<string> | undefined => {
  const text = typeof message.content === "string" ? message.content : ""
  const lengths = places.filter(({ type }) => type === "text").map(({ length }) => numberOf(length) ?? -1)
  const ends = Arr.scan(lengths, 0, (end, length) => end + length)
  const isWhole = lengths.every((length) => Number.isSafeInteger(length) && length >= 0) && ends.at(-1) === text.length
  return isWhole && typeof message.refusal !== "string"
    ? lengths.map((length, at) => text.slice(ends[at], (ends[at] ?? 0) + length))
    : undefined
}

/** A message of the assistant's, the blocks of its texts, and what makes the block of a call. */
interface Spoken {
  readonly message: MessageOf<"assistant">
  readonly texts: ReadonlyArray<JsonObject>
  readonly toBlock: (call: ToolCall) => JsonObject
}

/**
 * The blocks of a message, in the order that it has, or else in the best one. Calls that the caller has left out go with the thinking before
 * them, and those that it has added come last, behind their own. A text that was changed comes whole in the place of the first one. The
 * vendor refuses a message that ends in thinking, which only an answer that was cut does (docs/upstreams.md#anthropic-messages).
 */
const inOrder = ({ message, texts, toBlock }: Spoken, adjusted: Adjusted): ReadonlyArray<JsonObject> => {
  const places = placesOf(message, adjusted) ?? bestPlaces(message)
  const pieces = cutAt(message, places)
  const calls = new Map<string, ToolCall>()
  for (const call of message.tool_calls ?? []) if (!calls.has(originalId(call))) calls.set(originalId(call), call)
  const sent = new Set<ToolCall>()
  const blocks: Array<JsonObject> = []
  let thoughts: Array<JsonObject> = []
  const add = (block: JsonObject): void => {
    for (const thought of thoughts) blocks.push(thought)
    thoughts = []
    blocks.push(block)
  }
  /** Whether the text still has to be sent whole: in the place of the first text, or else before the first call. */
  let whole = pieces === undefined
  const isPlaced = places.some(({ type }) => type === "text")
  const addWhole = (): void => {
    if (whole) for (const text of texts) add(text)
    whole = false
  }
  let piece = 0
  for (const place of places) {
    if (isThinking(place)) thoughts.push(place)
    else if (place.type === "text") {
      const text = pieces?.[piece++]
      if (text === undefined) addWhole()
      else if (!isBlank(text)) add({ type: "text", text, ...extraFields(place, textFields) })
    } else if (place.type === "tool_use") {
      const call = calls.get(textOf(place.id) ?? "")
      if (call === undefined || sent.has(call)) thoughts = []
      else {
        if (!isPlaced) addWhole()
        sent.add(call)
        add({ ...toBlock(call), ...extraFields(place, callFields) })
      }
    }
  }
  addWhole()
  for (const call of message.tool_calls ?? []) {
    if (sent.has(call)) continue
    for (const thought of thinkingIn(extraOf(call))) thoughts.push(thought)
    add(toBlock(call))
  }
  if (thoughts.length > 0) adjusted.removed(thinkingField)
  return blocks
}

/** The same without thinking of another model, whose signature the vendor does not accept (docs/upstreams.md#anthropic-messages). */
export const orderedBlocks = (spoken: Spoken, model: string, adjusted: Adjusted): ReadonlyArray<JsonObject> => {
  const blocks = inOrder(spoken, adjusted)
  const { message } = spoken
  const own = [message, ...(message.tool_calls ?? [])].map((part) => textOf(extraOf(part).model)).find(Boolean)
  if (own === undefined || own === model || !blocks.some(isThinking)) return blocks
  adjusted.removed(thinkingField)
  return blocks.filter((block) => !isThinking(block))
}
