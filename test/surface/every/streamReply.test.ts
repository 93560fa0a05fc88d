/** How a streamed reply begins and ends, and what is recorded of it (docs/architecture.md#the-stream-path). */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import {
  bedrockFrame,
  exceptionFrame,
  message,
  messageStart,
  saying,
  sseFrame,
  textDelta
} from "../../support/claude.ts"
import {
  answering,
  chunk,
  frameHead,
  type Handler,
  lastChunk,
  reply,
  sseHead,
  streaming
} from "../../support/fakeUpstream.ts"
import { eventsIn, open, post, raw, rawPost } from "../../support/http.ts"
import { sharedGatewayAt, sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream({
  GATEWAY_HEARTBEAT: "100 millis",
  GATEWAY_STREAM_IDLE_TIMEOUT: "350 millis",
  GATEWAY_STREAM_CEILING: "700 millis"
})
/** Waits longer for the first frame. */
const patient = sharedGatewayAt(upstream, { GATEWAY_HEARTBEAT: "1 second" })
/** Waits as long as in production for all that follows. */
const steady = sharedGatewayAt(upstream, { GATEWAY_HEARTBEAT: "100 millis" })

const il2 = "claude-sonnet-4-5:il2"
const il5 = "claude-sonnet-4-5:il5"
const ask = (model = il2, at = gateway) => post(`${at.url}/v1/messages`, message(model, "hi", { stream: true }))

/** The usage record of a reply. */
const recordOf = async (id: string | null) => {
  for (let n = 0; n < 100; n++) {
    const found = gateway.records().filter((record) => record.request_id === id)
    if (found.length > 0) {
      assert.lengthOf(found, 1, "one record a request")
      return found[0] ?? {}
    }
    await sleep(10)
  }
  throw new Error("there is no record")
}

describe("a stop sequence that the vendor does not take", () => {
  for (const model of [il2, il5]) {
    it(`${model}: ends the reply, and the call to the cloud`, async () => {
      const framed = model === il2 ? sseFrame : bedrockFrame
      const before = upstream.connections()
      upstream.use(async (socket) => {
        socket.write(model === il2 ? sseHead : frameHead)
        for (const event of saying("one\n", "\ntwo").slice(0, -3)) socket.write(chunk(framed(event)))
      })
      const body = { model, stream: true, stop: "\n\n", messages: [{ role: "user", content: "hi" }] }
      const got = await post(`${gateway.url}/v1/chat/completions`, body)
      const events = eventsIn(got.text)
      assert.strictEqual(events.at(-1)?.data, "[DONE]")
      const choices = events.flatMap(({ json }) => json?.choices ?? [])
      assert.deepStrictEqual(
        choices.map(({ delta, finish_reason }) => [delta.role ?? delta.content, finish_reason]),
        [
          ["assistant", null],
          ["one", null],
          [undefined, "stop"]
        ]
      )
      await upstream.abandoned()
      assert.isAbove(upstream.connections().closed, before.closed)
      const record = await recordOf(got.headers.get("x-request-id"))
      assert.include(record, { outcome: "ok", stream_end: "complete" })
      assert.deepInclude(record.tokens, { input: 10 })
    })
  }
})

it("whole replies keep the numbers of tool input as they were written", async () => {
  const input = '{"ratio":1.0,"exp":1e3,"big":9007199254740993,"zero":-0,"10":{"b":1,"2":[{"9":0,"8":0}]},"2":0}'
  const usage = '"usage":{"input_tokens":1,"output_tokens":2}'
  const content = `[{"type":"tool_use","id":"toolu_1","name":"f","input":${input}}]`
  const shape = '"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use"'
  upstream.use(answering(reply("200 OK", `{${shape},"content":${content},${usage}}`)))
  for (const model of [il2, il5]) {
    const native = await post(`${gateway.url}/v1/messages`, message(model))
    assert.include(native.text, `"input":${input}`)
    const body = { model, messages: [{ role: "user", content: "hi" }] }
    const chat = await post(`${gateway.url}/v1/chat/completions`, body)
    assert.strictEqual(chat.json.choices[0].message.tool_calls[0].function.arguments, input)
    assert.include((await recordOf(native.headers.get("x-request-id"))).tokens, { input: 1, output: 2 })
  }
})

it("chat: the role comes with the cloud's first event", async () => {
  let go = () => {}
  upstream.use(async (socket) => {
    socket.write(sseHead)
    const [first, ...rest] = saying("hi")
    if (first !== undefined) socket.write(chunk(sseFrame(first)))
    await new Promise<void>((resolve) => {
      go = resolve
    })
    for (const event of rest) socket.write(chunk(sseFrame(event)))
    socket.write(lastChunk)
  })
  const body = { model: il2, stream: true, messages: [{ role: "user", content: "hi" }] }
  const response = await fetch(`${patient.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-api-key": "sandbox-key", "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  const reader = response.body?.getReader()
  const first = new TextDecoder().decode((await reader?.read())?.value)
  assert.match(first, /^data: .*"delta":\{"role":"assistant"\}/)
  go()
  for (let end = false; !end; ) end = (await reader?.read())?.done ?? true
})

describe("the beginning", () => {
  it("a refusal within the heartbeat keeps its status and retry-after, though the head took its time", async () => {
    upstream.use(async (socket) => {
      await sleep(20)
      socket.write(reply("429 Too Many Requests", "{}", { "content-type": "application/json", "retry-after": "9" }))
    })
    const got = await ask(il2, patient)
    assert.strictEqual(got.status, 429)
    assert.strictEqual(got.headers.get("retry-after"), "9")
    assert.match(got.headers.get("content-type") ?? "", /json/)
  })

  it("a throttle in the first frame keeps its status", async () => {
    upstream.use(streaming([exceptionFrame("throttlingException", "{}")], { head: frameHead, pause: 20 }))
    assert.strictEqual((await ask(il5, patient)).status, 429)
  })

  it("a throttle after 200 is committed comes in-band, after the heartbeats", async () => {
    upstream.use(streaming([exceptionFrame("throttlingException", "{}")], { head: frameHead, pause: 250 }))
    const got = await ask(il5, steady)
    assert.strictEqual(got.status, 200)
    assert.match(got.text, /^(: keep-alive\n)+event: error\n/)
    assert.strictEqual(eventsIn(got.text)[0]?.json.error.type, "rate_limit_error")
  })

  it("a late refusal comes in-band, too", async () => {
    upstream.use(async (socket) => {
      await sleep(200)
      socket.write(reply("400 Bad Request", '{"error":{"message":"too long"}}'))
    })
    const [error] = eventsIn((await ask(il2, steady)).text)
    assert.deepStrictEqual(error?.json, {
      type: "error",
      error: { type: "invalid_request_error", message: "too long" }
    })
  })

  it("the first event reaches the caller before the second is there", async () => {
    let go: (value?: unknown) => void = () => {}
    const gate = new Promise((resolve) => {
      go = resolve
    })
    upstream.use(async (socket) => {
      socket.write(sseHead)
      socket.write(chunk(sseFrame(messageStart())))
      await gate
      for (const event of saying("x").slice(1)) socket.write(chunk(sseFrame(event)))
      socket.write(lastChunk)
    })
    const caller = raw(gateway.port)
    caller.write(rawPost("/v1/messages", JSON.stringify(message(il2, "hi", { stream: true }))))
    await caller.until(/message_start/)
    go()
    await caller.until(/message_stop/)
    caller.socket.destroy()
  })
})

describe("the headers", () => {
  it("are those of a stream that nobody may buffer", async () => {
    upstream.use(streaming(saying("x").map(sseFrame)))
    const got = await ask()
    assert.match(got.headers.get("content-type") ?? "", /^text\/event-stream/)
    assert.match(got.headers.get("cache-control") ?? "", /no-store/)
    assert.strictEqual(got.headers.get("x-accel-buffering"), "no")
    assert.isNull(got.headers.get("content-length"))
    assert.isNull(got.headers.get("content-encoding"))
  })
})

describe("the bytes", () => {
  const words = ["é", "x".repeat(5000), "…"]
  const asked = rawPost("/v1/messages", JSON.stringify(message(il2, "hi", { stream: true })))

  it("are framed by their length, and the connection is used again", async () => {
    upstream.use(streaming(saying(...words).map(sseFrame), { pause: 5 }))
    const caller = raw(steady.port)
    for (const replies of [1, 2]) {
      caller.write(asked)
      await caller.until(new RegExp(`(message_stop"\\}\\n\\n\\r\\n0\\r\\n\\r\\n[\\s\\S]*){${replies}}$`))
    }
    caller.socket.destroy()
    const [, body = ""] = caller.text().split("\r\n\r\n")
    const pieces = body.split("\r\n")
    assert.isAbove(pieces.length, 4)
    for (let at = 0; pieces[at] !== "0"; at += 2) {
      assert.strictEqual(pieces[at + 1]?.length, Number.parseInt(pieces[at] ?? "", 16))
    }
  })

  it("come without chunks to a caller of HTTP/1.0", async () => {
    upstream.use(streaming(saying(...words).map(sseFrame)))
    const caller = raw(patient.port)
    caller.write(Buffer.from(asked.toString().replace("HTTP/1.1", "HTTP/1.0")))
    await caller.until(/message_stop"\}\n\n$/)
    const [head = "", body = ""] = caller.text().split("\r\n\r\n")
    assert.notMatch(head, /transfer-encoding/i)
    assert.match(body, /^event: message_start\n/)
    caller.socket.destroy()
  })
})

describe("heartbeats", () => {
  it("come between events, never inside one", async () => {
    const [first, ...rest] = saying("x".repeat(2000)).map((event) => Buffer.from(sseFrame(event)))
    upstream.use(async (socket) => {
      socket.write(sseHead)
      socket.write(chunk(first ?? ""))
      for (const piece of rest) {
        socket.write(chunk(piece.subarray(0, 20)))
        await sleep(piece === rest[1] ? 250 : 5)
        socket.write(chunk(piece.subarray(20)))
      }
      socket.write(lastChunk)
    })
    const got = await ask()
    const blocks = got.text.split("\n\n").filter((block) => block !== "")
    for (const block of blocks) assert.match(block, /^(: keep-alive\n)*event: \w+\ndata: \{.*\}$/)
    assert.include(got.text, ": keep-alive\nevent: ")
    assert.strictEqual(eventsIn(got.text).length, 1 + rest.length)
  })

  it("do not come where the stream is not silent", async () => {
    upstream.use(streaming(saying(..."abcdef").map(sseFrame), { pause: 120 }))
    assert.notMatch((await ask(il2, patient)).text, /keep-alive/)
  })
})

describe("the record", () => {
  const begun = [messageStart(), textDelta(0, "x")]
  const cases: Readonly<Record<string, readonly [handler: Handler, outcome: RegExp, end: string | undefined]>> = {
    "a whole stream": [streaming(saying("x").map(sseFrame)), /^ok$/, "complete"],
    "a stream that breaks": [streaming(begun.map(sseFrame)), /^cut$/, "error"],
    "a stream that falls silent": [
      (socket) => {
        socket.write(sseHead)
        for (const event of begun) socket.write(chunk(sseFrame(event)))
      },
      /^idle$/,
      "error"
    ],
    "a stream without end": [
      (socket) => {
        socket.write(sseHead)
        const timer = setInterval(() => socket.write(chunk(sseFrame(textDelta(0, "x")))), 30)
        socket.on("close", () => clearInterval(timer))
      },
      /timeout/,
      "error"
    ],
    "a refusal": [(socket) => socket.write(reply("429 Too Many Requests", "{}")), /^upstream_error$/, undefined]
  }
  for (const [name, [handler, outcome, end]] of Object.entries(cases)) {
    it(`of ${name}`, async () => {
      upstream.use(handler)
      const got = await ask()
      const record = await recordOf(got.headers.get("x-request-id"))
      assert.match(String(record.outcome), outcome)
      assert.strictEqual(record.status, got.status)
      assert.strictEqual(record.surface, "messages")
      assert.strictEqual(record.model, il2)
      if (end !== undefined) assert.strictEqual(record.stream_end, end)
      if (name === "a whole stream") assert.deepInclude(record.tokens, { input: 10, output: 7 })
      assert.notMatch(JSON.stringify(record), /sandbox-key|ya29|"hi"/)
    })
  }

  it("of a caller that leaves, with the usage so far", async () => {
    upstream.use((socket) => {
      socket.write(frameHead)
      for (const event of [messageStart(), textDelta(0, "x")]) socket.write(chunk(bedrockFrame(event)))
    })
    const leaving = new AbortController()
    const response = await open(
      `${gateway.url}/v1/messages`,
      message(il5, "hi", { stream: true }),
      {},
      { signal: leaving.signal }
    )
    leaving.abort()
    await response.text().catch(() => {})
    const record = await recordOf(response.headers.get("x-request-id"))
    assert.strictEqual(record.outcome, "cancelled")
    assert.strictEqual(record.stream_end, "cancelled")
    assert.strictEqual(Reflect.get(Object(record.tokens), "input"), 10)
  })
})
