import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { message } from "../support/claude.ts"
import { eventsIn, get, open } from "../support/http.ts"
import { childrenOf, serve, start, until } from "./child.ts"
import { keysFileWith } from "./keysFile.ts"

describe.concurrent("GATEWAY_WORKERS", () => {
  it("two processes share the port, the sandbox, limits, one announcement and one usage log; a dead one is replaced; all drain", async () => {
    const directory = mkdtempSync(join(tmpdir(), "gateway-workers-"))
    const { file, secrets } = keysFileWith(directory, { limited: { requestsPerMinute: 5 } })
    const gateway = await serve({
      GATEWAY_WORKERS: "2",
      GATEWAY_KEYS_FILE: file,
      GATEWAY_DRAIN_TIMEOUT: "1 second",
      GATEWAY_SANDBOX_PACE: "5 millis"
    })
    const ask = (text: string, more: Readonly<Record<string, string>> = {}) =>
      open(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il5", text, { stream: true }), {
        connection: "close",
        ...more
      })
    const limited = { "x-api-key": secrets.limited ?? "" }
    try {
      assert.lengthOf(gateway.stdout().match(/listening on/g) ?? [], 1)
      assert.include(gateway.stdout(), "clouds: sandbox; 114 model IDs")
      const [one, two] = childrenOf(gateway.pid)
      if (one === undefined || two === undefined) return assert.fail("there are not two workers")

      const replies = await Promise.all(Array.from({ length: 24 }, () => ask("[sandbox: delay=50ms]", limited)))
      for (const reply of replies) await reply.text()
      const count = (status: number) => replies.filter((got) => got.status === status).length
      assert.deepStrictEqual([count(200), count(429)], [5, 19])
      // Every worker sees a change of the keys.
      writeFileSync(file, '{"version":1,"keys":[]}')
      await until(async () => {
        const all = await Promise.all(
          Array.from({ length: 6 }, () => get(`${gateway.url}/v1/models`, { ...limited, connection: "close" }))
        )
        return all.every(({ status }) => status === 403)
      }, "the end of the key")

      process.kill(two, "SIGKILL")
      await until(() => childrenOf(gateway.pid).some((pid) => pid !== one && pid !== two), "a new worker")
      assert.strictEqual((await get(`${gateway.url}/health`)).status, 200)
      assert.include(gateway.stderr(), "Another one takes its place")

      const served = await Promise.all(
        Array.from({ length: 20 }, async () => eventsIn(await (await ask("[sandbox: events=5]")).text()))
      )
      for (const events of served) assert.strictEqual(events.at(-1)?.event, "message_stop")
      const running = await Promise.all([1, 2, 3, 4].map(() => ask("[sandbox: stall after=3]")))
      gateway.kill("SIGTERM")
      for (const response of running) assert.strictEqual(eventsIn(await response.text()).at(-1)?.event, "error")
      assert.strictEqual((await gateway.ended).code, 0)
      const messages = gateway.records().filter(({ surface }) => surface === "messages")
      assert.deepStrictEqual(
        ["ok", "rate_limited", "drained"].map(
          (outcome) => messages.filter((record) => record.outcome === outcome).length
        ),
        [25, 19, 4]
      )
    } finally {
      await gateway.stop()
      rmSync(directory, { recursive: true, force: true })
    }
  })

  it("come back on the port that was announced, also where all have ended and any port would do", async () => {
    const gateway = await serve({ GATEWAY_WORKERS: "2" })
    try {
      for (const pid of childrenOf(gateway.pid)) process.kill(pid, "SIGKILL")
      // A connection on its way to a worker that is killed is never answered.
      const served = () =>
        fetch(`${gateway.url}/health`, { headers: { connection: "close" }, signal: AbortSignal.timeout(1000) }).then(
          ({ ok }) => ok,
          () => false
        )
      await until(async () => !(await served()), "the end of the workers")
      await until(served, "new workers")
    } finally {
      await gateway.stop()
    }
  })

  it("a first worker that is killed while it starts is named, and ends the start", async () => {
    const gateway = start(["serve"], { GATEWAY_WORKERS: "2" })
    try {
      await until(() => childrenOf(gateway.pid).length > 0, "the first worker")
      process.kill(childrenOf(gateway.pid)[0] ?? 0, "SIGKILL")
      const { code, stderr } = await gateway.ended
      assert.strictEqual(code, 1)
      assert.strictEqual(stderr, "gateway: the first worker ended before it listened: SIGKILL\n")
    } finally {
      gateway.kill("SIGKILL")
    }
  })

  it("records of several processes do not mix in one pipe, though its reader is slow", async () => {
    const recorder = new URL("../limits/recorder.ts", import.meta.url).pathname
    const installed = new URL("../../src/installed.js", import.meta.url).href
    const one = `"${process.execPath}" --import "${installed}" "${recorder}" 3000`
    const both = `${one} & ${one} & wait`
    const child = spawn("sh", ["-c", both], { stdio: ["ignore", "pipe", "inherit"] })
    const closed = new Promise((resolve) => child.once("close", resolve))
    await sleep(1000)
    let text = ""
    child.stdout.setEncoding("utf8").on("data", (piece) => {
      text += piece
    })
    await closed
    const lines = text.split("\n").filter((line) => line !== "")
    assert.lengthOf(lines, 6000)
    for (const line of lines) assert.match(JSON.parse(line).request_id, /^request-\d+$/)
  })
})
