/** Flags on returned tool calls, the same streamed or not (docs/api.md#tool-call-scan, docs/api.md#messages-stream). */
import { assert, describe, it } from "@effect/vitest"
import {
  blockStart,
  blockStop,
  claudeClouds,
  exceptionFrame,
  jsonDelta,
  message,
  messageDelta,
  messageStart,
  messageStop,
  toolCall,
  type UpstreamEvent
} from "../../support/claude.ts"
import { answering, frameHead, reply, streaming } from "../../support/fakeUpstream.ts"
import { cloudsAt, startGateway } from "../../support/gateway.ts"
import { eventsIn, post } from "../../support/http.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream()

const ask = (model: string, stream: boolean) => post(`${gateway.url}/v1/messages`, message(model, "hi", { stream }))
const rest = [messageDelta("tool_use"), messageStop]
const framed = (frame: (event: UpstreamEvent) => string | Buffer, events: ReadonlyArray<UpstreamEvent>) =>
  events.map((event) => Buffer.from(frame(event)))

interface Call {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly input: string
}
const cases: Readonly<
  Record<string, readonly [calls: ReadonlyArray<Call>, destinations: ReadonlyArray<ReadonlyArray<string>>]>
> = {
  "a URL": [[{ id: "a", name: "send", input: '{"x":"https://a.example/p?q=1"}' }], [["https://a.example/p?q=1"]]],
  "escapes that hide it": [
    [{ id: "a", name: "send", input: '{"x":"h\\u0074tps:\\/\\/a.example","y":"\\u0048TTPS://B.example"}' }],
    [["https://a.example", "HTTPS://B.example"]]
  ],
  "JSON in a string": [
    [{ id: "a", name: "send", input: JSON.stringify({ x: JSON.stringify({ u: "ftp://a.example" }) }) }],
    [["ftp://a.example"]]
  ],
  "a key": [[{ id: "a", name: "send", input: '{"s3://bucket/k":1}' }], [["s3://bucket/k"]]],
  "an address": [
    [{ id: "a", name: "send", input: '{"ip":"10.0.0.1:8080/x","v":"1.2.3","n":"999.1.1.1"}' }],
    [["10.0.0.1:8080/x"]]
  ],
  "several calls, one clean": [
    [
      { id: "a", name: "send", input: '{"x":"mailto:a@b.example"}' },
      { id: "b", name: "look", input: '{"x":"no destination: here"}' },
      { id: "c", name: "send", input: '{"x":["data:text/plain,x","data:text/plain,x"]}' }
    ],
    [["mailto:a@b.example"], [], ["data:text/plain,x"]]
  ],
  "big numbers beside it": [
    [{ id: "a", name: "send", input: '{"n":123456789012345678901,"x":"https://a.example"}' }],
    [["https://a.example"]]
  ],
  nothing: [[{ id: "a", name: "look", input: "{}" }], [[]]]
}

const flagsOf = (calls: ReadonlyArray<Call>, destinations: ReadonlyArray<ReadonlyArray<string>>) =>
  calls.flatMap(({ id, name }, at) =>
    (destinations[at] ?? []).length === 0
      ? []
      : [{ tool_call_id: id, tool_name: name, destinations: destinations[at], reason: "external_destination" }]
  )

/** A text in pieces of this many characters. */
const cut = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size))

