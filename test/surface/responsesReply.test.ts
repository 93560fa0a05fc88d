/** What the caller gets of an upstream's response, whole or streamed (spec: POST /v1/responses; Responses stream). */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { chunk, type FakeUpstream, fakeUpstream, reply, sseHead, streaming } from "../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../support/gateway.ts"
import { eventsIn, type Got, open, post, raw, rawPost, type SseEvent } from "../support/http.ts"
import {
  ask,
  callEvents,
  ending,
  frameOf,
  functionCall,
  numbered,
  opening,
  responseOf,
  textEvents,
  textItem,
  type UpstreamEvent
} from "../support/responses.ts"

let upstream: FakeUpstream
let gateway: Gateway
beforeAll(async () => {
  upstream = await fakeUpstream(() => {})
  gateway = await startGateway({
    settings: { ...cloudsAt(upstream.url), GATEWAY_HEARTBEAT: "200 millis", GATEWAY_STREAM_IDLE_TIMEOUT: "700 millis" }
  })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})
beforeEach(() => upstream.use(() => {}))

const url = () => `${gateway.url}/v1/responses`
/** Makes the upstream answer every request with this. */
const answering = (body: string | object, status = "200 OK", headers: Record<string, string> = {}) => {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  upstream.use((socket) => socket.write(reply(status, text, { "content-type": "application/json", ...headers })))
}

const create = (extra: Readonly<Record<string, unknown>> = {}) => post(url(), ask("hi", extra))
/** The caller's events of a stream that the upstream sends in these network writes. */
const streamed = async (pieces: ReadonlyArray<string | Uint8Array>): Promise<ReadonlyArray<SseEvent>> => {
  upstream.use(streaming(pieces))
  const got = await create({ stream: true })
  assert.strictEqual(got.status, 200, got.text)
  assert.match(got.headers.get("content-type") ?? "", /^text\/event-stream/)
  return eventsIn(got.text)
}
const frames = (events: ReadonlyArray<UpstreamEvent>) => numbered(events).map(frameOf)
const flag = (index: number, ...destinations: ReadonlyArray<string>) => ({
  tool_call_id: `call_${index}`,
  tool_name: "fetch_page",
  destinations,
  reason: "external_destination"
})

const secret = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAAA-secret" }
const hello = textItem("hello")
const link = '{"url":"https://example.com/a","to":"10.0.0.1"}'
const linkFlag = flag(1, "https://example.com/a", "10.0.0.1")

