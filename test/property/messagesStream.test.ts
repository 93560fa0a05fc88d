/** Properties of the messages stream: where bytes are cut changes nothing, and nothing broken looks whole. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { awsFrames, sse } from "../../src/stream/framing.ts"
import { withoutFence } from "../../src/surfaces/messagesFormat.ts"
import { messagesProtocol } from "../../src/surfaces/messagesStream.ts"
import {
  bedrockFrame,
  blockStart,
  blockStop,
  jsonDelta,
  messageDelta,
  messageStart,
  messageStop,
  sseFrame,
  textDelta,
  type UpstreamEvent
} from "../support/claude.ts"
import { eventsIn } from "../support/http.ts"
import { eventOf } from "../support/protocols.ts"
import { streamed } from "../support/streamed.ts"

const framings = { sse: { decoder: sse, frame: sseFrame }, frames: { decoder: awsFrames, frame: bedrockFrame } }
type Framing = keyof typeof framings

/** Runs bytes, cut at these places, through all that a reply passes. */
const run = (framing: Framing, bytes: Buffer, cuts: ReadonlyArray<number>) =>
  streamed(messagesProtocol("base"), framings[framing].decoder, bytes, cuts)

const Cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))).check(
  Schema.isMaxLength(40)
)
const Calls = Schema.Array(
  Schema.Struct({
    host: Schema.String,
    plain: Schema.Boolean,
    pieces: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
  })
).check(Schema.isMaxLength(4))
const Texts = Schema.Array(Schema.String).check(Schema.isMaxLength(6))
const WhichFraming = Schema.Literals(["sse", "frames"])

/** Arguments of a call: with a destination, or without one. */
const argumentsOf = (call: (typeof Calls.Type)[number]): string =>
  JSON.stringify(call.plain ? { note: "no destination" } : { note: call.host, target: "https://sink.example/upload" })

/** The events of a reply; the deltas of its calls take turns, as parallel calls may. */
const eventsOf = (texts: typeof Texts.Type, calls: typeof Calls.Type): ReadonlyArray<UpstreamEvent> => {
  const pieces = calls.map((call) => {
    const text = argumentsOf(call)
    const size = Math.ceil(text.length / call.pieces)
    return Array.from({ length: call.pieces }, (_, n) => text.slice(n * size, (n + 1) * size))
  })
  const rounds = Math.max(0, ...pieces.map((list) => list.length))
  return [
    messageStart(),
    blockStart(0, { type: "text", text: "" }),
    ...texts.map((text) => textDelta(0, text)),
    blockStop(0),
    ...calls.map((_, at) => blockStart(at + 1, { type: "tool_use", id: `call_${at}`, name: `tool_${at}`, input: {} })),
    ...Array.from({ length: rounds }, (_, round) =>
      pieces.flatMap((list, at) => (list[round] === undefined ? [] : [jsonDelta(at + 1, list[round])]))
    ).flat(),
    ...calls.map((_, at) => blockStop(at + 1)),
    messageDelta("tool_use"),
    messageStop
  ]
}

const bytesOf = (framing: Framing, events: ReadonlyArray<UpstreamEvent>) =>
  Buffer.concat(events.map((event) => Buffer.from(framings[framing].frame(event))))

