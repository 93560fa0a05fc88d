/** What the caller gets of an upstream's whole response, and what is recorded (docs/api.md#responses). */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { reply, streaming } from "../../support/fakeUpstream.ts"
import { eventsIn, type Got, post, raw, rawPost } from "../../support/http.ts"
import {
  ask,
  callEvents,
  ending,
  flag,
  frameOf,
  frames,
  functionCall,
  hello,
  link,
  linkFlag,
  opening,
  responseOf,
  secret,
  textEvents,
  textItem,
  weather
} from "../../support/responses.ts"
import { sharedResponses } from "../../support/responsesStreams.ts"

const { create, gateway, upstream, url } = sharedResponses()
/** Makes the upstream answer every request with this. */
const answering = (body: string | object, status = "200 OK", headers: Record<string, string> = {}) => {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  upstream.use((socket) => socket.write(reply(status, text, { "content-type": "application/json", ...headers })))
}

describe("a whole reply", () => {
  it("is the upstream's own bytes", async () => {
    const bytes = `{ "object" : "response",\n "id":"resp_1","status":"completed", "created_at":1, "model":"m", "output":[{"id":"msg_1","role":"assistant","type":"message","content":[{"type":"output_text","text":"h\\u00e9 \\ud83d\\ude00 \\/"}]}],
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

  it("is refused where more items are left out than any reply has", async () => {
    const sealed = Array.from({ length: 1_001 }, (_, at) =>
      frameOf({ type: "response.output_item.added", output_index: 5_000 - at, item: { type: "compaction" } })
    )
    upstream.use(streaming([frameOf(opening), sealed.join(""), frameOf(ending([hello]))]))
    const events = eventsIn((await create({ stream: true })).text).map(({ json }) => json)
    assert.strictEqual(events.at(-1).type, "error")
    upstream.use(streaming([frameOf(opening), sealed.slice(1).join(""), frameOf(ending([hello]))]))
    assert.include((await create({ stream: true })).text, "response.completed")
  })

  it("loses items that are nothing without their encrypted content, and so does a stream", async () => {
    const sealed = { id: "cmp_1", type: "compaction", encrypted_content: "gAAAA-secret" }
    const unknown = { id: "x_1", type: "vault", encrypted_content: "gAAAA-secret" }
    const output = [sealed, hello, unknown, functionCall(1, link)]
    answering(responseOf(output))
    const whole = await create()
    assert.deepStrictEqual(whole.json.output, [hello, functionCall(1, link)])
    assert.deepStrictEqual(whole.json.x_gateway_governance, { flags: [linkFlag] })

    const added = (output_index: number, item: object) => ({ type: "response.output_item.added", output_index, item })
    const done = (output_index: number, item: object) => ({ type: "response.output_item.done", output_index, item })
    const call = callEvents(1, [link]).map((event) => ({ ...event, output_index: 3 }))
    const sent = [
      opening,
      added(0, { id: "cmp_1", type: "compaction" }),
      { type: "response.compaction.compacting", output_index: 0, item_id: "cmp_1", delta: "secret" },
      done(0, sealed),
      ...textEvents(1, ["hel", "lo"]),
      added(2, unknown),
      done(2, unknown),
      ...call,
      ending(output)
    ]
    for (const isNumbered of [true, false]) {
      upstream.use(streaming(isNumbered ? frames(sent) : sent.map(frameOf)))
      const got = await create({ stream: true })
      assert.notMatch(got.text, /secret|cmp_1|x_1/)
      const events = eventsIn(got.text).map(({ json }) => json)
      // Clients append item by item.
      const places = events.filter(({ type }) => type === "response.output_item.added")
      assert.deepStrictEqual(
        places.map((event) => event.output_index),
        [0, 1]
      )
      const within = events.flatMap(({ output_index }) => (output_index === undefined ? [] : [output_index]))
      assert.deepStrictEqual([...new Set(within)], [0, 1])
      const numbers = events.map(({ sequence_number }) => sequence_number)
      assert.deepStrictEqual(numbers, isNumbered ? [...numbers.keys()] : numbers.fill(undefined))
      assert.deepStrictEqual(events.at(-1).response.output, whole.json.output)
      assert.deepStrictEqual(events.at(-1).response.x_gateway_governance, { flags: [linkFlag] })
    }
  })

  it("is not asked for them", async () => {
    const before = upstream.received.length
    for (const [fields, path] of [
      [{ context_management: [{ type: "compaction", compact_threshold: 1000 }] }, "context_management"],
      [{ context_management: "auto" }, "context_management"],
      [
        {
          input: [
            { role: "user", content: "hi" },
            { type: "compaction", encrypted_content: "x" }
          ]
        },
        "input[1].type"
      ],
      [{ input: [{ type: "compaction_trigger" }] }, "input[0].type"]
    ] as const) {
      const got = await create(fields)
      assert.strictEqual(got.status, 400, got.text)
      assert.isTrue(got.json.error.message.startsWith(`${path}: `), got.text)
    }
    assert.strictEqual(upstream.received.length, before)
    answering(responseOf([hello]))
    for (const context_management of [[], null]) {
      assert.strictEqual((await create({ context_management })).status, 200)
      assert.notProperty(JSON.parse(upstream.received.at(-1)?.body ?? ""), "context_management")
    }
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

  it.each([
    ["get ftp://a.b/c", "ftp://a.b/c"],
    ["[ -f x ] || curl https:\\t.co", "https:\\t.co"]
  ])("is flagged for the input of a custom tool, %j", async (input, destination) => {
    const custom = {
      id: "ctc_1",
      type: "custom_tool_call",
      call_id: "call_1",
      name: "fetch_page",
      input
    }
    answering(responseOf([custom]))
    assert.deepStrictEqual((await create()).json.x_gateway_governance, { flags: [flag(1, destination)] })
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

  it("that failed names nothing of the operator's, whole or streamed", async () => {
    // The operator's own endpoint is the upstream's address.
    const { hostname } = new URL(upstream.url)
    const message = `no gpt-5.1-of-agency at ${hostname} or https://secret.openai.azure.us`
    const error = { code: "server_error", message }
    const failed = responseOf([], { status: "failed", error })
    const shown = { code: "server_error", message: "no gpt-5.1-of-agency at the upstream or the upstream" }
    answering(failed)
    assert.deepStrictEqual((await create()).json.error, shown)
    upstream.use(streaming(frames([opening, ending([], "failed", { error })])))
    assert.deepStrictEqual(eventsIn((await create({ stream: true })).text).at(-1)?.json.response.error, shown)
    for (const event of [{ ...error, code: "invalid_prompt" }, { error: { ...error, code: "invalid_prompt" } }]) {
      upstream.use(streaming(frames([opening, { type: "error", ...event }])))
      assert.strictEqual(eventsIn((await create({ stream: true })).text).at(-1)?.json.message, shown.message)
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

it("a search among the caller's tools goes on with what it found", async () => {
  answering(responseOf([hello]))
  const execution = "client"
  const input = [
    { type: "tool_search_call", id: "tsc_1", call_id: "call_1", execution, arguments: { url: "https://a.example" } },
    { type: "tool_search_output", call_id: "call_1", execution, tools: [{ ...weather, defer_loading: true }] }
  ]
  const tools = [{ type: "tool_search", execution, parameters: weather.parameters }]
  const got = await create({ input, tools })
  assert.strictEqual(got.status, 200, got.text)
  assert.strictEqual(got.headers.get("x-gateway-adjusted"), "input.id:removed")
  const { id: _, ...call } = input[0] ?? {}
  const sent = JSON.parse(upstream.received.at(-1)?.body ?? "")
  assert.deepStrictEqual([sent.input, sent.tools], [[call, input[1]], tools])
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
