/**
 * JSON inside the strings of a chat: the arguments of calls, and results that are objects. Those of a large request are read ahead,
 * in slices (docs/api.md#limits), and found here by the message or call that holds them.
 */
import type { ChatRequest } from "../contract/Chat.ts"
import type { JsonObject } from "../wire/json.ts"

export interface JsonText {
  /** The call or message that it is read ahead for; none where it is passed on as it is. */
  readonly holder?: object
  readonly text: string
  /** Where it stands in the request. */
  readonly path: string
  /** Whether it may as well stay a text, where it holds too much. */
  readonly optional: boolean
}

const read = new WeakMap<object, { readonly value: JsonObject | undefined }>()

/** The object that was read ahead; `value` is undefined where the text is none that is taken. */
export const readAhead = (holder: object) => read.get(holder)
export const keepRead = (holder: object, value: JsonObject | undefined): void => void read.set(holder, { value })

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