describe("a whole reply", () => {
  it("is the upstream's own bytes", async () => {
    const bytes = `{ "object" : "response",\n "id":"resp_1","status":"completed", "output":[{"type":"message","content":[{"type":"output_text","text":"h\\u00e9 \\ud83d\\ude00 \\/"}]}],
 "usage":null, "big":12345678901234567890, "huge":1e400, "one":1.0, "twice":1, "twice":2 }`
    answering(bytes)
    const got = await create()
    assert.strictEqual(got.status, 200, got.text)
    assert.strictEqual(got.text, bytes)
    assert.strictEqual(got.headers.get("x-gateway-served-model"), "gpt-5.1")
    assert.strictEqual(got.headers.get("x-gateway-served-by"), "azure/usgov")
    assert.strictEqual(got.headers.get("x-gateway-served-level"), "il5")
    assert.match(got.headers.get("content-type") ?? "", /^application\/json/)
  })

  it("drops the upstream's headers", async () => {
    answering(responseOf([hello]), "200 OK", {
      "x-ms-region": "USGov Arizona",
      "set-cookie": "a=b",
      "x-request-id": "u"
    })
    const got = await create()
    assert.isNull(got.headers.get("x-ms-region"))
    assert.isNull(got.headers.get("set-cookie"))
    assert.notStrictEqual(got.headers.get("x-request-id"), "u")
  })

  it("loses its encrypted reasoning, and nothing else", async () => {
    const { encrypted_content: _, ...shown } = secret
    const text = JSON.stringify(responseOf([secret, hello])).replace(
      '"created_at":1760000000',
      '"created_at":12345678901234567890'
    )
    answering(text)
    const got = await create()
    assert.notInclude(got.text, "encrypted_content")
    assert.include(got.text, '"created_at":12345678901234567890')
    assert.deepStrictEqual(got.json.output, [shown, hello])
  })

  it("keeps text that speaks of encrypted_content", async () => {
    const item = textItem('the "encrypted_content" field')
    answering(responseOf([item], { metadata: { encrypted_content: "mine" } }))
    const got = await create()
    assert.deepStrictEqual(got.json, responseOf([item], { metadata: { encrypted_content: "mine" } }))
  })

  it("is flagged for destinations in a call's arguments; the call is not altered", async () => {
    answering(responseOf([hello, functionCall(1, link), functionCall(2, '{"city":"Bonn"}')]))
    const got = await create()
    const { x_gateway_governance, ...rest } = got.json
    assert.deepStrictEqual(x_gateway_governance, { flags: [linkFlag] })
    assert.deepStrictEqual(rest, responseOf([hello, functionCall(1, link), functionCall(2, '{"city":"Bonn"}')]))
  })

  it("is flagged for the input of a custom tool", async () => {
    const custom = {
      id: "ctc_1",
      type: "custom_tool_call",
      call_id: "call_1",
      name: "fetch_page",
      input: "get ftp://a.b/c"
    }
    answering(responseOf([custom]))
    assert.deepStrictEqual((await create()).json.x_gateway_governance, { flags: [flag(1, "ftp://a.b/c")] })
  })

  it("is not flagged for text", async () => {
    answering(responseOf([textItem("see https://example.com")]))
    assert.notProperty((await create()).json, "x_gateway_governance")
  })

  it("that is incomplete or failed is passed on, with flags", async () => {
    for (const status of ["incomplete", "failed"]) {
      answering(responseOf([functionCall(1, '{"url":"https://example.com/a","to":"10.0.0.1')], { status }))
      const got = await create()
      assert.strictEqual(got.status, 200)
      assert.strictEqual(got.json.status, status)
      assert.deepStrictEqual(got.json.x_gateway_governance, { flags: [linkFlag] })
    }
  })

  const broken: ReadonlyArray<readonly [string, string]> = [
    ["is not JSON", "<html></html>"],
    ["is no response", '{"object":"chat.completion"}'],
    ["is a list", "[]"]
  ]
  for (const [name, body] of broken) {
    it(`that ${name} is 502`, async () => {
      answering(body)
      const got = await create()
      assert.strictEqual(got.status, 502)
      assert.strictEqual(got.json.error.type, "api_error")
    })
  }

  const statuses: ReadonlyArray<readonly [status: string, code: number, type: string]> = [
    ["400 Bad Request", 400, "invalid_request_error"],
    ["422 Unprocessable", 400, "invalid_request_error"],
    ["401 Unauthorized", 502, "api_error"],
    ["403 Forbidden", 502, "api_error"],
    ["404 Not Found", 502, "api_error"],
    ["429 Too Many", 429, "rate_limit_error"],
    ["500 Error", 502, "api_error"],
    ["503 Unavailable", 502, "api_error"]
  ]
  for (const stream of [false, true]) {
    for (const [status, code, type] of statuses) {
      it(`upstream's ${status}, ${stream ? "streamed" : "whole"}: ${code}`, async () => {
        answering({ error: { message: "no gpt-5.1 at https://secret.openai.azure.us", code: "x" } }, status, {
          "retry-after": "17"
        })
        const got = await create({ stream })
        assert.strictEqual(got.status, code, got.text)
        assert.deepStrictEqual(Object.keys(got.json), ["error"])
        assert.strictEqual(got.json.error.type, type)
        assert.notInclude(got.text, "secret")
        assert.strictEqual(got.headers.get("retry-after"), code === 429 ? "17" : null)
      })
    }
  }

  it("a caller that leaves ends the upstream call within a second", async () => {
    const caller = raw(gateway.port)
    const before = upstream.received.length
    caller.write(rawPost("/v1/responses", JSON.stringify(ask())))
    while (upstream.received.length === before) await sleep(5)
    caller.socket.destroy()
    await upstream.abandoned()
  })
})

