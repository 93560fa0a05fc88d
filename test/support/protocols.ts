/** The protocols of streamed replies without a gateway, and the events that they read. */

import type { Route } from "../../src/catalog/Route.ts"
import type { Accumulator } from "../../src/governance/accumulate.ts"
import type { Protocol } from "../../src/stream/Frame.ts"
import { chatProtocol } from "../../src/surfaces/chatReply.ts"
import { messagesProtocol } from "../../src/surfaces/messagesStream.ts"
import { responsesProtocol } from "../../src/surfaces/responsesStream.ts"
import type { Event } from "../../src/wire/sse.ts"
import { azure, chat, dialect, flash, oss, sonnet, terra } from "../vendors/support.ts"

/** Of a chat that is served by this route. */
export const chatBy = (route: Route): Protocol =>
  chatProtocol({
    reader: dialect(route).stream(route, chat({})),
    heading: { id: "c", created: 0, model: "m" },
    inputEstimate: 1,
    includeUsage: true
  })

export const protocols = {
  messages: () => messagesProtocol("m"),
  "messages, unfenced": () => messagesProtocol("m", true),
  responses: () => responsesProtocol((text) => text),
  "chat, Claude": () => chatBy(sonnet),
  "chat, GPT": () => chatBy(azure),
  "chat, gpt-oss": () => chatBy(oss),
  "chat, GPT on Bedrock": () => chatBy(terra),
  "chat, Gemini": () => chatBy(flash)
}

/** An event as the cloud names it. */
export const eventOf = (said: Readonly<Record<string, unknown>>): Event => ({
  event: typeof said.type === "string" ? said.type : undefined,
  data: JSON.stringify(said)
})

/** Reads events, and collects the calls in the frames that come of them. */
export const readCalls = (protocol: Protocol, events: ReadonlyArray<Event>, calls: Accumulator): void => {
  for (const { calls: pieces, data } of protocol.step(events))
    for (const piece of pieces ?? []) calls.add(piece, data.length)
}
