/** The one writer of server-sent events, read back by the one reader. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Sse from "effect/encoding/Sse"
import { type Event, eventReader, isEventName, keepAlive, printEvents } from "../../src/wire/sse.ts"

const readParts = (parts: Iterable<string>): ReadonlyArray<Event> => {
  const reader = eventReader(1024 * 1024)
  return [...parts].flatMap((part) => {
    const { complete, events } = reader(part)
    assert.isTrue(complete)
    return events
  })
}
const read = (text: string) => readParts([...text])

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
    assert.deepStrictEqual(readParts(parts), read(parts.join("")))
  })

  it.prop("reads what Effect's reader reads, and refuses what it refuses", [Schema.Array(Part)], ([parts]) => {
    for (const maxSize of [3, 1024]) {
      const own = eventReader(maxSize)
      const events: Array<Event> = []
      const effect = Sse.makeParser(
        (item) => {
          if (item._tag === "Event")
            events.push({ event: item.event === "message" ? undefined : item.event, data: item.data })
        },
        // It counts the line break at the end of the data, which is none of it.
        { maxEventSize: maxSize + 1 }
      )
      for (const part of parts) {
        const read = own(part)
        const refused = effect.feed(part) !== undefined
        assert.deepStrictEqual(read.events, events.splice(0))
        if (refused) assert.isFalse(read.complete)
        if (!read.complete) break
      }
    }
  })

  it("keeps a name whose line is not complete, after an event that is", () => {
    assert.deepStrictEqual(readParts(["data: a\n\nevent: b", "\ndata: c\n", "\n"]), [
      { event: undefined, data: "a" },
      { event: "b", data: "c" }
    ])
  })

  it("takes a byte order mark for one only at the beginning", () => {
    assert.deepStrictEqual(read("\uFEFFdata: a\n\n"), [{ event: undefined, data: "a" }])
    const parts = ["", "data: a\n\n", "\uFEFFdata: b\n\n"]
    assert.deepStrictEqual(readParts(parts), [{ event: undefined, data: "a" }])
  })
})

describe("an event", () => {
  it("is printed with its name, or without one", () => {
    assert.strictEqual(printEvents([{ event: "ping", data: "{}" }]), "event: ping\ndata: {}\n\n")
    assert.strictEqual(printEvents([{ data: "[DONE]" }]), "data: [DONE]\n\n")
  })

  it("keeps data of several lines", () => {
    for (const data of ["{\n}", "{\r\n}", "{\r}"]) {
      assert.deepStrictEqual(read(printEvents([{ event: "a", data }])), [{ event: "a", data: "{\n}" }])
    }
  })

  it.each(["a\nb", "a\rb", "a\r\nb", "a\0b", "\n"])("cannot be named %j", (event) => {
    assert.isFalse(isEventName(event))
    assert.throws(() => printEvents([{ event, data: "{}" }]))
  })

  it("a comment says nothing", () => {
    assert.deepStrictEqual(read(keepAlive + printEvents([{ data: "1" }]) + keepAlive), [
      { event: undefined, data: "1" }
    ])
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
