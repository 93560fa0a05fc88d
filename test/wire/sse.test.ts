/** The one writer of server-sent events, read back by the one reader. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { Event } from "../../src/wire/Event.ts"
import { isEventName, keepAlive, makeEventReader, printEvent, printEvents } from "../../src/wire/sse.ts"

const read = (text: string): ReadonlyArray<Event> => {
  const events: Array<Event> = []
  const reader = makeEventReader((event) => events.push(event), 1024 * 1024)
  for (const character of text) assert.isTrue(reader.feed(character))
  return events
}

describe("the reader", () => {
  const Part = Schema.Union([
    Schema.Literals([
      "data: a\n\n",
      "event: b\ndata: c\n\n",
      "event: d\n",
      "data: e",
      "\n",
      "\r\n",
      "\r",
      ": f\n",
      "\uFEFF",
      ""
    ]),
    Schema.String
  ])
  it.prop("reads the same wherever the text is cut", [Schema.Array(Part)], ([parts]) => {
    const events: Array<Event> = []
    const reader = makeEventReader((event) => events.push(event), 1024 * 1024)
    for (const part of parts) assert.isTrue(reader.feed(part))
    assert.deepStrictEqual(events, read(parts.join("")))
  })

  it("keeps a name whose line is not complete, after an event that is", () => {
    const events: Array<Event> = []
    const reader = makeEventReader((event) => events.push(event), 1024)
    for (const part of ["data: a\n\nevent: b", "\ndata: c\n", "\n"]) reader.feed(part)
    assert.deepStrictEqual(events, [
      { event: undefined, data: "a" },
      { event: "b", data: "c" }
    ])
  })

  it("takes a byte order mark for one only at the beginning", () => {
    assert.deepStrictEqual(read("\uFEFFdata: a\n\n"), [{ event: undefined, data: "a" }])
    const events: Array<Event> = []
    const reader = makeEventReader((event) => events.push(event), 1024)
    for (const part of ["", "data: a\n\n", "\uFEFFdata: b\n\n"]) reader.feed(part)
    assert.deepStrictEqual(events, [{ event: undefined, data: "a" }])
  })
})

describe("an event", () => {
  it("is printed with its name, or without one", () => {
    assert.strictEqual(printEvent({ event: "ping", data: "{}" }), "event: ping\ndata: {}\n\n")
    assert.strictEqual(printEvent({ data: "[DONE]" }), "data: [DONE]\n\n")
  })

  it("keeps data of several lines", () => {
    for (const data of ["{\n}", "{\r\n}", "{\r}"]) {
      assert.deepStrictEqual(read(printEvent({ event: "a", data })), [{ event: "a", data: "{\n}" }])
    }
  })

  it.each(["a\nb", "a\rb", "a\r\nb", "a\0b", "\n"])("cannot be named %j", (event) => {
    assert.isFalse(isEventName(event))
    assert.throws(() => printEvent({ event, data: "{}" }))
  })

  it("a comment says nothing", () => {
    assert.deepStrictEqual(read(keepAlive + printEvent({ data: "1" }) + keepAlive), [{ event: undefined, data: "1" }])
  })

  const Name = Schema.String.check(Schema.isPattern(/^[a-z][a-z_.]{0,20}$/))
  const Data = Schema.String.check(Schema.isNonEmpty())
  it.prop("is read as it was printed", [Schema.Array(Schema.Struct({ event: Name, data: Data }))], ([events]) => {
    const lines = (data: string) => data.replace(/\r\n|\r/g, "\n")
    assert.deepStrictEqual(
      read(printEvents(events)),
      events.map(({ event, data }) => ({ event: event === "message" ? undefined : event, data: lines(data) }))
    )
  })
})
