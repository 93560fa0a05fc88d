/** The reader of the log's pipe, which the gateway does not wait for. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"

const logging = new URL("logging.ts", import.meta.url).pathname

/** Logs so many lines of this length while nothing reads them; `late`: milliseconds until they are read after the last one. */
const log = async (count: number, length: number, late: number) => {
  const child = fork(logging, [String(count), String(length)], { stdio: ["ignore", "ignore", "pipe", "ipc"] })
  const [waiting] = await once(child, "message")
  const { stderr } = child
  if (stderr === null) return assert.fail("there is no pipe")
  // Where the lines are read before the last one comes.
  const reading = late === 0 ? text(stderr) : undefined
  if (late === 0) await sleep(500)
  child.send("go on")
  if (late > 0) await sleep(late)
  const lines = (await (reading ?? text(stderr))).trimEnd().split("\n")
  const messages = lines.filter((line) => line.startsWith("{")).map((line) => String(JSON.parse(line).message))
  return { waiting: Number(waiting), messages, end: lines.at(-1) }
}

describe.concurrent("A reader of the log that is stalled", () => {
  it("has 8 MiB wait for it, and is told how many lines are lost", async () => {
    const { end, messages, waiting } = await log(40_000, 400, 0)
    assert.isBelow(waiting, 8.1 * 1024 * 1024)
    const [lost = ""] = messages.filter((message) => message.includes("are lost"))
    assert.match(lost, /^\d+ log lines before this one are lost: their reader was stalled$/)
    assert.strictEqual(
      messages.filter((message) => message.startsWith("xxx")).length + Number.parseInt(lost, 10),
      40_000
    )
    assert.strictEqual(messages.at(-1), "the last line")
    assert.strictEqual(end, "gateway: the end")
  })

  it("gets all lines where it reads within two seconds of the end", async () => {
    const { end, messages } = await log(1_500, 400, 500)
    assert.lengthOf(messages, 1_501)
    assert.strictEqual(end, "gateway: the end")
  })
})
