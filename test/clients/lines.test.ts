/** Server-sent events, as the promise client reads them. */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { eventsOf } from "../../src/client/lines.ts"
import type { Event } from "../../src/client/readers.ts"

const read = async (chunks: ReadonlyArray<Uint8Array>): Promise<ReadonlyArray<Event>> => {
  const events: Array<Event> = []
  for await (const event of eventsOf(ReadableStream.from(chunks))) events.push(event)
  return events
}

const cutAt = (bytes: Uint8Array, size: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size))

const pieces = [
  "data",
  "event",
  "message",
  ":",
  ": ",
  "\r",
  "\n",
  "\r\n",
  "\n\n",
  "a",
  "\u00e9",
  "\ud83d\ude00",
  "data: x\n\n"
]
const Text = Schema.Array(Schema.Literals(pieces))

it.prop("where the bytes are cut changes nothing", [Text], async ([text]) => {
  const bytes = Buffer.from(text.join(""))
  const whole = await read([bytes])
  for (const size of [1, 2, 3, 7]) assert.deepStrictEqual(await read(cutAt(bytes, size)), whole)
})

it("every break ends a line, also where it is cut", async () => {
  const bytes = Buffer.from("event: a\r\ndata: 1\r\ndata: 2\n\rdata: 3\r\r: comment\n\ndata: cut\n")
  for (const size of [1, 2, 3, 100]) {
    assert.deepStrictEqual(await read(cutAt(bytes, size)), [
      { event: "a", data: "1\n2" },
      { event: undefined, data: "3" }
    ])
  }
})

it("a long event costs no more than its length, however many chunks it comes in", async () => {
  const bytes = Buffer.from(`data: ${"x".repeat(9_000_000)}\n\n`)
  const before = process.threadCpuUsage()
  const [event] = await read(cutAt(bytes, 1024))
  const { system, user } = process.threadCpuUsage(before)
  assert.strictEqual(event?.data.length, 9_000_000)
  assert.isBelow((user + system) / 1000, 2000)
})

it("an event of more than 10 MiB is refused before it is whole", async () => {
  const bytes = Buffer.from(`data: ${"x".repeat(11 * 1024 * 1024)}`)
  const failure = await read(cutAt(bytes, 65_536)).catch((error: unknown) => error)
  assert.instanceOf(failure, RangeError)
})
