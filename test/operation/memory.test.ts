import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { emptyMessage } from "../support/claude.ts"
import { answering, fakeUpstream, reply } from "../support/fakeUpstream.ts"
import { cloudsAt } from "../support/gateway.ts"
import { post, raw, rawPost } from "../support/http.ts"
import { serve, until } from "./child.ts"
import { keysFileWith } from "./keysFile.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-memory-"))
const { file, secrets } = keysFileWith(directory, { free: {} })
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const empty = reply("200 OK", emptyMessage)
/** A reply of so many words. */
const said = (words: number) =>
  reply(
    "200 OK",
    JSON.stringify({ ...JSON.parse(emptyMessage), content: [{ type: "text", text: "word ".repeat(words) }] })
  )

/** A gateway with a small heap. */
const smallGateway = async (settings: Readonly<Record<string, string>> = {}) => {
  const upstream = await fakeUpstream(answering(empty))
  const gateway = await serve({
    ...cloudsAt(upstream.url),
    ...settings,
    GATEWAY_KEYS_FILE: file,
    NODE_OPTIONS: "--max-old-space-size=160"
  })
  const send = (words: number) =>
    post(
      `${gateway.url}/v1/messages`,
      {
        model: "claude-sonnet-4-5:il2",
        max_tokens: 5,
        messages: [{ role: "user", content: "word ".repeat(words) }]
      },
      { "x-api-key": secrets.free }
    )
  const stop = async () => {
    await gateway.stop()
    await upstream.stop()
  }
  return { gateway, upstream, send, stop }
}
type Small = Awaited<ReturnType<typeof smallGateway>>

/** A caller that has sent its head. */
const sender = (url: string, length: number) => {
  const caller = raw(Number(new URL(url).port))
  caller.write(
    `POST /v1/messages HTTP/1.1\r\nhost: a\r\nx-api-key: ${secrets.free}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
  )
  return caller
}

/** Some are served and the others get 503; once they are over, all is as before. */
const someAreShed = async ({ gateway, send, upstream }: Small, answer: Buffer, words: number) => {
  let onShed = () => {}
  const oneIsShed = new Promise<void>((resolve) => {
    onShed = resolve
  })
  // None ends before, so that all are in flight together.
  upstream.use(async (socket) => {
    socket.write(answer.subarray(0, -1))
    await oneIsShed
    socket.write(answer.subarray(-1))
  })
  const sendOne = async () => {
    const reply = await send(words)
    if (reply.status === 503) onShed()
    return reply
  }
  const before = gateway.records().length
  const replies = await Promise.all(Array.from({ length: 16 }, sendOne))
  const served = replies.filter(({ status }) => status === 200)
  const shed = replies.filter(({ status }) => status === 503)
  assert.strictEqual(served.length + shed.length, replies.length)
  assert.isAbove(served.length, 0)
  assert.isAbove(shed.length, 0)
  assert.strictEqual(shed[0]?.headers.get("retry-after"), "1")
  assert.strictEqual(shed[0]?.json.error.type, "api_error")
  assert.strictEqual((await send(words)).status, 200)
  upstream.use(answering(empty))
  const isShed = () =>
    gateway
      .records()
      .slice(before)
      .some(({ outcome }) => outcome === "shed")
  await until(isShed, "the record of one that was shed")
}

describe("a gateway with little memory", () => {
  let small: Small
  beforeAll(async () => {
    small = await smallGateway()
  }, 60_000)
  afterAll(() => small.stop())

  it("sheds large requests that would fill it with 503, and they leave nothing behind", async () => {
    await someAreShed(small, empty, 1_200_000)
  })

  it("sheds those whose replies would", async () => {
    await someAreShed(small, said(1_200_000), 1)
  })

  it("keeps nobody out for bodies that are declared, and of which nothing is sent", async () => {
    const waiting = Array.from({ length: 16 }, () => sender(small.gateway.url, 9_000_000))
    try {
      await sleep(500)
      assert.strictEqual((await small.send(1_200_000)).status, 200)
    } finally {
      for (const { socket } of waiting) socket.destroy()
    }
  })

  it("refuses bodies in the middle where they do not fit, small ones not, and has their room back", {
    timeout: 60_000
  }, async () => {
    const half = Buffer.alloc(6_000_000, " ")
    const waiting = Array.from({ length: 16 }, () => sender(small.gateway.url, 9_000_000))
    try {
      for (const caller of waiting) caller.socket.write(half)
      const refused = () => waiting.filter((caller) => /^HTTP\/1.1 503 [\s\S]*retry-after: 1/i.test(caller.text()))
      await until(() => refused().length > 0, "a refusal", 30_000)
      assert.isBelow(refused().length, waiting.length)
      assert.strictEqual((await small.send(1)).status, 200)
      for (const { socket } of waiting) socket.destroy()
      await until(async () => (await small.send(1_200_000)).status === 200, "room for a large body", 30_000)
    } finally {
      for (const { socket } of waiting) socket.destroy()
    }
  })
})

it("a caller that does not take its reply is cut off, so that it does not hold its room", {
  timeout: 60_000
}, async () => {
  const small = await smallGateway({ GATEWAY_REQUEST_CEILING: "4 seconds" })
  small.upstream.use(answering(said(1_900_000)))
  const port = Number(new URL(small.gateway.url).port)
  const caller = raw(port, { paused: true })
  try {
    const body = JSON.stringify({
      model: "claude-sonnet-4-5:il2",
      max_tokens: 5,
      messages: [{ role: "user", content: "hi" }]
    })
    const headers = { "x-api-key": secrets.free ?? "" }
    caller.write(rawPost("/v1/messages", body, headers))
    // Who does not read sees only by writing that the connection is gone.
    await until(
      () => {
        caller.write("\n")
        return caller.socket.destroyed
      },
      "the end of the connection",
      30_000
    )
    assert.strictEqual((await small.send(1)).status, 200)
    // Nor do those that leave in the middle of it, or in the middle of their body.
    for (let n = 0; n < 4; n++) {
      const [reader, writer] = [raw(port, { paused: true }), raw(port)]
      reader.write(rawPost("/v1/messages", body, headers))
      writer.write(rawPost("/v1/messages", body, { ...headers, "content-length": "9000000" }))
      await sleep(500)
      reader.socket.destroy()
      writer.socket.destroy()
    }
    await until(async () => (await small.send(1)).status === 200, "room for the next reply")
  } finally {
    caller.socket.destroy()
    await small.stop()
  }
})
