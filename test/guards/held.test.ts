/** What is held of a streamed reply, and what goes out, without a gateway. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { noRoom } from "../../src/catalog/GatewayError.ts"
import type { GuardAction } from "../../src/contract/Governance.ts"
import type { Guard } from "../../src/guards/Guard.ts"
import { guardStream } from "../../src/guards/guardStream.ts"
import { heldReply } from "../../src/guards/heldReply.ts"
import type { Frame } from "../../src/stream/Frame.ts"
import { collect } from "../support/heap.ts"
import { begins, ends, eventOf, goesOn, guardedAlone, heldAlone } from "../support/heldAlone.ts"

const guardOf = (action: Guard["action"], judge: Guard["judge"]): Guard => ({
  ...{ name: "g", action, when: "after", hold: "sentence", onFailure: "refuse", judge }
})
const chunk = (choice: object): Frame => ({ data: JSON.stringify({ choices: [{ index: 0, ...choice }] }) })
const said = (content: string) => chunk({ delta: { content } })

describe("a reply that is held by sentences", () => {
  it.effect("stays while a sentence has no end, with what began it", () =>
    Effect.gen(function* () {
      const step = heldAlone("messages", false)
      const frames = [begins("One. Two"), goesOn(" three"), ends]
      const out = yield* Effect.forEach(frames, (frame) => Effect.map(step([frame]), (out) => out.frames))
      assert.deepStrictEqual(out, [[], [], frames])
    })
  )

  it.effect("is without pieces that a guard leaves nothing of, but for what begins them", () =>
    Effect.gen(function* () {
      const redact = guardOf("redact", ({ texts }) => Effect.succeed({ category: "x", texts: texts.map(() => "") }))
      const step = heldReply(guardedAlone("messages", [redact]), false)
      const out = yield* step([begins("One"), goesOn(" two"), goesOn(" three"), ends, goesOn("Four. ")])
      assert.deepStrictEqual(out.frames, [begins(""), ends])
    })
  )

  it.effect("is judged whole where others begin and go on within it", () =>
    Effect.gen(function* () {
      const redact = guardOf("redact", ({ texts }) =>
        Effect.succeed(
          texts.some(({ text }) => text.includes("SECRET"))
            ? { category: "x", texts: texts.map(({ text }) => text.replaceAll("SECRET", "[x]")) }
            : undefined
        )
      )
      const at = (index: number, type: string, fields: object = {}) => eventOf(type, { index, ...fields })
      const call = (index: number) =>
        at(index, "content_block_start", { content_block: { type: "tool_use", id: `t${index}`, name: "f", input: {} } })
      const args = (index: number, partial_json: string) =>
        at(index, "content_block_delta", { delta: { type: "input_json_delta", partial_json } })
      const text = (index: number, text: string) =>
        at(index, "content_block_delta", { delta: { type: "text_delta", text } })
      const block = (index: number) => at(index, "content_block_start", { content_block: { type: "text", text: "" } })
      const stop = (index: number) => at(index, "content_block_stop")
      for (const frames of [
        [call(0), args(0, '{"a":"SEC'), call(1), args(1, '{"b":"x'), args(0, 'RET"}'), stop(0), args(1, '"}'), stop(1)],
        [
          block(0),
          text(0, "One SEC"),
          block(1),
          text(1, "other"),
          text(0, "RET. "),
          stop(0),
          text(1, " words."),
          stop(1)
        ]
      ]) {
        const step = heldReply(guardedAlone("messages", [redact]), false)
        const out: Array<Frame> = []
        for (const frame of frames) out.push(...(yield* step([frame])).frames)
        out.push(...(yield* step([], true)).frames)
        const said = out.map(({ data }) => data).join("")
        assert.include(said, "[x]")
        assert.notMatch(said, /SEC|RET/)
      }
    })
  )

  it.effect.each([1, 3, 100])(
    "says each of the same words again where they are repeated, %d frames at a time",
    (many) =>
      Effect.gen(function* () {
        const redact = guardOf("redact", ({ texts }) =>
          Effect.succeed({ category: "x", texts: texts.map(({ text }) => text.replaceAll("SECRET", "[x]")) })
        )
        const items = ["{}", '{"a":"SECRET"}', '{"a":"SECRET"}', "{}"].map((args, at) => ({
          ...{ type: "function_call", id: `fc_${at}`, call_id: `call_${at}`, name: "f" },
          arguments: args
        }))
        const frames = [
          ...items.flatMap((item, output_index) => [
            eventOf("response.output_item.added", { output_index, item: { ...item, arguments: "" } }),
            ...item.arguments
              .split("E")
              .flatMap((text, at) => (at === 0 ? [text] : ["E", text]))
              .map((delta) => eventOf("response.function_call_arguments.delta", { output_index, delta })),
            eventOf("response.function_call_arguments.done", { output_index, arguments: item.arguments }),
            eventOf("response.output_item.done", { output_index, item })
          ]),
          eventOf("response.completed", { response: { object: "response", status: "completed", output: items } })
        ]
        for (const all of [false, true]) {
          const step = heldReply(guardedAlone("responses", [redact]), all)
          const out: Array<Frame> = []
          for (let at = 0; at < frames.length; at += many)
            out.push(...(yield* step(frames.slice(at, at + many))).frames)
          const said = out.map(({ data }) => JSON.parse(data))
          const expected = items.map((item) => item.arguments.replace("SECRET", "[x]"))
          const ofEach = (pick: (event: (typeof said)[number]) => string | undefined) =>
            expected.map((_, at) =>
              said.map((event) => (event.output_index === at ? (pick(event) ?? "") : "")).join("")
            )
          assert.deepStrictEqual(
            ofEach(({ delta }) => delta),
            expected
          )
          assert.deepStrictEqual(
            ofEach((event) => event.arguments),
            expected
          )
          assert.deepStrictEqual(
            ofEach(({ item, type }) => (type.endsWith("done") ? item?.arguments : "")),
            expected
          )
          assert.deepStrictEqual(
            said.at(-1).response.output.map((item: { arguments: string }) => item.arguments),
            expected
          )
        }
      })
  )

  it.effect.each([{ content: [] }, { content: [{ type: "text", text: "SECRET" }] }])(
    "begins also where it is blocked at once: %j",
    ({ content }) =>
      Effect.gen(function* () {
        const block = guardOf("block", ({ texts }) =>
          Effect.succeed(
            texts.some(({ text }) => text.includes("SECRET")) ? { category: "x", texts: undefined } : undefined
          )
        )
        const usage = { input_tokens: 1, output_tokens: 1, service_tier: "standard", inference_geo: "us" }
        const message = { id: "msg_1", type: "message", role: "assistant", content, usage }
        for (const all of [false, true]) {
          const step = heldReply(guardedAlone("messages", [block]), all)
          const frames = [
            eventOf("message_start", { message }),
            begins(""),
            goesOn("SECRET"),
            ends,
            eventOf("message_stop")
          ]
          const out = (yield* step(frames)).frames.map(({ data }) => JSON.parse(data))
          assert.deepInclude(out[0], { type: "message_start", message: { ...message, content: [] } })
          assert.deepStrictEqual(
            out.filter(({ type }) => /^message/.test(type)).map(({ type }) => type),
            ["message_start", "message_delta", "message_stop"]
          )
        }
      })
  )

  it.effect("goes out by words where a sentence has no end", () =>
    Effect.gen(function* () {
      const step = heldAlone("chat", false)
      const out: Array<Frame> = []
      for (let n = 0; n < 900; n++) out.push(...(yield* step([said("word ")])).frames)
      assert.isAtLeast(out.length, 800)
    })
  )

  it.effect("is cut behind a sentence also where a delta says something else", () =>
    Effect.gen(function* () {
      const step = heldAlone("responses", false)
      const event = "response.output_text.delta"
      const fields = { type: event, output_index: 0, content_index: 0, note: "other" }
      const deltaOf = (delta: string): Frame => ({ event, data: JSON.stringify({ ...fields, delta }) })
      assert.deepStrictEqual((yield* step([deltaOf("One. Two")])).frames, [deltaOf("One. ")])
      assert.deepStrictEqual((yield* step([deltaOf(" three")])).frames, [])
      assert.deepStrictEqual((yield* step([], true)).frames, [deltaOf("Two"), deltaOf(" three")])
    })
  )

  it.effect("fails where there is no memory for it", () =>
    Effect.gen(function* () {
      const step = heldReply({ ...guardedAlone("chat"), hold: (more) => (more > 0 ? noRoom : undefined) }, false)
      assert.strictEqual(yield* Effect.flip(step([said("No end")])), noRoom)
    })
  )

  it.effect("has each call with the frame that comes after its end, and others at the end of the reply", () =>
    Effect.gen(function* () {
      const step = heldAlone("chat", false)
      const call = (index: number, fields: object) => chunk({ delta: { tool_calls: [{ index, function: fields }] } })
      const begins = (index: number) => call(index, { name: "f", arguments: "" })
      const after = (key: number, frame: Frame): Frame => ({ ...frame, calls: [{ type: "end", key }] })
      const args = { arguments: "{}" }
      const counts = yield* Effect.forEach(
        [
          ...[begins(0), call(0, args), after(0, begins(1)), call(1, args), after(1, said("Then.\n"))],
          ...[begins(2), call(2, args), begins(3), call(3, args), chunk({ delta: {}, finish_reason: "tool_calls" })]
        ],
        (frame) => Effect.map(step([frame]), ({ frames }) => frames.length)
      )
      assert.deepStrictEqual(counts, [0, 0, 2, 0, 3, 0, 0, 0, 0, 5])
    })
  )

  it.effect.each([
    ["with its thought as it was", "A thought.", 3],
    ["not behind another thought", "[thought]", 2]
  ] as const)("has a signature %s", ([, thought, count]) =>
    Effect.gen(function* () {
      const redact = guardOf("redact", () => Effect.succeed({ category: "x", texts: [thought] }))
      const step = heldReply(guardedAlone("messages", [redact]), false)
      const deltas = [
        { type: "thinking_delta", thinking: "A thought." },
        { type: "signature_delta", signature: "s" }
      ]
      const out = yield* step([...deltas.map((delta) => eventOf("content_block_delta", { delta })), ends])
      assert.lengthOf(out.frames, count, JSON.stringify(out.frames))
    })
  )
})

describe("a reply that is only flagged", () => {
  it.live("says at its end what was asked before, also where nothing more is asked then", () =>
    Effect.gen(function* () {
      const flagging = guardOf("flag", () => Effect.as(Effect.sleep("50 millis"), { category: "x" }))
      let actions: ReadonlyArray<GuardAction> = []
      const acted = (action: GuardAction) => {
        actions = [...actions, action]
      }
      const options = { ...guardedAlone("chat", [flagging]), actions: () => actions, acted }
      const end = [chunk({ delta: {}, finish_reason: "stop" }), { data: "[DONE]" }]
      const out = yield* Stream.make([said("One sentence.\n")], end).pipe(
        Stream.rechunk(1),
        Stream.flattenIterable,
        guardStream(options),
        Stream.runCollect
      )
      assert.include(out.map(({ data }) => data).join(), '"x_gateway_guards":[{"guard":"g","action":"flag"')
    })
  )

  it.live("keeps of a call the words, and not the frames that have passed", () =>
    Effect.gen(function* () {
      const flagging = guardOf("flag", () => Effect.undefined)
      const frames: Array<WeakRef<Frame>> = []
      const frameOf = (call: object): Frame => {
        const frame = { data: JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, function: call }] } }] }) }
        frames.push(new WeakRef(frame))
        return frame
      }
      let passed = 0
      yield* Stream.range(1, 1000).pipe(
        Stream.rechunk(1),
        Stream.map((n) => frameOf(n === 1 ? { name: "f", arguments: "" } : { arguments: "word " })),
        guardStream(guardedAlone("chat", [flagging])),
        Stream.runForEach(() => {
          if (++passed < 1000) return Effect.void
          // What is referred to weakly is kept for the rest of the turn.
          return Effect.map(Effect.sleep("10 millis"), () => {
            collect()
            assert.isBelow(frames.filter((frame) => frame.deref() !== undefined).length, 100)
          })
        })
      )
      assert.strictEqual(passed, 1000)
    })
  )
})

describe("a reply that is held whole", () => {
  it.effect("is so where one of its guards demands it", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const judge: Guard["judge"] = ({ texts }) => Effect.sync(() => void asked.push(...texts.map(({ text }) => text)))
      const guards = [guardOf("block", judge), { ...guardOf("block", () => Effect.undefined), hold: "whole" as const }]
      const frames = Stream.rechunk(Stream.make(said("One. "), said("Two. ")), 1)
      yield* Stream.runDrain(guardStream(guardedAlone("chat", guards))(frames))
      assert.deepStrictEqual(asked, ["One. Two. "])
    })
  )

  it.effect("begins as soon as it comes", () =>
    Effect.gen(function* () {
      const step = heldAlone("messages", true)
      const frames = [eventOf("message_start", { message: { content: [] } }), begins("")]
      assert.deepStrictEqual((yield* step([...frames, goesOn("One. ")])).frames, frames)
    })
  )

  it.effect("stays where one of its blocks ends", () =>
    Effect.gen(function* () {
      const step = heldAlone("messages", true)
      const frames = [goesOn("One sentence.\n"), ends]
      assert.lengthOf((yield* step(frames)).frames, 0)
      assert.lengthOf((yield* step([], true)).frames, frames.length)
    })
  )

  it.effect("may have more frames than a function takes arguments", () =>
    Effect.gen(function* () {
      const step = heldAlone("chat", true)
      const frames = Array.from({ length: 140_000 }, () => ({ data: '{"choices":[{"delta":{"content":"a"}}]}' }))
      assert.lengthOf((yield* step(frames)).frames, 0)
      assert.lengthOf((yield* step([], true)).frames, frames.length)
    })
  )
})
