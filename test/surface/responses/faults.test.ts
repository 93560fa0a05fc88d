/** What the caller gets of an upstream's stream that fails (docs/decisions.md#responses-surface). */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { chunk, sseHead, streaming } from "../../support/fakeUpstream.ts"
import { cloudsAt, startGateway } from "../../support/gateway.ts"
import { eventsIn, open, post, type SseEvent } from "../../support/http.ts"
import {
  ask,
  callEvents,
  ending,
  flag,
  frameOf,
  hello,
  link,
  linkFlag,
  numbered,
  opening
} from "../../support/responses.ts"
import { sharedResponses } from "../../support/responsesStreams.ts"

const { create, streamed, upstream, url } = sharedResponses({
  GATEWAY_HEARTBEAT: "200 millis",
  GATEWAY_STREAM_IDLE_TIMEOUT: "700 millis"
})

describe("a stream that fails", () => {
  /** Events before the failure, then exactly one error event, which goes on counting; no terminal success. */
  const failsAfter = (got: ReadonlyArray<SseEvent>, passed: number, code: string) => {
    assert.strictEqual(got.length, passed + 1)
    const last = got.at(-1)
    assert.strictEqual(last?.event, "error")
    assert.strictEqual(last?.json.type, "error")
    assert.strictEqual(last?.json.code, code)
    assert.isString(last?.json.message)
    assert.strictEqual(last?.json.sequence_number, passed)
    assert.isFalse(got.some(({ event }) => event?.startsWith("response.completed")))
    return last?.json
  }
  const begun = numbered([opening, ...callEvents(1, [link])])
  const before = begun.map(frameOf)

  it("when it ends without its terminal event", async () => {
    const error = failsAfter(await streamed(before), begun.length, "api_error")
    assert.deepStrictEqual(error.x_gateway_governance, { flags: [linkFlag] })
  })

  it("after a call that came in one piece: it is flagged all the same", async () => {
    const [added, , argumentsDone, itemDone] = callEvents(1, [link])
    for (const piece of [argumentsDone, itemDone]) {
      const events = numbered([opening, added, piece].filter((event) => event !== undefined))
      const error = failsAfter(await streamed(events.map(frameOf)), events.length, "api_error")
      assert.deepStrictEqual(error.x_gateway_governance, { flags: [linkFlag] })
    }
  })

  it("after a call whose end says other arguments than its deltas: both count", async () => {
    const [added, delta] = callEvents(1, ["{}"])
    const [, , argumentsDone, itemDone] = callEvents(1, [link])
    for (const last of [[argumentsDone], [itemDone], [argumentsDone, itemDone]]) {
      const events = numbered([opening, added, delta, ...last].filter((event) => event !== undefined))
      const error = failsAfter(await streamed(events.map(frameOf)), events.length, "api_error")
      assert.deepStrictEqual(error.x_gateway_governance, { flags: [linkFlag] })
    }
  })

  it("after a custom tool's text, which is counted once", async () => {
    const item = { id: "ctc_1", type: "custom_tool_call", call_id: "call_1", name: "fetch_page", input: "10.0.0.1" }
    const at = { item_id: "ctc_1", output_index: 0 }
    const events = numbered([
      opening,
      { type: "response.output_item.added", output_index: 0, item: { ...item, input: "" } },
      { type: "response.custom_tool_call_input.delta", ...at, delta: "10.0." },
      { type: "response.custom_tool_call_input.delta", ...at, delta: "0.1" },
      { type: "response.custom_tool_call_input.done", ...at, input: "10.0.0.1" },
      { type: "response.output_item.done", output_index: 0, item }
    ])
    const error = failsAfter(await streamed(events.map(frameOf)), events.length, "api_error")
    assert.deepStrictEqual(error.x_gateway_governance, { flags: [flag(1, "10.0.0.1")] })
  })

  it("when it ends inside an event", async () => {
    failsAfter(await streamed([...before, frameOf(ending([hello])).slice(0, 60)]), begun.length, "api_error")
  })

  it("when the connection breaks", async () => {
    upstream.use((socket) => {
      socket.write(`${sseHead}${before.map((frame) => chunk(frame).toString()).join("")}`)
      setTimeout(() => socket.destroy(), 20)
    })
    failsAfter(eventsIn((await create({ stream: true })).text), begun.length, "api_error")
  })

  it("when it falls silent: heartbeats, then the error at the idle limit", async () => {
    upstream.use((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
      socket.write(before.join(""))
    })
    const got = await create({ stream: true })
    assert.include(got.text, "\n\n: keep-alive\n")
    failsAfter(eventsIn(got.text), begun.length, "api_error")
    await upstream.abandoned()
  })

  const garbage: ReadonlyArray<readonly [string, string | Uint8Array]> = [
    ["an event that is not JSON", "event: response.completed\ndata: {not json\n\n"],
    ["a delta that is not JSON", "event: response.output_text.delta\ndata: {not json\n\n"],
    ["a terminal event without a response", 'event: response.completed\ndata: {"type":"response.completed"}\n\n'],
    ["invalid UTF-8", Uint8Array.of(0x64, 0x61, 0x74, 0x61, 0x3a, 0x22, 0xff, 0xfe, 0x22, 0x0a, 0x0a)]
  ]
  for (const [name, bytes] of garbage) {
    it(`with ${name}`, async () => {
      failsAfter(await streamed([...before, bytes]), begun.length, "api_error")
    })
  }

  const errors: ReadonlyArray<readonly [string, object, string]> = [
    [
      "rate limit",
      { code: "rate_limit_exceeded", message: "slow down, gpt-5.1 at https://secret.azure.us" },
      "rate_limit_error"
    ],
    ["server error", { code: "server_error", message: "secret" }, "api_error"],
    ["nested error", { error: { code: "too_many_requests", message: "secret" } }, "rate_limit_error"],
    ["refused prompt", { code: "invalid_prompt", message: "no: https://secret.azure.us" }, "invalid_request_error"],
    ["nameless error", {}, "api_error"]
  ]
  for (const [name, fields, code] of errors) {
    it(`with the upstream's error event: ${name}`, async () => {
      const event = { type: "error", sequence_number: begun.length, param: null, ...fields }
      const got = await streamed([...before, frameOf(event)])
      failsAfter(got, begun.length, code)
      assert.notInclude(got.at(-1)?.data, "secret")
    })
  }

  it("at its first event keeps its status", async () => {
    const event = { type: "error", code: "rate_limit_exceeded", message: "slow down", sequence_number: 0 }
    upstream.use(streaming([frameOf(event)]))
    // It does not answer before the cloud does, however long that takes.
    const patient = await startGateway({ settings: { ...cloudsAt(upstream.url), GATEWAY_HEARTBEAT: "1 minute" } })
    const got = await post(`${patient.url}/v1/responses`, ask("hi", { stream: true })).finally(patient.stop)
    assert.strictEqual(got.status, 429)
    assert.strictEqual(got.json.error.type, "rate_limit_error")
  })

  it("when the caller leaves: before the first byte, and in the middle", async () => {
    for (const sent of [[], before]) {
      const received = upstream.received.length
      upstream.use((socket) => {
        if (sent.length === 0) return
        socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        socket.write(sent.join(""))
      })
      const controller = new AbortController()
      const opened = open(url(), ask("hi", { stream: true }), {}, { signal: controller.signal })
      opened.catch(() => {})
      while (upstream.received.length === received) await sleep(5)
      if (sent.length > 0) {
        const reader = (await opened).body?.getReader()
        await reader?.read()
      }
      controller.abort()
      await upstream.abandoned()
    }
  })
})