describe("the messages stream", () => {
  it.prop(
    "is the same however its bytes are cut",
    { framing: WhichFraming, texts: Texts, calls: Calls, cuts: Cuts },
    ({ framing, texts, calls, cuts }) => {
      const events = eventsOf(texts, calls)
      const bytes = bytesOf(framing, events)
      const whole = run(framing, bytes, [])
      assert.deepStrictEqual(run(framing, bytes, cuts), whole)
      const got = eventsIn(whole.text)
      assert.deepStrictEqual(
        got.slice(1, events.length).map(({ json }) => json),
        JSON.parse(JSON.stringify(events.slice(1)))
      )
      assert.strictEqual(got[0]?.json.message.model, "base")
      assert.isTrue(whole.complete)
      assert.deepStrictEqual(whole.tokens, { input: 10, output: 7 })
    }
  )

  it.prop("loses the fence that the whole reply loses, wherever its text is cut", [Texts], ([texts]) => {
    const pieces = ["```json\n", ...texts, "\n```"]
    for (const begun of [0, 1, pieces.length]) {
      const said = { type: "text", text: pieces.slice(0, begun).join("") }
      const deltas = pieces.slice(begun).map((text) => textDelta(0, text))
      const events = [
        messageStart(),
        blockStart(0, said),
        ...deltas,
        blockStop(0),
        messageDelta("end_turn"),
        messageStop
      ]
      const shown = messagesProtocol("base", true)
        .step(events.map(eventOf))
        .map(({ data }) => JSON.parse(data))
        .map(({ content_block, delta }) => content_block?.text ?? delta?.text ?? "")
      const whole = withoutFence({ content: [{ type: "text", text: pieces.join("") }] })
      assert.deepStrictEqual([{ type: "text", text: shown.join("") }], whole.content)
    }
  })

  it("keeps every message_delta in its place, counted or not", () => {
    const uncounted = { type: "message_delta", delta: { stop_reason: null, stop_sequence: null } }
    for (const deltas of [
      [uncounted, messageDelta("tool_use")],
      [uncounted, uncounted, messageDelta("tool_use")],
      [messageDelta("pause_turn"), messageDelta("tool_use")],
      [uncounted, { ...messageDelta("tool_use"), usage: {} }]
    ]) {
      const { text } = run("sse", bytesOf("sse", [messageStart(), ...deltas, messageStop]), [])
      const got = eventsIn(text).map(({ json }) => [json.type, json.delta?.stop_reason])
      const sent = [...deltas, messageStop].map(({ type, ...rest }) => [type, Object(rest).delta?.stop_reason])
      assert.deepStrictEqual(got.slice(1), sent)
    }
  })

  it("counts output in every message_delta, because clients read it", () => {
    const bare = { type: "message_delta", delta: { stop_reason: "end_turn" } }
    const guarded = { ...messageStop, "amazon-bedrock-guardrailAction": "INTERVENED" }
    for (const delta of [bare, { ...bare, usage: null }]) {
      const { text } = run("frames", bytesOf("frames", [messageStart(), delta, guarded]), [])
      const { json } = eventsIn(text).at(-2) ?? {}
      assert.deepStrictEqual(json, { ...bare, usage: { input_tokens: 10, output_tokens: 1 } })
    }
  })

  it("passes unknown events whose data is an object, which clients parse, and no other", () => {
    for (const [data, passes] of [
      ['{"type":"news","a":[1]}', true],
      ["{}", true],
      ["{news}", false],
      ['{"a":1},{"b":2}', false],
      ["[1]", false],
      ["news", false]
    ] as const) {
      const bytes = Buffer.from(`event: news\ndata: ${data}\n\n`)
      const { complete, text } = run("sse", Buffer.concat([bytes, bytesOf("sse", [messageStart(), messageStop])]), [])
      assert.strictEqual(complete, passes, data)
      assert.strictEqual(text.includes(data), passes, data)
    }
  })

  it.prop(
    "flags exactly the calls that have a destination, after message_stop",
    { framing: WhichFraming, calls: Calls, cuts: Cuts },
    ({ framing, calls, cuts }) => {
      const events = eventsOf([], calls)
      const { text, flags } = run(framing, bytesOf(framing, events), cuts)
      const expected = calls.flatMap((call, at) => (call.plain ? [] : [`call_${at}`]))
      const [flagged, ...more] = eventsIn(text).slice(events.length)
      assert.lengthOf(more, 0)
      assert.strictEqual(flags, expected.length)
      const ids = (flagged?.json.x_gateway_governance.flags ?? []).map(
        (flag: { tool_call_id: string }) => flag.tool_call_id
      )
      assert.deepStrictEqual(ids, expected)
      for (const flag of flagged?.json.x_gateway_governance.flags ?? []) {
        assert.include(flag.destinations, "https://sink.example/upload")
      }
    }
  )

  it.prop(
    "cut anywhere before its end, never looks like a success",
    {
      framing: WhichFraming,
      texts: Texts,
      calls: Calls,
      cuts: Cuts,
      at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
    },
    ({ framing, texts, calls, cuts, at }) => {
      const bytes = bytesOf(framing, eventsOf(texts, calls))
      const { text, complete } = run(framing, bytes.subarray(0, at % bytes.length), cuts)
      assert.isFalse(complete)
      const events = eventsIn(text).map(({ event }) => event)
      assert.notInclude(events, "message_stop")
      assert.strictEqual(events.filter((event) => event === "error").length, 1)
      assert.strictEqual(events.at(-1), "error")
    }
  )

  it.prop(
    "with any byte changed, is whole events to the end",
    {
      framing: WhichFraming,
      texts: Texts,
      calls: Calls,
      at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })),
      bit: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 }))
    },
    ({ framing, texts, calls, at, bit }) => {
      const bytes = bytesOf(framing, eventsOf(texts, calls))
      const place = at % bytes.length
      bytes.writeUInt8(bytes.readUInt8(place) ^ (1 << bit), place)
      const { text } = run(framing, bytes, [])
      assert.isTrue(text.endsWith("\n\n"))
      const events = eventsIn(text)
      const terminal = events.filter(({ event }) => event === "message_stop" || event === "error")
      assert.lengthOf(terminal, 1)
    }
  )
})
