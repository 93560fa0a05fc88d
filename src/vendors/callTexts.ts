/**
 * JSON inside the strings of a chat: arguments of calls, which some vendors take and answer as values, and results that are objects. Those
 * of a large request are read ahead, and those of a large reply printed ahead, in slices (docs/api.md#limits); they are found here by the
 * object that holds them.
 */
import type { ChatRequest } from "../contract/Chat.ts"
import type { ToolCall } from "../contract/ChatMessage.ts"
import {
  arrayOf,
  isShallow,
  isShallowInSlices,
  type Json,
  type JsonObject,
  objectOf,
  parseObject
} from "../wire/json.ts"
import { jsonText, printText } from "../wire/print.ts"
import type { Slices } from "../wire/turns.ts"
import { type Adjusted, changed } from "./adjustments.ts"
import { isBlank } from "./schema.ts"

export interface JsonText {
  /** The call or message that it is read ahead for; none where it is passed on as it is. */
  readonly holder?: object
  readonly text: string
  /** Where it stands in the request. */
  readonly path: string
  /** Whether it may as well stay a text, where it holds too much. */
  readonly optional: boolean
}

/** What was read ahead; `value` is undefined where the text is none that is taken. */
const read = new WeakMap<object, { readonly value: JsonObject | undefined }>()

export const keepRead = (holder: object, value: JsonObject | undefined): void => void read.set(holder, { value })

/** Passes on what was read ahead to a copy of its holder. */
export const keepReadOf = (holder: object, copy: object): void => {
  const known = read.get(holder)
  if (known !== undefined) read.set(copy, known)
}

/** The object that a text is; undefined where it is none. */
export const objectIn = (holder: object, text: string): JsonObject | undefined => {
  const known = read.get(holder)
  return known === undefined ? parseObject(text) : known.value
}

/** Whether a result is to be read as an object where a vendor wants one. */
export const isObjectText = (text: string): boolean => /^\s*\{/.test(text)

/** Every JSON text of a chat, in order. */
export const jsonTexts = ({ messages }: ChatRequest): ReadonlyArray<JsonText> => {
  const texts: Array<JsonText> = []
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]
    if (message?.role === "tool") {
      if (isObjectText(message.content)) {
        texts.push({ holder: message, text: message.content, path: `messages[${at}].content`, optional: true })
      }
    } else if (message?.role === "assistant") {
      for (const [index, call] of (message.tool_calls ?? []).entries()) {
        const path = `messages[${at}].tool_calls[${index}].function.arguments`
        texts.push({ holder: call, text: call.function.arguments, path, optional: false })
      }
    }
  }
  return texts
}

/** How arguments that are no JSON object are named. */
const notAnObject = changed("messages.tool_calls.function.arguments", "text", "object")

/**
 * A call's arguments as an object, which Claude and Gemini want; without any where the text is empty. A model may have written something
 * else, or its token limit may have cut them: a text that is no JSON object, or one nested too deep, stands as it is under one key.
 */
export const callInput = (call: ToolCall, adjusted: Adjusted): JsonObject => {
  const { arguments: text } = call.function
  if (isBlank(text)) return {}
  const input = objectIn(call, text)
  if (input !== undefined) return input
  adjusted.add(notAnObject)
  return { arguments: text }
}

/** Of inputs that were printed ahead; undefined for one that is nested too deep. */
const texts = new WeakMap<object, string | undefined>()

const isAhead = (input: Json | undefined): input is JsonObject =>
  typeof input === "object" && input !== null && texts.has(input)

/** Whether an input is not nested too deep to be printed. */
export const isPrintable = (input: Json | undefined): boolean =>
  isAhead(input) ? texts.get(input) !== undefined : isShallow(input)

/** The text of an input that is printable. */
export const inputText = (input: Json | undefined): string =>
  (isAhead(input) ? texts.get(input) : undefined) ?? jsonText(input ?? {})

/** Inputs in a reply of Claude or Gemini; others say texts. */
const inputsOf = ({ candidates, content }: JsonObject): ReadonlyArray<Json | undefined> => [
  ...arrayOf(content).map((block) => objectOf(block).input),
  ...arrayOf(objectOf(objectOf(arrayOf(candidates)[0]).content).parts).map(
    (part) => objectOf(objectOf(part).functionCall).args
  )
]

/** Prints the inputs of a reply's calls; `inputText` then has it. */
export function* printInputs(reply: JsonObject): Slices<void> {
  for (const input of inputsOf(reply)) {
    if (typeof input !== "object" || input === null) continue
    texts.set(input, (yield* isShallowInSlices(input)) ? yield* printText(input) : undefined)
  }
}
