/** What is held of a stream is counted, whatever the cloud says in it (docs/api.md#when-a-cloud-fails). */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { makeAccumulator } from "../../src/governance/accumulate.ts"
import type { Guard } from "../../src/guards/Guard.ts"
import { guardStream } from "../../src/guards/guardStream.ts"
import { heldReply } from "../../src/guards/heldReply.ts"
import type { Protocol } from "../../src/stream/Frame.ts"
import { sse } from "../../src/stream/framing.ts"
import { chatProtocol } from "../../src/surfaces/chat.ts"
import { messagesProtocol } from "../../src/surfaces/messagesStream.ts"
import { responsesProtocol } from "../../src/surfaces/responsesStream.ts"
import { guardedAlone } from "../support/heldAlone.ts"
import { chat, dialect, flash, oss, sonnet, terra } from "../vendors/support.ts"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

/** What is in the heap when all that nothing refers to has gone, in bytes. */
const heap = (): number => {
  collect()
  return process.memoryUsage().heapUsed
}

const mib = 2 ** 20
/** What runs beside a test, and what the engine makes of code that runs often. */
const noise = 2 * mib
/** What is held is there each time; what else comes to be in the heap during a test is not. */
const again = { retry: 2 }

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

const chatOf = (route: typeof sonnet) => (): Protocol =>
  chatProtocol({
    reader: dialect(route).stream(route, chat({})),
    heading: { id: "c", created: 0, model: "m" },
    inputEstimate: 1,
    includeUsage: true
  })
const streams: Readonly<Record<string, readonly [() => Protocol, typeof claude]>> = {
  messages: [() => messagesProtocol("m"), claude],
  "messages, unfenced": [() => messagesProtocol("m", true), claude],
  responses: [() => responsesProtocol((text) => text), responses],
  "chat, Claude": [chatOf(sonnet), claude],
  "chat, gpt-oss": [chatOf(oss), gpt],
  "chat, GPT on Bedrock": [chatOf(terra), responses],
  "chat, Gemini": [chatOf(flash), gemini]
}

const eventOf = (said: Readonly<Record<string, unknown>>) => ({
  event: typeof said.type === "string" ? said.type : undefined,
  data: JSON.stringify(said)
})

/** Few large events, and many small ones. */
const sizes = [
  ["large", 100, "x".repeat(100_000)],
  ["small", 20_000, ""]
] as const

describe.each(Object.entries(streams))("a stream of %s", (_, [protocolOf, kinds]) => {
  for (const [kind, say] of Object.entries(kinds)) {
    it.each(sizes)(`holds no more than is counted of its ${kind}: %s ones`, again, (_, count, filler) => {
      const protocol = protocolOf()
      const calls = makeAccumulator()
      const before = heap()
      for (let at = 0; at < count && protocol.progress.end === undefined; at++) {
        for (const { calls: pieces, data } of protocol.step([eventOf(say(at, filler))]))
          for (const piece of pieces ?? []) calls.add(piece, data.length)
      }
      const grown = heap() - before
      // Used afterwards, so that all of it is still there.
      expect(grown).toBeLessThan((protocol.progress.held ?? 0) + calls.held() + noise)
    })
  }
})

it("frames that guards hold back hold nothing of what came between them", again, async () => {
  let counted = 0
  const hold = (more: number) => {
    counted += more
    return undefined
  }
  const decoder = sse()
  const protocol = messagesProtocol("m")
  const step = heldReply({ ...guardedAlone("messages"), hold }, true)
  const before = heap()
  for (let at = 0; at < 200; at++) {
    const text = `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: `A few words, ${at} times.` } })}\n\n`
    const { events } = decoder.feed(Buffer.from(`: ${"x".repeat(60_000)}\n${text}`))
    await Effect.runPromise(step(protocol.step(events)))
  }
  expect(heap() - before).toBeLessThan(counted + noise)
  await Effect.runPromise(step([], true))
})

describe.each(["messages", "responses"] as const)("a stream of %s that guards hold back", (surface) => {
  for (const [kind, say] of Object.entries(surface === "messages" ? claude : responses)) {
    it.each(sizes)(`holds no more than is counted of its ${kind}: %s ones`, again, async (_, count, filler) => {
      let counted = 0
      const hold = (more: number) => {
        counted += more
        return undefined
      }
      const step = heldReply({ ...guardedAlone(surface), hold }, false)
      const before = heap()
      for (let at = 0; at < count; at += 10) {
        const frames = Array.from({ length: 10 }, (_, next) => eventOf(say(at + next, filler)))
        await Effect.runPromise(step(frames))
      }
      expect(heap() - before).toBeLessThan(counted + noise)
      await Effect.runPromise(step([], true))
    })
  }
})

describe.each([
  ["that does not answer", Effect.never],
  ["that answers", Effect.undefined]
] as const)("beside a guard that flags, and %s", (_, judge) => {
  const words = `${"Some words ".repeat(100)}. `
  it.each([
    ["messages", { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: words } }],
    ["responses", { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: words }]
  ] as const)("a stream of %s counts what waits", async (surface, said) => {
    const frames = Array.from({ length: 201 }, () => eventOf(said))
    const guard: Guard = {
      name: "",
      action: "flag",
      when: "after",
      hold: "sentence",
      onFailure: "pass",
      judge: () => judge
    }
    let [counted, waiting] = [0, 0]
    const hold = (more: number, all: number) => {
      counted += more
      waiting = all
      return undefined
    }
    const guarded = guardStream({ ...guardedAlone(surface, [guard]), hold })
    await Effect.runPromise(
      Stream.fromIterable(frames).pipe(Stream.rechunk(1), guarded, Stream.take(200), Stream.runDrain)
    )
    if (judge === Effect.never) expect(waiting).toBeGreaterThanOrEqual(200 * words.length)
    else expect(waiting).toBeLessThan(10 * words.length)
    expect(counted).toBeGreaterThanOrEqual(waiting)
  })
})
