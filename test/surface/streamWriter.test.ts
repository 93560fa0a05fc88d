/** A stream writes what comes while its reader waits, and leaves the rest to the reader, in order (docs/architecture.md#the-stream-path). */
import { EventEmitter } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { ReplyWriter } from "../../src/stream/encode.ts"
import type { Frame, Progress, Protocol } from "../../src/stream/Frame.ts"
import type { Reader } from "../../src/wire/Source.ts"
import { relayOf } from "../support/relayed.ts"

/** Says each event's data; the event `last` is the last one, and the name of `bad` cannot be printed. */
const echo: Protocol<Progress> = {
  initial: () => ({ end: undefined }),
  step: (state, events) => {
    const frames = events.map(({ data }): Frame => ({ event: data === "bad" ? "a\nb" : undefined, data }))
    if (events.some(({ data }) => data === "last")) state.end = "complete"
    return [state, frames]
  },
  onHalt: () => [],
  inBand: () => ({ data: "cut" }),
  summary: () => ({ tokens: undefined, finishReason: undefined })
}

class Caller extends EventEmitter {
  writable = true
  writableLength = 0
  writableNeedDrain = false
  takes() {
    this.writableNeedDrain = false
    this.emit("drain")
  }
}

/** A reply whose events are sent one by one; `by` says who wrote each. */
const reply = (connection: Caller | null) => {
  const by: Array<readonly [string, string]> = []
  const textOf = (bytes: unknown) => (bytes instanceof Uint8Array ? Buffer.from(bytes).toString("utf8").trim() : "")
  const response = {
    chunkedEncoding: false,
    socket:
      connection &&
      Object.assign(connection, {
        write: (bytes: unknown) => {
          by.push(["stream", textOf(bytes)])
          return true
        }
      })
  }
  let held = 0
  const writer = new ReplyWriter(response, (bytes) => {
    held += bytes
  })
  const { relay } = relayOf(echo, { writer })
  const waiting: Array<string> = []
  let reader: Reader | undefined
  relay.opened({
    take: () => {
      const data = waiting.shift()
      return data === undefined ? undefined : { events: [{ event: undefined, data }], end: undefined }
    },
    notify: (next) => {
      reader = next
    }
  })
  const fiber = Effect.runFork(
    Stream.runForEachArray(writer.encode(Stream.unwrap(relay.begin)), (chunks) =>
      Effect.sync(() => by.push(["reader", chunks.map(textOf).join()]))
    )
  )
  const send = (data: string) => {
    waiting.push(data)
    const next = reader
    reader = undefined
    next?.wake()
  }
  return { by, fiber, held: () => held, left: () => waiting.length, send }
}

describe("a streamed reply", () => {
  it("is begun and ended by its reader, and written by the stream between", async () => {
    const { by, fiber, send } = reply(new Caller())
    for (const data of ["a", "b", "c", "last"]) send(data)
    await Effect.runPromise(Fiber.join(fiber))
    assert.deepStrictEqual(by, [
      ["reader", "data: a"],
      ["stream", "data: b"],
      ["stream", "data: c"],
      ["reader", "data: last"]
    ])
  })

  it("takes nothing of the cloud while the caller takes nothing", async () => {
    const connection = new Caller()
    const { by, fiber, left, send } = reply(connection)
    send("a")
    send("b")
    connection.writableNeedDrain = true
    send("c")
    send("d")
    assert.deepStrictEqual([by.length, left()], [2, 2])
    connection.takes()
    send("e")
    send("last")
    await Effect.runPromise(Fiber.join(fiber))
    assert.strictEqual(left(), 0)
    assert.deepStrictEqual(
      by.map(([, text]) => text),
      ["a", "b", "c", "d", "e", "last"].map((data) => `data: ${data}`)
    )
    assert.strictEqual(connection.listenerCount("drain"), 0)
  })

  it("leaves nothing behind when it ends while the caller takes nothing", async () => {
    const connection = new Caller()
    const { by, fiber, send } = reply(connection)
    send("a")
    connection.writableNeedDrain = true
    send("b")
    await Effect.runPromise(Fiber.interrupt(fiber))
    assert.strictEqual(connection.listenerCount("drain"), 0)
    connection.takes()
    assert.deepStrictEqual(by, [["reader", "data: a"]])
  })

  it("counts what the caller has not taken, unless it is little", async () => {
    const connection = new Caller()
    const { held, send } = reply(connection)
    const large = "x".repeat(5_000)
    send("a")
    send(large)
    const event = `data: ${large}\n\n`.length
    assert.strictEqual(held(), event)
    connection.writableLength = event
    send("b")
    assert.strictEqual(held(), event + "data: b\n\n".length)
    connection.writableLength = 0
    send("c")
    assert.strictEqual(held(), 0)
  })

  it("is left to its reader when the connection has ended", async () => {
    const connection = new Caller()
    const { by, fiber, send } = reply(connection)
    for (const data of ["a", "b"]) send(data)
    connection.writable = false
    for (const data of ["c", "last"]) send(data)
    await Effect.runPromise(Fiber.join(fiber))
    assert.deepStrictEqual(
      by.map(([who]) => who),
      ["reader", "stream", "reader", "reader"]
    )
  })

  it("is left to its reader while an earlier reply has the connection", async () => {
    const { by, fiber, send } = reply(null)
    for (const data of ["a", "b", "last"]) send(data)
    await Effect.runPromise(Fiber.join(fiber))
    assert.deepStrictEqual(
      by.map(([who]) => who),
      ["reader", "reader", "reader"]
    )
  })

  it("ends with what cannot be printed, and writes nothing for a reader that has gone", async () => {
    const broken = reply(new Caller())
    for (const data of ["a", "b", "bad", "c"]) broken.send(data)
    assert.strictEqual((await Effect.runPromise(Fiber.await(broken.fiber)))._tag, "Failure")
    assert.deepStrictEqual(broken.by.length, 2)
    const gone = reply(new Caller())
    gone.send("a")
    await Effect.runPromise(Fiber.interrupt(gone.fiber))
    gone.send("b")
    assert.deepStrictEqual(gone.by, [["reader", "data: a"]])
  })
})
