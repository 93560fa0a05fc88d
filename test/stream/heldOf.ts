/**
 * What the heap holds of a stream, and what is counted of it. Measured in a thread, whose heap is its own: nothing else comes and goes in
 * it, and it is collected in no time.
 */
import { parentPort, workerData } from "node:worker_threads"
import { Effect } from "effect"
import { makeAccumulator } from "../../src/governance/accumulate.ts"
import { heldReply } from "../../src/guards/heldReply.ts"
import type { Protocol } from "../../src/stream/Frame.ts"
import { sse } from "../../src/stream/framing.ts"
import { messagesProtocol } from "../../src/surfaces/messagesStream.ts"
import { heap } from "../support/heap.ts"
import { guardedAlone } from "../support/heldAlone.ts"
import { eventOf, protocols, readCalls } from "../support/protocols.ts"

/** Bytes. */
export interface Measured {
  readonly grown: number
  readonly counted: number
}

type Say = (at: number, filler: string) => Readonly<Record<string, unknown>>

const begins =
  (block: object): Say =>
  (index, filler) => ({ type: "content_block_start", index, content_block: { ...block, other: filler + index } })
const goesOn =
  (delta: (filler: string) => object, block: object): Say =>
  (at, filler) =>
    at === 0
      ? { type: "content_block_start", index: 0, content_block: block }
      : { type: "content_block_delta", index: 0, delta: delta(filler) }
const thinking = { type: "thinking", thinking: "", signature: "" }
const call = { type: "tool_use", id: "t", name: "f", input: {} }

const claude: Readonly<Record<string, Say>> = {
  texts: begins({ type: "text", text: "" }),
  thoughts: begins(thinking),
  "hidden thoughts": begins({ type: "redacted_thinking", data: "" }),
  calls: (index, filler) => ({
    type: "content_block_start",
    index,
    content_block: { ...call, id: `t${index}`, input: { filler } }
  }),
  "pieces of a thought": goesOn((filler) => ({ type: "thinking_delta", thinking: `${filler}a` }), thinking),
  "pieces of a call": goesOn((filler) => ({ type: "input_json_delta", partial_json: `${filler}a` }), call),
  "empty pieces of a call": goesOn(() => ({ type: "input_json_delta", partial_json: "" }), call),
  counts: (at, filler) => ({ type: "message_delta", delta: {}, usage: { [`k${at}`]: filler, output_tokens: at } })
}
const gemini: Readonly<Record<string, Say>> = {
  counts: (at, filler) => ({ usageMetadata: { [`k${at}`]: filler, promptTokenCount: at } })
}
const gpt: Readonly<Record<string, Say>> = {
  "blanks after reasoning": (at, filler) => ({
    choices: [{ delta: { content: at === 0 ? "<reasoning></reasoning>" : " ".repeat(filler.length + 1) } }]
  })
}
const responses: Readonly<Record<string, Say>> = {
  texts: (at, filler) => ({
    type: "response.output_text.delta",
    output_index: at,
    content_index: 0,
    delta: filler + at
  }),
  "whole texts": (at, filler) => ({ type: "response.output_text.done", output_index: 0, text: `${filler}${at}. ` }),
  "texts of strange places": (at, filler) => ({
    type: "response.output_text.delta",
    output_index: filler + at,
    delta: "A word. "
  }),
  "hidden items": (at) => ({ type: "response.output_item.added", output_index: at, item: { type: "compaction" } })
}

const streams = [
  ["messages", claude],
  ["messages, unfenced", claude],
  ["responses", responses],
  ["chat, Claude", claude],
  ["chat, gpt-oss", gpt],
  ["chat, GPT on Bedrock", responses],
  ["chat, Gemini", gemini]
] as const

/** Few large events, and many small ones. */
const sizes = [
  ["large", 40, "x".repeat(100_000)],
  ["small", 10_000, ""]
] as const

const translated = (protocol: Protocol, say: Say, count: number, filler: string): Measured => {
  const calls = makeAccumulator()
  const before = heap()
  for (let at = 0; at < count && protocol.progress.end === undefined; at++) {
    readCalls(protocol, [eventOf(say(at, filler))], calls)
  }
  const grown = heap() - before
  // Used afterwards, so that all of it is still there.
  return { grown, counted: (protocol.progress.held ?? 0) + calls.held() }
}

/** A reply that guards hold back, with what it has counted. */
const heldBack = (surface: "messages" | "responses", all: boolean) => {
  let counted = 0
  const hold = (more: number) => {
    counted += more
    return undefined
  }
  return { step: heldReply({ ...guardedAlone(surface), hold }, all), counted: () => counted }
}

const guarded = async (surface: "messages" | "responses", say: Say, count: number, filler: string) => {
  const { counted, step } = heldBack(surface, false)
  const before = heap()
  for (let at = 0; at < count; at++) await Effect.runPromise(step([eventOf(say(at, filler))]))
  const measured = { grown: heap() - before, counted: counted() }
  await Effect.runPromise(step([], true))
  return measured
}

/** Frames with much between them. */
const between = async (): Promise<Measured> => {
  const { counted, step } = heldBack("messages", true)
  const decoder = sse()
  const protocol = messagesProtocol("m")
  const before = heap()
  for (let at = 0; at < 200; at++) {
    const text = `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: `A few words, ${at} times.` } })}\n\n`
    const { events } = decoder.feed(Buffer.from(`: ${"x".repeat(60_000)}\n${text}`))
    await Effect.runPromise(step(protocol.step(events)))
  }
  const measured = { grown: heap() - before, counted: counted() }
  await Effect.runPromise(step([], true))
  return measured
}

const measures = new Map<string, () => Measured | Promise<Measured>>([
  ["frames that guards hold back, with much between them", between]
])
for (const [size, count, filler] of sizes) {
  for (const [stream, kinds] of streams)
    for (const [kind, say] of Object.entries(kinds))
      measures.set(`${stream}: ${size} ${kind}`, () => translated(protocols[stream](), say, count, filler))
  for (const [surface, kinds] of [
    ["messages", claude],
    ["responses", responses]
  ] as const)
    for (const [kind, say] of Object.entries(kinds))
      measures.set(`${surface}, held back by guards: ${size} ${kind}`, () => guarded(surface, say, count, filler))
}

export const names: ReadonlyArray<string> = [...measures.keys()]

/** What the thread is started with. */
export const task = "measure what is held"
if (workerData === task) {
  const all = new Map<string, Measured>()
  for (const [name, measure] of measures) all.set(name, await measure())
  parentPort?.postMessage(all)
}
