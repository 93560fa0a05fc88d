/** The reader of the log's pipe, which the gateway does not wait for. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"

/** Runs a process that writes while nothing reads it; `late`: milliseconds until it is read after the last line. */
const linesOf = async (module: string, args: ReadonlyArray<number>, late: number) => {
  const path = new URL(module, import.meta.url).pathname
  const child = fork(path, args.map(String), { stdio: ["ignore", "ignore", "pipe", "ipc"] })
  const [waiting] = await once(child, "message")
  const { stderr } = child
  if (stderr === null) return assert.fail("there is no pipe")
  // Where the lines are read before the last one comes.
  const reading = late === 0 ? text(stderr) : undefined
  if (late === 0) await sleep(500)
  child.send("go on")
  if (late > 0) await sleep(late)
  const lines = (await (reading ?? text(stderr))).trimEnd().split("\n")
  return { waiting: Number(waiting), lines }
}

/** Logs so many lines of this length. */
const log = async (count: number, length: number, late: number) => {
  const { lines, waiting } = await linesOf("logging.ts", [count, length], late)
  const messages = lines.filter((line) => line.startsWith("{")).map((line) => String(JSON.parse(line).message))
  return { waiting, messages, end: lines.at(-1) }
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

  it("has no more usage records wait for it, and is told how many are lost", async () => {
    const { lines, waiting } = await linesOf("spilling.ts", [30_000], 0)
    assert.isBelow(waiting, 8.1 * 1024 * 1024)
    const all = lines.map((line) => JSON.parse(line))
    const [lost = ""] = all.flatMap(
      ({ message = "" }) => /^(\d+) usage records before this line are lost/.exec(message) ?? []
    )
    const kept = all.filter((line) => "request_id" in line)
    assert.strictEqual(kept.length + Number.parseInt(lost, 10), 30_001)
    assert.strictEqual(kept.at(-1).seq, 30_001)
  })

  it("gets all lines where it reads within two seconds of the end", async () => {
    const { end, messages } = await log(1_500, 400, 500)
    assert.lengthOf(messages, 1_501)
    assert.strictEqual(end, "gateway: the end")
  })
})