describe("numbers that JavaScript cannot hold", () => {
  it("reach the upstream as they were written", async () => {
    answering(responseOf([hello]))
    const body = `{"model":"gpt-5.1:il5","input":"hi","unknown":{"a":12345678901234567890,"b":1e400,"c":-9007199254740993},"seed":9007199254740993}`
    const got = await post(url(), body)
    assert.strictEqual(got.status, 200, got.text)
    const sent = upstream.received.at(-1)?.body ?? ""
    assert.include(sent, '"unknown":{"a":12345678901234567890,"b":1e400,"c":-9007199254740993}')
    assert.include(sent, '"seed":9007199254740993')
  })
})

describe("a stream", () => {
  it("passes on every event as it came, in order", async () => {
    const events = numbered([
      opening,
      { type: "response.in_progress", response: responseOf([], { status: "in_progress" }) },
      ...textEvents(0, ["he", "l\n\ndata: [DONE]\n\n", "lo"]),
      { type: "response.something_new", value: { a: 1 } },
      ending([textItem("hello")])
    ])
    const got = await streamed(events.map(frameOf))
    assert.deepStrictEqual(
      got.map(({ data }) => data),
      events.map((event) => JSON.stringify(event))
    )
    assert.deepStrictEqual(
      got.map(({ event }) => event),
      events.map(({ type }) => type)
    )
  })

  it("carries the flags inside the response of its end, and leaves the deltas alone", async () => {
    const pieces = ['{"url":"htt', "ps:", "/", "/example.com/a", '","to":"10.0', '.0.1"}']
    const events = [opening, ...callEvents(1, pieces), ending([functionCall(1, pieces.join(""))])]
    const got = await streamed(frames(events))
    assert.deepStrictEqual(
      got.slice(0, -1).map(({ data }) => data),
      numbered(events)
        .slice(0, -1)
        .map((event) => JSON.stringify(event))
    )
    const last = got.at(-1)
    assert.strictEqual(last?.event, "response.completed")
    assert.notProperty(last?.json, "x_gateway_governance")
    assert.deepStrictEqual(last?.json.response.x_gateway_governance, { flags: [linkFlag] })
    assert.strictEqual(last?.json.sequence_number, events.length - 1)
  })

  for (const status of ["incomplete", "failed"] as const) {
    it(`that is ${status} carries the flags too, and no error event follows`, async () => {
      const cutCall = functionCall(1, '{"url":"https://example.com/a","to":"10.0.0.1')
      const got = await streamed(frames([opening, ...callEvents(1, [cutCall.arguments]), ending([cutCall], status)]))
      assert.strictEqual(got.at(-1)?.event, `response.${status}`)
      assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, { flags: [linkFlag] })
      assert.notInclude(
        got.map(({ event }) => event),
        "error"
      )
    })
  }

  it("has flags also where the end does not repeat the calls", async () => {
    const got = await streamed(frames([opening, ...callEvents(1, [link]), ending([])]))
    assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, { flags: [linkFlag] })
  })

  it("flags interleaved calls each by its own arguments", async () => {
    const [addedA, deltaA, ...restA] = callEvents(1, ['{"a":"https://a.example/x"}'])
    const [addedB, deltaB, deltaB2, ...restB] = callEvents(2, ['{"b":"https://', 'b.example/y"}'])
    const events = [opening, addedA, addedB, deltaB, deltaA, deltaB2, ...restB, ...restA].filter((e) => e !== undefined)
    const got = await streamed(frames([...events, ending([])]))
    assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, {
      flags: [flag(1, "https://a.example/x"), flag(2, "https://b.example/y")]
    })
  })

  it("loses encrypted reasoning in the items, the openings and the end", async () => {
    const events = numbered([
      { type: "response.created", response: responseOf([secret], { status: "in_progress" }) },
      { type: "response.output_item.added", output_index: 0, item: secret },
      { type: "response.output_item.done", output_index: 0, item: secret },
      { type: "response.reasoning.unheard_of", output_index: 0, encrypted_content: "gAAAA-secret" },
      ending([secret, hello])
    ])
    const got = await streamed(events.map(frameOf))
    assert.strictEqual(got.length, events.length)
    for (const { data } of got) assert.notInclude(data, "encrypted_content")
    assert.deepStrictEqual(
      got.map(({ json }) => json.sequence_number),
      [0, 1, 2, 3, 4]
    )
    const { encrypted_content: _, ...shown } = secret
    assert.deepStrictEqual(got[2]?.json.item, shown)
    assert.deepStrictEqual(got[4]?.json.response.output, [shown, hello])
  })

  it("needs no event lines, and a [DONE] is left out", async () => {
    const events = numbered([opening, ...callEvents(1, [link]), ending([functionCall(1, link)])])
    const got = await streamed([...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n"])
    assert.strictEqual(got.at(-1)?.event, "response.completed")
    assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, { flags: [linkFlag] })
    assert.strictEqual(got.length, events.length)
  })

  it("takes CRLF, comments, a BOM and data without a space", async () => {
    const events = numbered([opening, ...textEvents(0, ["hé"]), ending([textItem("hé")])])
    const text = `\uFEFF: hi\r\n\r\n${events.map((event) => `event:${event.type}\r\nid: 7\r\ndata:${JSON.stringify(event)}\r\n\r\n`).join("")}`
    const bytes = Buffer.from(text)
    const got = await streamed([...bytes].map((byte) => Uint8Array.of(byte)))
    assert.deepStrictEqual(
      got.map(({ json }) => json),
      [...events]
    )
  })

  it("ends once: what comes after the terminal event is dropped", async () => {
    const end = ending([hello])
    const got = await streamed(frames([opening, end, ...textEvents(0, ["late"]), end]))
    assert.deepStrictEqual(
      got.map(({ event }) => event),
      ["response.created", "response.completed"]
    )
  })
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
    assert.include(got.text, ": keep-alive\n\n")
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
    const got = await create({ stream: true })
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

describe("usage records", () => {
  const recordOf = async ({ headers }: Got) => {
    const find = () => gateway.records().find((record) => record.request_id === headers.get("x-request-id"))
    for (let tries = 0; find() === undefined && tries < 200; tries++) await sleep(10)
    return find()
  }
  for (const stream of [false, true]) {
    it(`${stream ? "streamed" : "whole"}: surface, tokens, flags`, async () => {
      const items = [functionCall(1, link)]
      if (stream) upstream.use(streaming(frames([opening, ...callEvents(1, [link]), ending(items)])))
      else answering(responseOf(items))
      const record = await recordOf(await create({ stream }))
      assert.include(record, { surface: "responses", outcome: "ok", stream })
      assert.deepStrictEqual(record?.tokens, { input: 11, output: 7, reasoning: 2, cached: 3 })
      assert.deepInclude(record, { counts: { tools: 0, images: 0, files: 0, flags: 1 } })
      assert.notInclude(JSON.stringify(record), "example.com")
    })
  }
  it("of a cut stream and of a failed response", async () => {
    upstream.use(streaming(frames([opening])))
    assert.include(await recordOf(await create({ stream: true })), { outcome: "cut" })
    upstream.use(streaming(frames([opening, ending([], "failed")])))
    assert.include(await recordOf(await create({ stream: true })), { outcome: "upstream_error" })
    answering(responseOf([], { status: "failed" }))
    assert.include(await recordOf(await create()), { outcome: "upstream_error" })
  })
})
