import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { emptyMessage } from "../support/claude.ts"
import { fakeUpstream, reply } from "../support/fakeUpstream.ts"
import { cloudsAt } from "../support/gateway.ts"
import { post } from "../support/http.ts"
import { serve, until } from "./child.ts"
import { keysFileWith } from "./keysFile.ts"

it("large requests that would fill the memory get 503, and leave nothing behind", async () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-memory-"))
  const { file, secrets } = keysFileWith(directory, { free: {} })
  const answer = reply("200 OK", emptyMessage)
  // Slow enough that the requests are in hand together.
  const upstream = await fakeUpstream(async (socket) => {
    await sleep(1000)
    socket.write(answer)
  })
  const gateway = await serve({
    ...cloudsAt(upstream.url),
    GATEWAY_KEYS_FILE: file,
    NODE_OPTIONS: "--max-old-space-size=256"
  })
  try {
    const content = "word ".repeat(1_600_000)
    const body = JSON.stringify({
      model: "claude-sonnet-4-5:il2",
      max_tokens: 5,
      messages: [{ role: "user", content }]
    })
    const send = () => post(`${gateway.url}/v1/messages`, body, { "x-api-key": secrets.free })
    const replies = await Promise.all(Array.from({ length: 16 }, send))
    const served = replies.filter(({ status }) => status === 200)
    const shed = replies.filter(({ status }) => status === 503)
    assert.strictEqual(served.length + shed.length, replies.length)
    assert.isAbove(served.length, 1)
    assert.isAbove(shed.length, 1)
    assert.strictEqual(shed[0]?.headers.get("retry-after"), "1")
    assert.strictEqual(shed[0]?.json.error.type, "api_error")
    assert.strictEqual((await send()).status, 200)
    await until(() => gateway.records().some(({ outcome }) => outcome === "shed"), "the record of one that was shed")
  } finally {
    await gateway.stop()
    await upstream.stop()
    rmSync(directory, { recursive: true, force: true })
  }
})
