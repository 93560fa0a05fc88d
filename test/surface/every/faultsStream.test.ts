import { assert, describe, it } from "@effect/vitest"
import { chunkFrame } from "../../stream/frames.ts"
import {
  blockStart,
  blockStop,
  claudeClouds,
  message,
  messageDelta,
  messageStart,
  messageStop,
  saying,
  textDelta
} from "../../support/claude.ts"
import { chunk, type Handler, httpHead, lastChunk, sseHead, streaming } from "../../support/fakeUpstream.ts"
import { eventsIn, open, post } from "../../support/http.ts"
import { brokenInBand } from "../../support/inBand.ts"
import { sharedGatewayAt, sharedUpstream } from "../../support/shared.ts"

/** With the limits of production. */
const { gateway, upstream } = sharedUpstream()
/** With one short limit: which of two comes first depends on the machine (test/stream/deadlines.test.ts has both). */
const impatient = sharedGatewayAt(upstream, {
  GATEWAY_HEARTBEAT: "30 millis",
  GATEWAY_STREAM_IDLE_TIMEOUT: "700 millis"
})
const limited = sharedGatewayAt(upstream, { GATEWAY_STREAM_CEILING: "900 millis" })
const watchful = sharedGatewayAt(upstream, { GATEWAY_STREAM_IDLE_TIMEOUT: "1500 millis" })

const ask = (model: string, at = gateway) => post(`${at.url}/v1/messages`, message(model, "hi", { stream: true }))

const begun = [messageStart(), blockStart(0, { type: "text", text: "" }), textDelta(0, "hel")]
const rest = [textDelta(0, "lo"), blockStop(0), messageDelta(), messageStop]

for (const { model, head, frame } of claudeClouds) {
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
      const got = await ask(model, impatient)
      brokenInBand(got, "api_error", /silent/)
      assert.isAtLeast(got.text.match(/^: keep-alive\n/gm)?.length ?? 0, 3)
      assert.isAtLeast(Date.now() - started, 690)
    })

    it("headers, then silence: heartbeats and the idle limit", async () => {
      upstream.use((socket) => socket.write(head))
      const got = await ask(model, impatient)
      brokenInBand(got, "api_error", /silent/)
      assert.match(got.text, /^: keep-alive\n[^\n]/)
    })

    it("silence in the middle: heartbeats between events, then the idle limit, and the call is given up", async () => {
      upstream.use(send)
      const got = await ask(model, impatient)
      brokenInBand(got, "api_error", /silent/)
      assert.isAtLeast(got.text.match(/^: keep-alive\n/gm)?.length ?? 0, 2)
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
      brokenInBand(await ask(model, limited), "api_error", /longer/)
      assert.isAtLeast(Date.now() - started, 850)
    })

    it("a stream of events that never ends is ended at the ceiling", async () => {
      upstream.use((socket) => {
        send(socket)
        const timer = setInterval(() => socket.write(chunk(frame(textDelta(0, "on ")))), 20)
        socket.on("close", () => clearInterval(timer))
      })
      const started = Date.now()
      brokenInBand(await ask(model, limited), "api_error", /longer/)
      assert.isAtLeast(Date.now() - started, 850)
    })

    it("a slow stream that is alive is not ended by the idle limit", async () => {
      upstream.use(streaming([...pieces, ...rest.map(frame)], { head, pause: 300 }))
      const got = await ask(model, watchful)
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
      const text = await response.text()
      assert.match(text, /message_stop/)
      assert.notMatch(text, /event: error/)
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
