/**
 * The fake cloud of the soak: Vertex AI with streams and replies of Claude, and replies of Gemini. Each event of a stream carries its number and the moment it was written, so that
 * whoever reads it knows what was lost and how long it took.
 */
import { createServer, type Socket } from "node:net"
import { readRequests } from "../requests.ts"
import { wheel } from "../wheel.ts"
import { stampOf } from "./stamp.ts"

/** How the cloud behaves; sent to the process as a message. */
export interface Pace {
  /** Text events in a stream. */
  readonly events: number
  /** Milliseconds between two events; 0 is as fast as they are taken. */
  readonly every: number
  /** Milliseconds before a reply begins. */
  readonly delay: number
  /** Characters of text in an event beside its stamp. */
  readonly text?: number
}

const frame = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const named = (event: { readonly type: string; readonly [field: string]: unknown }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const message = { id: "msg_vrtx_01Soak", type: "message", role: "assistant", model: "claude-sonnet-4-5-20250929" }
const usage = { input_tokens: 12, output_tokens: 1 }
const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${frame(
  named({
    type: "message_start",
    message: { ...message, content: [], stop_reason: null, stop_sequence: null, usage }
  }) + named({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } })
)}`
const end = `${frame(
  named({ type: "content_block_stop", index: 0 }) +
    named({
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 20 }
    }) +
    named({ type: "message_stop" })
)}0\r\n\r\n`
const whole = JSON.stringify({
  ...message,
  content: [{ type: "text", text: "Gauge 14 stood at 3.2 m on Monday." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage
})
const gemini = JSON.stringify({
  candidates: [{ content: { role: "model", parts: [{ text: "3.2 m." }] }, index: 0, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 3, totalTokenCount: 15 },
  modelVersion: "gemini-3-flash",
  responseId: "soak"
})
const replyOf = (json: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`
const wholeReply = replyOf(whole)
const geminiReply = replyOf(gemini)

let pace: Pace = { events: 10, every: 100, delay: 0 }
const wheels = new Map<number, ReturnType<typeof wheel>>()

const stream = (socket: Socket, { events, every, text = 0 }: Pace) => {
  const padding = "x".repeat(text)
  let next = 0
  const event = () =>
    frame(
      named({
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: padding + stampOf(next++) }
      })
    )
  socket.write(head)
  if (every > 0) {
    const turning = wheels.get(every) ?? wheel(every)
    wheels.set(every, turning)
    turning(() => {
      if (socket.destroyed) return false
      socket.write(event())
      if (next === events) socket.write(end)
      return next < events
    })
    return
  }
  const pour = () => {
    while (next < events && !socket.destroyed) {
      if (socket.write(event())) continue
      socket.once("drain", pour)
      return
    }
    socket.write(end)
  }
  pour()
}

const answer = (socket: Socket, target: string, now: Pace) => {
  if (socket.destroyed) return
  if (target.includes(":streamRawPredict")) stream(socket, now)
  else socket.write(target.includes(":generateContent") ? geminiReply : wholeReply)
}

const server = createServer({ noDelay: true }, (socket) =>
  readRequests(socket, (target) => {
    if (pace.delay === 0) answer(socket, target, pace)
    else setTimeout(answer, pace.delay, socket, target, pace)
  })
)
process.on("disconnect", () => process.exit(0))
process.on("message", (next: Pace) => {
  pace = next
  process.send?.({ pace })
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 })
})
