/** Chat streams that are framed badly, that fail, and that callers leave (docs/api.md#when-a-cloud-fails). */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { chat } from "../../support/chat.ts"
import { type Kind, kinds, type Said, saying } from "../../support/chatKinds.ts"
import { calling, rounded, sharedChatStreams, tools } from "../../support/chatStreams.ts"
import {
  answering,
  chunk,
  fakeUpstream,
  type Handler,
  lastChunk,
  reply,
  streaming
} from "../../support/fakeUpstream.ts"
import { cloudsAt, startGateway } from "../../support/gateway.ts"
import { open, raw, rawPost } from "../../support/http.ts"
import { sharedGatewayAt } from "../../support/shared.ts"

const { askAt, hear, path, upstream } = sharedChatStreams()
/** It does not answer before the cloud does, however long that takes. */
const patient = sharedGatewayAt(upstream, { GATEWAY_HEARTBEAT: "1 minute" })
const framed = (kind: Kind, said: Said) => kind.events(said).map(kind.frame)

const failed = (got: Awaited<ReturnType<typeof hear>>, type = "api_error", message = /./) => {
  assert.strictEqual(got.error?.type, type, got.text)
  assert.deepStrictEqual(Object.keys(got.error), ["type", "message"])
  assert.match(got.error.message, message)
  assert.notMatch(got.text, /\[DONE\]/)
  assert.notMatch(got.text, /"finish_reason":"/)
  assert.notMatch(got.error.message, /upstream words|us-gov|secret|127\.0\.0\.1/)
}

describe("framing", () => {
  for (const kind of kinds) {
    it(`${kind.name}: split at every byte`, async () => {
      const bytes = Buffer.concat(
        framed(kind, { texts: ["é", "🌍\r\n"], calls: calling.calls ?? [] }).map((each) => Buffer.from(each))
      )
      const got = await hear(
        kind,
        streaming(
          [...bytes].map((byte) => Uint8Array.of(byte)),
          { head: kind.head }
        ),
        { tools }
      )
      assert.isTrue(got.done)
      assert.strictEqual(got.content, "é🌍\r\n")
      assert.strictEqual(got.calls.length, 2)
    })

    it(`${kind.name}: the text of a terminal event stays text`, async () => {
      const text = '\n\ndata: [DONE]\n\nevent: message_stop\ndata: {"error":{}}\r\n\r\n: x"}]}\u2028'
      const got = await hear(kind, saying(kind, { texts: [text, "!"] }, true))
      assert.isTrue(got.done)
      assert.strictEqual(got.content, `${text}!`)
      assert.strictEqual(got.text.match(/^data: \[DONE\]$/gm)?.length, 1)
    })

    it(`${kind.name}: a terminal event twice, and what comes after it`, async () => {
      const frames = framed(kind, rounded)
      const got = await hear(kind, streaming([...frames, ...frames.slice(-1), kind.inBand(500)], { head: kind.head }))
      if (kind.name === "Gemini") return // its stream's end is its terminal event
      assert.isTrue(got.done)
      assert.strictEqual(got.content, "Hello wörld 🌍")
      assert.strictEqual(got.text.match(/\[DONE\]/g)?.length, 1)
    })

    it(`${kind.name}: an event of megabytes`, async () => {
      const text = "long ".repeat(600_000)
      const got = await hear(kind, saying(kind, { texts: [text] }, true))
      assert.isTrue(got.done)
      assert.strictEqual(got.content, text)
    })
  }

  for (const kind of kinds.filter(({ name }) => name !== "Claude on Bedrock")) {
    it(`${kind.name}: CRLF, CR, comments, a BOM, data: without a space, several data lines`, async () => {
      const text = framed(kind, rounded).join("").replaceAll("\r\n", "\n")
      const lines = JSON.stringify(kind.events(rounded)[0], null, 1)
        .split("\n")
        .map((line) => `data: ${line}\n`)
        .join("")
      for (const variant of [
        text.replaceAll("\n", "\r\n"),
        text.replaceAll("\n", "\r"),
        `\ufeff${text}`,
        text.replaceAll("data: ", "data:"),
        text.replaceAll("data: ", ": a comment\nid: 7\nretry: 10\ndata: "),
        text.replace(/^(event: .*\n)?data: .*\n/, (_, event) => `${event ?? ""}${lines}`)
      ]) {
        const got = await hear(kind, streaming([variant]))
        assert.isTrue(got.done, variant.slice(0, 200))
        assert.strictEqual(got.content, "Hello wörld 🌍")
      }
    })
  }
})

describe("upstreams that fail in the middle", () => {
  for (const kind of kinds) {
    const frames = () => framed(kind, rounded)
    /** Enough of them that a chunk with content has been sent. */
    const begun = (): ReadonlyArray<string | Uint8Array> =>
      frames().slice(0, kind.name.startsWith("Claude") ? 3 : kind.name === "Gemini" ? 1 : 3)

    it(`${kind.name}: an end without the terminal event is an error`, async () => {
      failed(await hear(kind, streaming(begun(), { head: kind.head })))
      // Also when all has been said but the terminal event (docs/decisions.md#streams-that-are-cut).
      const got = await hear(kind, streaming(frames().slice(0, -1), { head: kind.head }))
      failed(got)
      assert.strictEqual(got.content, "Hello wörld 🌍", "what came is passed on")
    })

    it(`${kind.name}: FIN, reset`, async () => {
      const broken =
        (end: "end" | "resetAndDestroy"): Handler =>
        async (socket) => {
          socket.write(kind.head)
          for (const each of begun()) socket.write(chunk(each))
          await sleep(30)
          socket[end]()
        }
      failed(await hear(kind, broken("end")))
      failed(await hear(kind, broken("resetAndDestroy")))
    })

    it(`${kind.name}: its own error in the stream`, async () => {
      failed(
        await hear(kind, streaming([...begun(), kind.inBand(429), ...frames().slice(-1)], { head: kind.head })),
        "rate_limit_error"
      )
      failed(await hear(kind, streaming([...begun(), kind.inBand(500)], { head: kind.head })))
    })

    it(`${kind.name}: an event that is no JSON`, async () => {
      failed(
        await hear(kind, streaming([...begun(), kind.frame("{not json"), ...frames().slice(-2)], { head: kind.head }))
      )
    })

    it(`${kind.name}: invalid UTF-8`, async () => {
      const [bad] = framed(kind, { texts: ["XY"] })
        .slice(kind.name === "Gemini" ? 0 : 2)
        .map((each) => Buffer.from(each))
      const at = bad?.indexOf("XY") ?? -1
      if (bad === undefined || at < 0) return // Bedrock's frames carry base64 and checksums; see wire/bedrock
      bad[at] = 0xff
      failed(await hear(kind, streaming([...begun(), bad, ...frames().slice(-1)], { head: kind.head })))
    })

    it(`${kind.name}: silence: heartbeats, then an error`, async () => {
      const got = await hear(kind, async (socket) => {
        socket.write(kind.head)
        for (const each of begun()) socket.write(chunk(each))
      })
      failed(got, "api_error", /silent/)
      assert.isAtLeast(got.text.match(/^: /gm)?.length ?? 0, 2)
    })

    it(`${kind.name}: flags of a stream that breaks are not lost`, async () => {
      const cut = framed(kind, calling).slice(0, kind.name === "Gemini" ? -1 : -3)
      const got = await hear(kind, streaming(cut, { head: kind.head }), { tools })
      failed(got)
      assert.deepStrictEqual(got.governance?.flags[0].destinations, ["https://evil.example/x"])
    })

    it(`${kind.name}: 429 before the first event keeps its status`, async () => {
      upstream.use(
        answering(reply("429 Too Many Requests", "{}", { "content-type": "application/json", "retry-after": "7" }))
      )
      const refused = await askAt(patient, kind.model)
      assert.deepStrictEqual(
        [refused.status, refused.json.error.type, refused.headers.get("retry-after")],
        [429, "rate_limit_error", "7"]
      )
      upstream.use(streaming([kind.inBand(429)], { head: kind.head }))
      const first = await askAt(patient, kind.model)
      assert.deepStrictEqual([first.status, first.json?.error.type], [429, "rate_limit_error"], first.text)
      upstream.use(streaming([kind.inBand(500)], { head: kind.head }))
      assert.strictEqual((await askAt(patient, kind.model)).status, 502)
      upstream.use(streaming([kind.frame("{not json")], { head: kind.head }))
      assert.strictEqual((await askAt(patient, kind.model)).status, 502)
      upstream.use(streaming([], { head: kind.head }))
      assert.strictEqual((await askAt(patient, kind.model)).status, 502)
    })
  }
})

describe("callers that leave", () => {
  for (const kind of kinds) {
    for (const stream of [true, false]) {
      it(`${kind.name}${stream ? ", streamed" : ""}: before the first byte`, async () => {
        const own = await fakeUpstream(() => {})
        const other = await startGateway({ settings: cloudsAt(own.url) })
        const abort = new AbortController()
        const reply = open(other.url + path, chat(kind.model, "hi", { stream }), {}, { signal: abort.signal })
        reply.catch(() => {})
        while (own.received.length === 0) await sleep(5)
        abort.abort()
        await own.abandoned(1000)
        await other.stop()
        await own.stop()
      })
    }

    it(`${kind.name}: in the middle, and half-closed`, async () => {
      for (const leave of ["destroy", "end"] as const) {
        const own = await fakeUpstream(async (socket) => {
          socket.write(kind.head)
          for (const each of framed(kind, rounded).slice(0, 3)) socket.write(chunk(each))
          await sleep(10_000, undefined, { ref: false })
          socket.write(lastChunk)
        })
        const other = await startGateway({ settings: { ...cloudsAt(own.url), GATEWAY_HEARTBEAT: "50 millis" } })
        const caller = raw(other.port)
        caller.write(rawPost(path, JSON.stringify(chat(kind.model, "hi", { stream: true }))))
        await caller.until(/Hello/)
        caller.socket[leave]()
        await own.abandoned(1000)
        caller.socket.destroy()
        await other.stop()
        await own.stop()
      }
    })
  }
})