for (const { model, head, frame } of claudeClouds) {
  describe(model, () => {
    for (const [name, [calls, destinations]] of Object.entries(cases)) {
      const flags = flagsOf(calls, destinations)

      it(`${name}: unstreamed`, async () => {
        const content = calls.map(
          ({ id, name, input }) => `{"type":"tool_use","id":"${id}","name":"${name}","input":${input}}`
        )
        upstream.use(
          answering(
            reply(
              "200 OK",
              `{"id":"msg_1","type":"message","role":"assistant","usage":{"input_tokens":1,"output_tokens":1},"content":[${content}],"stop_reason":"tool_use"}`
            )
          )
        )
        const got = await ask(model, false)
        assert.deepStrictEqual(got.json.x_gateway_governance, flags.length === 0 ? undefined : { flags })
        assert.strictEqual("x_gateway_governance" in got.json, flags.length > 0)
        for (const { input } of calls)
          assert.deepStrictEqual(
            got.json.content.some(
              (block: { input: unknown }) => JSON.stringify(block.input) === JSON.stringify(JSON.parse(input))
            ),
            true
          )
      })

      it(`${name}: streamed, in pieces of any size, after message_stop`, async () => {
        for (const size of [1, 3, 1000]) {
          const events = [
            messageStart(),
            ...calls.flatMap(({ id, name, input }, at) => toolCall(at, id, name, ["", ...cut(input, size)])),
            ...rest
          ]
          upstream.use(streaming(framed(frame, events), { head }))
          const got = eventsIn((await ask(model, true)).text)
          assert.deepStrictEqual(
            got.slice(1, events.length).map(({ json }) => json),
            events.slice(1)
          )
          assert.deepStrictEqual(
            got.slice(events.length).map(({ event, json }) => [event, json]),
            flags.length === 0
              ? []
              : [["gateway_governance", { type: "gateway_governance", x_gateway_governance: { flags } }]]
          )
        }
      })
    }

    it("interleaved calls are kept apart", async () => {
      const events = [
        messageStart(),
        blockStart(0, { type: "tool_use", id: "a", name: "one", input: {} }),
        blockStart(1, { type: "tool_use", id: "b", name: "two", input: {} }),
        jsonDelta(1, '{"u":"https://b.'),
        jsonDelta(0, '{"u":"https://a.'),
        jsonDelta(1, 'example"}'),
        jsonDelta(0, 'example"}'),
        blockStop(1),
        blockStop(0),
        ...rest
      ]
      upstream.use(streaming(framed(frame, events), { head }))
      const [flag] = eventsIn((await ask(model, true)).text).slice(events.length)
      assert.sameDeepMembers(flag?.json.x_gateway_governance.flags, [
        { tool_call_id: "a", tool_name: "one", destinations: ["https://a.example"], reason: "external_destination" },
        { tool_call_id: "b", tool_name: "two", destinations: ["https://b.example"], reason: "external_destination" }
      ])
    })

    it.each([
      [
        "before its block begins",
        (piece: UpstreamEvent, block: UpstreamEvent, end: UpstreamEvent) => [piece, block, end]
      ],
      [
        "after its block has ended",
        (piece: UpstreamEvent, block: UpstreamEvent, end: UpstreamEvent) => [block, end, piece]
      ]
    ])("a piece of a call that comes %s is scanned", async (_, order) => {
      const block = blockStart(0, { type: "tool_use", id: "a", name: "send", input: {} })
      const events = [messageStart(), ...order(jsonDelta(0, '{"u":"https://a.example"}'), block, blockStop(0)), ...rest]
      upstream.use(streaming(framed(frame, events), { head }))
      const [flag] = eventsIn((await ask(model, true)).text).slice(events.length)
      assert.deepStrictEqual(flag?.json.x_gateway_governance.flags, [
        { tool_call_id: "a", tool_name: "send", destinations: ["https://a.example"], reason: "external_destination" }
      ])
    })

    it("arguments that come whole in the start of the block are scanned", async () => {
      const events = [
        messageStart(),
        blockStart(0, { type: "tool_use", id: "a", name: "one", input: { u: "https://a.example" } }),
        blockStop(0),
        ...rest
      ]
      upstream.use(streaming(framed(frame, events), { head }))
      assert.match((await ask(model, true)).text, /gateway_governance[\s\S]*https:\/\/a\.example/)
    })

    it("a call that the token limit cut is scanned as text", async () => {
      const events = [
        messageStart(),
        ...toolCall(0, "a", "one", ['{"u":"https://a.exam']),
        messageDelta("max_tokens"),
        messageStop
      ]
      upstream.use(streaming(framed(frame, events), { head }))
      assert.match((await ask(model, true)).text, /event: gateway_governance[\s\S]*https:\/\/a\.exam"/)
    })

    it("flags are not lost with a stream that breaks", async () => {
      const begun = [messageStart(), ...toolCall(0, "a", "one", ['{"u":"https://a.example"}'])]
      for (const pieces of [
        framed(frame, begun),
        [...framed(frame, begun), ...(head === frameHead ? [exceptionFrame("throttlingException", "{}")] : [])],
        framed(frame, begun.slice(0, -1))
      ]) {
        upstream.use(streaming(pieces, { head }))
        const events = eventsIn((await ask(model, true)).text).map(({ event }) => event)
        assert.deepStrictEqual(events.slice(-2), ["gateway_governance", "error"])
      }
    })

    it("text and thinking that mention a URL are no calls", async () => {
      const events = [
        messageStart(),
        blockStart(0, { type: "text", text: "" }),
        {
          type: "content_block_delta",
          index: 0,
          delta: { type: "text_delta", text: '"input_json_delta" https://a.example' }
        },
        blockStop(0),
        messageDelta(),
        messageStop
      ]
      upstream.use(streaming(framed(frame, events), { head }))
      assert.notMatch((await ask(model, true)).text, /gateway_governance/)
    })
  })
}

describe("the screen of tool definitions", () => {
  const tools = [{ name: "notify", input_schema: { type: "object", properties: { webhook_url: { type: "string" } } } }]
  it("is off on this surface", async () => {
    upstream.use(
      answering(
        reply(
          "200 OK",
          '{"id":"msg_1","type":"message","role":"assistant","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},"content":[]}'
        )
      )
    )
    const got = await post(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il5", "hi", { tools }))
    assert.strictEqual(got.status, 200)
  })
  it("is on where the operator wants it", async () => {
    const screened = await startGateway({
      settings: { ...cloudsAt(upstream.url), GATEWAY_SCREEN_SURFACES: "messages" }
    })
    try {
      for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
        const got = await post(screened.url + path, message("claude-sonnet-4-5:il5", "hi", { tools }))
        assert.strictEqual(got.status, 400, path)
        assert.match(got.json.error.message, /notify[\s\S]*webhook_url/)
      }
    } finally {
      await screened.stop()
    }
  })
})
