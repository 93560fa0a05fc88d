import { frameReader } from "../../src/guards/frames.ts"
import type { About, Guard } from "../../src/guards/Guard.ts"
import { type GuardStreamOptions, heldReply } from "../../src/guards/heldReply.ts"
import type { Frame } from "../../src/stream/Frame.ts"
import { chat } from "../../src/surfaces/chat.ts"
import { messages } from "../../src/surfaces/messages.ts"
import { responses } from "../../src/surfaces/responses.ts"

const surfaces = { chat, messages, responses }
const nothing = () => undefined

/** What guards of a streamed reply are made from, without a gateway. */
export const guardedAlone = (surface: keyof typeof surfaces, guards: ReadonlyArray<Guard> = []): GuardStreamOptions => {
  const about: About = {
    ...{ id: "", surface, level: "il5", caller: undefined, images: 0, files: 0, span: undefined },
    takeMemory: () => true
  }
  const reader = frameReader(surface, surfaces[surface].guarded.reply)
  const none = { usage: nothing, onWithheld: nothing, hold: nothing }
  return { about, guards, reader, actions: () => [], acted: nothing, ...none }
}

/** A reply that is held back, sentence by sentence or whole, with no guard that looks at it. */
export const heldAlone = (surface: keyof typeof surfaces, all: boolean) => heldReply(guardedAlone(surface), all)

/** A frame of the messages surface, of its first block. */
export const eventOf = (type: string, fields: object = {}): Frame => ({
  event: type,
  data: JSON.stringify({ type, index: 0, ...fields })
})
export const begins = (text: string) => eventOf("content_block_start", { content_block: { type: "text", text } })
export const goesOn = (text: string) => eventOf("content_block_delta", { delta: { type: "text_delta", text } })
export const ends = eventOf("content_block_stop")
