/** What callers see of a cloud that fails while it streams (acceptance: Upstream faults). */
import { gzipSync } from "node:zlib"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { chunkFrame } from "../provider/framing/frames.ts"
import {
  bedrockFrame,
  blockStart,
  blockStop,
  exceptionFrame,
  message,
  messageDelta,
  messageStart,
  messageStop,
  saying,
  sseFrame,
  textDelta,
  type UpstreamEvent
} from "../support/claude.ts"
import {
  chunk,
  type FakeUpstream,
  fakeUpstream,
  frameHead,
  type Handler,
  httpHead,
  lastChunk,
  sseHead,
  streaming
} from "../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../support/gateway.ts"
import { eventsIn, type Got, open, post } from "../support/http.ts"

let upstream: FakeUpstream
let gateway: Gateway
beforeAll(async () => {
  upstream = await fakeUpstream(() => {})
  gateway = await startGateway({
    settings: {
      ...cloudsAt(upstream.url),
      GATEWAY_HEARTBEAT: "60 millis",
      GATEWAY_STREAM_IDLE_TIMEOUT: "300 millis",
      GATEWAY_STREAM_CEILING: "900 millis"
    }
  })
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

interface Cloud {
  readonly model: string
  readonly head: string
  readonly frame: (event: UpstreamEvent) => string | Buffer
}
const clouds: ReadonlyArray<Cloud> = [
  { model: "claude-sonnet-4-5:il2", head: sseHead, frame: sseFrame },
  { model: "claude-sonnet-4-5:il5", head: frameHead, frame: bedrockFrame }
]

const ask = (model: string) => post(`${gateway.url}/v1/messages`, message(model, "hi", { stream: true }))

const begun = [messageStart(), blockStart(0, { type: "text", text: "" }), textDelta(0, "hel")]
const rest = [textDelta(0, "lo"), blockStop(0), messageDelta(), messageStop]

/** A 200 that never looks like a success, and ends with exactly one error event. */
const brokenInBand = (got: Got, type = "api_error", text = /./) => {
  assert.strictEqual(got.status, 200, got.text)
  const events = eventsIn(got.text)
  for (const event of events) assert.strictEqual(event.event, event.json?.type, JSON.stringify(event))
  assert.notInclude(
    events.map(({ event }) => event),
    "message_stop"
  )
  assert.strictEqual(events.filter(({ event }) => event === "error").length, 1)
  const last = events.at(-1)
  assert.strictEqual(last?.event, "error")
  assert.deepStrictEqual(Object.keys(last?.json), ["type", "error"])
  assert.strictEqual(last?.json.error.type, type)
  assert.match(last?.json.error.message, text)
  assert.notMatch(got.text, /secret|127\.0\.0\.1|us-gov\.anthropic/)
  assert.isTrue(got.text.endsWith("\n\n"))
}

for (const { model, head, frame } of clouds) {
  const pieces = begun.map(frame)
  const send = (socket: Parameters<Handler>[0]) => {
    socket.write(head)
    for (const piece of pieces) socket.write(chunk(piece))
  }
  /** Sends the beginning, waits until it is on its way, and then does this. */
  const onceBegun =
    (act: (socket: Parameters<Handler>[0]) => unknown): Handler =>
    (socket) => {
      send(socket)
      setTimeout(() => act(socket), 40)
    }

  describe(model, () => {
    for (const [name, handler] of Object.entries({
      "a reset": onceBegun((socket) => socket.resetAndDestroy()),
      "a FIN": onceBegun((socket) => socket.end()),
      "an end without the terminal event": onceBegun((socket) => socket.write(lastChunk)),
      "an end inside an event": onceBegun((socket) =>
        socket.write(
          Buffer.concat([chunk(Buffer.from(frame(textDelta(0, "lost"))).subarray(0, 25)), Buffer.from(lastChunk)])
        )
      ),
      "bad chunking": onceBegun((socket) => socket.write("nonsense\r\n")),
      "a short content-length": (socket) => {
        const body = Buffer.concat(pieces.map((piece) => Buffer.from(piece)))
        const type = head === sseHead ? "text/event-stream" : "application/vnd.amazon.eventstream"
        socket.write(httpHead("200 OK", { "content-type": type, "content-length": String(body.length + 100) }))
        socket.write(body)
        setTimeout(() => socket.end(), 40)
      },
      "an event over 10 MiB": onceBegun((socket) =>
        socket.write(chunk(frame(textDelta(0, "x".repeat(10 * 1024 * 1024)))))
      ),
      "a line without end": onceBegun((socket) => {
        const piece = chunk(Buffer.alloc(1024 * 1024, 0x78))
        for (let n = 0; n < 20; n++) socket.write(piece)
      })
    } satisfies Record<string, Handler>)) {
      it(`in-band error after ${name}`, async () => {
        upstream.use(handler)
        const got = await ask(model)
        brokenInBand(got)
        assert.match(got.text, /"hel"/)
      })
    }

    it("in-band error after an event that is no JSON, among those that are read", async () => {
      for (const at of [1, 3]) {
        upstream.use(
          streaming(
            [
              ...pieces.slice(0, at),
              head === sseHead ? "event: content_block_start\ndata: {not json\n\n" : chunkFrame("{not json"),
              ...rest.map(frame)
            ],
            { head }
          )
        )
        brokenInBand(await ask(model))
      }
    })

    it("in-band error after invalid UTF-8", async () => {
      const bad = Buffer.from(frame(textDelta(0, "broken")))
      upstream.use(
        streaming(
          [
            ...pieces,
            head === sseHead
              ? Buffer.concat([
                  bad.subarray(0, bad.indexOf("broken")),
                  Buffer.from([0xc3, 0x28]),
                  bad.subarray(bad.indexOf("broken"))
                ])
              : chunkFrame(Buffer.from([0x7b, 0xff, 0xfe, 0x7d])),
            ...rest.map(frame)
          ],
          { head }
        )
      )
      brokenInBand(await ask(model))
    })

    it("heartbeats while there are no headers, then in-band error at the idle limit", async () => {
      upstream.use(() => {})
      const started = Date.now()
      const got = await ask(model)
      brokenInBand(got, "api_error", /silent/)
      assert.isAtLeast(got.text.match(/^: keep-alive\n\n/gm)?.length ?? 0, 3)
      assert.isBelow(Date.now() - started, 2600)
      assert.isAtLeast(Date.now() - started, 290)
    })

    it("headers, then silence: heartbeats and the idle limit", async () => {
      upstream.use((socket) => socket.write(head))
      const got = await ask(model)
      brokenInBand(got, "api_error", /silent/)
      assert.match(got.text, /^: keep-alive\n\n/)
    })

    it("silence in the middle: heartbeats between events, then the idle limit, and the call is given up", async () => {
      upstream.use(send)
      const got = await ask(model)
      brokenInBand(got, "api_error", /silent/)
      assert.isAtLeast(got.text.match(/^: keep-alive\n\n/gm)?.length ?? 0, 2)
      assert.match(got.text, /"hel"/)
    })

    it("one byte at a time is held to the ceiling", async () => {
      const bytes = Buffer.from(frame(textDelta(0, "slow".repeat(1000))))
      upstream.use((socket) => {
        send(socket)
        let at = 0
        const timer = setInterval(() => socket.write(chunk(bytes.subarray(at, ++at))), 30)
        socket.on("close", () => clearInterval(timer))
      })
      const started = Date.now()
      // A trickle is no silence: it is the ceiling that ends it, not the idle limit.
      brokenInBand(await ask(model), "api_error", /longer/)
      assert.isAtLeast(Date.now() - started, 850)
      assert.isBelow(Date.now() - started, 3700)
    })

    it("a stream of events that never ends is ended at the ceiling", async () => {
      upstream.use((socket) => {
        send(socket)
        const timer = setInterval(() => socket.write(chunk(frame(textDelta(0, "on ")))), 20)
        socket.on("close", () => clearInterval(timer))
      })
      const started = Date.now()
      brokenInBand(await ask(model), "api_error", /longer/)
      assert.isAtLeast(Date.now() - started, 850)
      assert.isBelow(Date.now() - started, 3700)
    })

    it("a slow stream that is alive is not ended by the idle limit", async () => {
      upstream.use(streaming([...pieces, ...rest.map(frame)], { head, pause: 80 }))
      const got = await ask(model)
      assert.deepStrictEqual(eventsIn(got.text).at(-1)?.json, { type: "message_stop" })
      assert.notMatch(got.text, /event: error/)
    })

    it("exactly one terminal event, however many come, and nothing after it", async () => {
      upstream.use(
        streaming([...pieces, ...rest.map(frame), frame(messageStop), frame(textDelta(0, "more"))], { head })
      )
      const got = await ask(model)
      assert.strictEqual(got.text.match(/event: message_stop/g)?.length, 1)
      assert.notMatch(got.text, /more|event: error/)
      upstream.use(
        streaming(
          [
            Buffer.concat(
              [...pieces, ...rest.map(frame), frame(messageStop), frame(textDelta(0, "more"))].map((b) =>
                Buffer.from(b)
              )
            )
          ],
          { head }
        )
      )
      const again = await ask(model)
      assert.strictEqual(again.text, got.text)
    })

    it("an early terminal event ends the reply", async () => {
      upstream.use(
        streaming([frame(messageStart()), frame(messageStop), ...pieces.slice(1), ...rest.map(frame)], { head })
      )
      const events = eventsIn((await ask(model)).text).map(({ event }) => event)
      assert.deepStrictEqual(events, ["message_start", "message_stop"])
    })

    it("an upstream that keeps its connection open after the last event holds no one up", async () => {
      upstream.use((socket) => {
        send(socket)
        for (const event of rest) socket.write(chunk(frame(event)))
      })
      const response = await open(`${gateway.url}/v1/messages`, message(model, "hi", { stream: true }))
      const started = Date.now()
      const text = await response.text()
      assert.match(text, /message_stop/)
      assert.notMatch(text, /event: error/)
      assert.isBelow(Date.now() - started, 3300)
    })

    it("garbage after the terminal event is not passed on", async () => {
      upstream.use((socket) => {
        send(socket)
        for (const event of rest) socket.write(chunk(frame(event)))
        socket.write(chunk("\0\0garbage\n\n"))
        socket.write(`${lastChunk}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nstolen`)
      })
      const got = await ask(model)
      assert.match(got.text, /message_stop"}\n\n$/)
      upstream.use(streaming([...pieces, ...rest.map(frame)], { head }))
      assert.match((await ask(model)).text, /"lo"[\s\S]*message_stop/)
    })

    it("unknown events, blocks, deltas and stop reasons pass", async () => {
      const strange = [
        messageStart(),
        { type: "ping" },
        { type: "from_the_future", n: 1 },
        blockStart(0, { type: "hologram", data: [1] }),
        { type: "content_block_delta", index: 0, delta: { type: "hologram_delta", beam: "x" } },
        blockStop(0),
        messageDelta("bored"),
        messageStop
      ]
      upstream.use(streaming(strange.map(frame), { head }))
      const got = eventsIn((await ask(model)).text)
      assert.deepStrictEqual(
        got.slice(1).map(({ json }) => json),
        strange.slice(1)
      )
    })

    it("text that looks like the end of a stream stays in its string", async () => {
      const text = 'a\n\ndata: [DONE]\n\nevent: message_stop\ndata: {"type":"message_stop"}\r\n\r\n\u2028 [DONE]'
      upstream.use(streaming(saying(text, "after").map(frame), { head }))
      const got = eventsIn((await ask(model)).text)
      assert.strictEqual(got.map(({ json }) => json.delta?.text ?? "").join(""), `${text}after`)
      assert.strictEqual(got.length, saying("", "").length)
    })

    it("events of megabytes pass", async () => {
      const text = "ä".repeat(2_000_000)
      upstream.use(streaming(saying(text).map(frame), { head }))
      assert.strictEqual(eventsIn((await ask(model)).text)[2]?.json.delta.text, text)
    })

    it("whatever the chunking, the same bytes", async () => {
      const bytes = Buffer.concat(saying("häl", "\ud83d\ude00", "lo").map((event) => Buffer.from(frame(event))))
      upstream.use(streaming([bytes], { head }))
      const whole = (await ask(model)).text
      for (const size of [1, 2, 3, 7, 50]) {
        const split = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
          bytes.subarray(n * size, (n + 1) * size)
        )
        upstream.use(streaming(split, { head }))
        assert.strictEqual((await ask(model)).text, whole)
      }
    })
  })
}

describe("Bedrock's exception frames", () => {
  const statuses: ReadonlyArray<readonly [string, number, string]> = [
    ["throttlingException", 429, "rate_limit_error"],
    ["modelNotReadyException", 429, "rate_limit_error"],
    ["serviceQuotaExceededException", 429, "rate_limit_error"],
    ["validationException", 400, "invalid_request_error"],
    ["internalServerException", 502, "api_error"],
    ["serviceUnavailableException", 502, "api_error"],
    ["modelStreamErrorException", 502, "api_error"],
    ["modelTimeoutException", 504, "api_error"],
    ["somethingNewException", 502, "api_error"]
  ]
  for (const [name, status, type] of statuses) {
    const exception = exceptionFrame(name, JSON.stringify({ message: "arn:aws-us-gov:bedrock:x failed" }))

    it(`${name} first keeps its status`, async () => {
      upstream.use(streaming([exception], { head: frameHead }))
      const got = await ask("claude-sonnet-4-5:il5")
      assert.strictEqual(got.status, status, got.text)
      assert.match(got.headers.get("content-type") ?? "", /^application\/json/)
      assert.strictEqual(got.json.error.type, type)
      assert.notMatch(got.text, /arn:/)
    })

    it(`${name} in the middle is an in-band error`, async () => {
      upstream.use(streaming([...begun.map(bedrockFrame), exception, bedrockFrame(messageStop)], { head: frameHead }))
      brokenInBand(await ask("claude-sonnet-4-5:il5"), type)
    })
  }

  it("reads the model's own status in a stream error", async () => {
    const exception = exceptionFrame(
      "modelStreamErrorException",
      JSON.stringify({ message: "m", originalStatusCode: 429, originalMessage: "slow down" })
    )
    upstream.use(streaming([exception], { head: frameHead }))
    assert.include([429, 502], (await ask("claude-sonnet-4-5:il5")).status)
  })
})

describe("Vertex's error events", () => {
  for (const [name, status, type] of [
    ["overloaded_error", 502, "api_error"],
    ["api_error", 502, "api_error"],
    ["rate_limit_error", 429, "rate_limit_error"],
    ["invalid_request_error", 400, "invalid_request_error"],
    ["timeout_error", 504, "api_error"],
    ["novel_error", 502, "api_error"]
  ] as const) {
    const event = { type: "error", error: { type: name, message: "projects/secret-project/x failed" } }

    it(`${name} first keeps its status`, async () => {
      upstream.use(streaming([sseFrame(event)]))
      const got = await ask("claude-sonnet-4-5:il2")
      assert.strictEqual(got.status, status, got.text)
      assert.strictEqual(got.json.error.type, type)
      assert.notMatch(got.text, /secret-project/)
    })

    it(`${name} in the middle is an in-band error`, async () => {
      upstream.use(streaming([...begun, event, messageStop].map(sseFrame)))
      brokenInBand(await ask("claude-sonnet-4-5:il2"), type)
    })
  }

  it("SSE framing of every kind is read", async () => {
    const [start, block, delta, ...more] = saying("hi")
    const crlf = (event: UpstreamEvent | undefined) =>
      event === undefined ? "" : `event: ${event.type}\r\ndata: ${JSON.stringify(event)}\r\n\r\n`
    const cr = (event: UpstreamEvent | undefined) => crlf(event).replaceAll("\r\n", "\r")
    const bare = (event: UpstreamEvent | undefined) => `data:${JSON.stringify(event)}\n\n`
    const lines = `event: content_block_delta\ndata: {"type":"content_block_delta",\ndata: "index":0,"delta":{"type":"text_delta","text":"two"}}\n\n`
    upstream.use(
      streaming([
        `\ufeff: comment\n\n${crlf(start)}`,
        cr(block),
        ": ping\n\nid: 7\nretry: 10\n\n",
        bare(delta),
        lines,
        ...more.map(sseFrame)
      ])
    )
    const got = eventsIn((await ask("claude-sonnet-4-5:il2")).text)
    assert.deepStrictEqual(
      got.map(({ event }) => event),
      [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop"
      ]
    )
    assert.strictEqual(got.map(({ json }) => json.delta?.text ?? "").join(""), "hitwo")
  })
})

it("a compressed stream is refused", async () => {
  const body = gzipSync(saying("hi").map(sseFrame).join(""))
  upstream.use((socket) => {
    socket.write(
      httpHead("200 OK", {
        "content-type": "text/event-stream",
        "content-encoding": "gzip",
        "content-length": String(body.length)
      })
    )
    socket.write(body)
  })
  assert.strictEqual((await ask("claude-sonnet-4-5:il2")).status, 502)
})
