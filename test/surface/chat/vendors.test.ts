/**
 * Vendors that do it their way, in what they take and in what they stream (docs/decisions.md#tool-calls-of-gemini,
 * docs/decisions.md#geminis-schemas, docs/decisions.md#finish-reasons).
 */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { chat, folded, functionTool, ok } from "../../support/chat.ts"
import { kinds, saying, sixModels } from "../../support/chatKinds.ts"
import { answering, chunk, fakeUpstream } from "../../support/fakeUpstream.ts"
import { cloudsAt, startGateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const path = "/v1/chat/completions"
const gateway = sharedGateway()

const create = (body: unknown, at = gateway) => post(at.url + path, body)
const object = (properties: Record<string, unknown>) => ({ type: "object", properties })
const string = { type: "string" }

describe("schemas that vendors are picky about", () => {
  const parameters = {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: {
      a: { type: ["string", "null"], minLength: 1, pattern: "^x", default: "x", examples: ["xy"] },
      b: { const: 3 },
      c: { type: "array", items: { $ref: "#/definitions/node" }, uniqueItems: true },
      d: { allOf: [object({ e: string }), { required: ["e"] }] },
      f: { type: "object", additionalProperties: false, patternProperties: { "^y": string } },
      g: { if: {}, else: {}, not: {} },
      h: { type: "number", exclusiveMinimum: 0, multipleOf: 2 },
      i: { oneOf: [{ type: "integer" }, { type: "boolean" }] }
    },
    required: ["a"],
    additionalProperties: false,
    definitions: { node: { type: "object", properties: { next: { $ref: "#/definitions/node" } } } }
  }
  for (const id of sixModels) {
    it(`${id} takes them all, and tools without any`, async () => {
      ok(
        await create(
          chat(id, "hi", {
            tools: [
              functionTool("f", parameters),
              functionTool("g"),
              functionTool("h", {}),
              functionTool("i", null, { description: null, strict: null })
            ]
          })
        )
      )
    })
  }
})

describe("streams of vendors that do it their way", () => {
  const hear = async (name: string, events: ReadonlyArray<unknown>) => {
    const kind = kinds.find((each) => each.name === name) ?? kinds[0]
    if (kind === undefined) throw new Error(name)
    const upstream = await fakeUpstream(answering(""))
    const own = await startGateway({ settings: cloudsAt(upstream.url) })
    upstream.use(saying({ ...kind, events: () => events as ReadonlyArray<string> }, {}, true))
    const got = await create(
      chat(kind.model, "hi", { stream: true, stream_options: { include_usage: true }, tools: [functionTool("f")] }),
      own
    )
    await own.stop()
    await upstream.stop()
    return folded(got.text)
  }
  const gpt = (delta: unknown, finish_reason: string | null = null) => ({
    id: "c",
    choices: [{ index: 0, delta, finish_reason }]
  })

  it("interleaved calls get the right flags", async () => {
    const start = (index: number) => ({
      index,
      id: `call_x${index}`,
      type: "function",
      function: { name: "f", arguments: "" }
    })
    const piece = (index: number, args: string) => ({ tool_calls: [{ index, function: { arguments: args } }] })
    const got = await hear("GPT on Azure", [
      gpt({ tool_calls: [start(0), start(1)] }),
      gpt(piece(0, '{"u":"htt')),
      gpt(piece(1, '{"u":"ftp:')),
      gpt(piece(0, 'ps://a.example"}')),
      gpt(piece(1, '//b.example"}')),
      gpt({}, "tool_calls"),
      "[DONE]"
    ])
    assert.deepStrictEqual(
      got.governance.flags.map((flag: { tool_call_id: string; destinations: unknown }) => [
        flag.tool_call_id,
        flag.destinations
      ]),
      [
        ["call_x0", ["https://a.example"]],
        ["call_x1", ["ftp://b.example"]]
      ]
    )
  })

  it("Gemini: parallel calls in one part each, STOP in a chunk of its own", async () => {
    const part = (city: string) => ({ functionCall: { name: "f", args: { city } } })
    const got = await hear("Gemini", [
      { candidates: [{ content: { parts: [part("a")] } }] },
      { candidates: [{ content: { parts: [part("b"), part("c")] } }] },
      {
        candidates: [{ content: { parts: [{ text: "" }] }, finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: 1 }
      }
    ])
    assert.strictEqual(got.finishReason, "tool_calls")
    assert.deepStrictEqual(
      got.calls.map((call) => call.arguments),
      ['{"city":"a"}', '{"city":"b"}', '{"city":"c"}']
    )
    assert.strictEqual(new Set(got.calls.map(({ id }) => id)).size, 3)
  })

  it("Claude: unknown blocks, deltas and events are skipped, and an unknown stop reason is no success", async () => {
    const got = await hear("Claude on Vertex", [
      { type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 } } },
      { type: "ping" },
      { type: "content_block_start", index: 0, content_block: { type: "hologram", data: "x" } },
      { type: "content_block_delta", index: 0, delta: { type: "hologram_delta", data: "y" } },
      { type: "content_block_stop", index: 0 },
      { type: "brand_new_event" },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "hi" } },
      { type: "content_block_stop", index: 1 },
      { type: "message_delta", delta: { stop_reason: "brand_new_reason" }, usage: { output_tokens: 9 } },
      { type: "message_stop" }
    ])
    assert.deepStrictEqual(
      [got.content, got.finishReason, got.usage.completion_tokens, got.done],
      ["hi", "content_filter", 9, true]
    )
  })

  it("unknown finish reasons are no success, everywhere", async () => {
    assert.strictEqual(
      (await hear("GPT on Azure", [gpt({ content: "a" }), gpt({}, "brand_new"), "[DONE]"])).finishReason,
      "content_filter"
    )
    assert.strictEqual(
      (await hear("Gemini", [{ candidates: [{ content: { parts: [{ text: "a" }] }, finishReason: "NEW" }] }]))
        .finishReason,
      "content_filter"
    )
  })

  it("gpt-oss: reasoning tags split anywhere are not shown", async () => {
    const text = "<reasoning>secret thoughts</reasoning>Hello <b>there"
    const got = await hear("gpt-oss on Bedrock", [
      ...[...text].map((content) => gpt({ content })),
      gpt({}, "stop"),
      "[DONE]"
    ])
    assert.strictEqual(got.content, "Hello <b>there")
  })
})

describe("stop sequences that a vendor does not take", () => {
  for (const name of ["GPT on Azure", "GPT on Bedrock"]) {
    it(`${name}: the stream ends before them, and the call to the cloud with it`, async () => {
      const kind = kinds.find((kind) => kind.name === name) ?? assert.fail(name)
      // Claims to go on for a minute after the sequence.
      const goesOn = Array.from({ length: 60 }, () => "on and on ")
      const frames = kind.events({ texts: ["one E", "ND two", ...goesOn] }).map(kind.frame)
      const cloud = await fakeUpstream(async (socket) => {
        socket.write(kind.head)
        for (const frame of frames) {
          if (socket.closed) return
          socket.write(chunk(frame))
          await sleep(String(frame).includes("on and on") ? 1000 : 1, undefined, { ref: false })
        }
      })
      const other = await startGateway({ settings: cloudsAt(cloud.url) })
      const got = folded((await create(chat(kind.model, "hi", { stream: true, stop: ["END"] }), other)).text)
      assert.deepStrictEqual([got.content, got.finishReason, got.done], ["one ", "stop", true])
      await cloud.abandoned(900)
      assert.notProperty(JSON.parse(cloud.received[0]?.body ?? "{}"), "stop")
      await other.stop()
      await cloud.stop()
    })
  }
})
