/** No value of an event, in any place, is more than a fault of the cloud's: nothing throws (docs/api.md#when-a-cloud-fails). */
import { readdirSync, readFileSync } from "node:fs"
import { expect, it } from "@effect/vitest"
import { makeAccumulator } from "../../src/governance/accumulate.ts"
import { isObject, type Json, objectOf, textOf } from "../../src/wire/json.ts"
import { guardedAlone } from "../support/heldAlone.ts"
import { chatBy, protocols } from "../support/protocols.ts"
import { routeOf } from "../vendors/support.ts"

/** A number that keeps its text, objects that no text can be made of, and what is often not there. */
const odd = ["12345678901234567890", '{"toString":1,"valueOf":1}', '{"__proto__":null,"length":1e9}', "[]", "null"]

/** The text of a value, each time with another of the values in it replaced. */
function* changed(value: Json): Generator<string> {
  yield* odd
  const fields = Array.isArray(value) ? value.entries() : Object.entries(objectOf(value))
  for (const [key] of fields) {
    const inner: Json = Object(value)[key]
    for (const text of changed(inner)) {
      const mark = "\u0000"
      const copy = Array.isArray(value) ? value.with(Number(key), mark) : { ...objectOf(value), [key]: mark }
      yield JSON.stringify(copy).replace(JSON.stringify(mark), () => text)
    }
  }
}

/** A value without what differs from event to event. */
const formOf = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(formOf)
  if (!isObject(value)) return typeof value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, key === "type" ? inner : formOf(inner)]))
}

const folder = new URL("../golden/surface/", import.meta.url)
const surfaces = {
  chat: (model: string) => chatBy(routeOf(model)),
  messages: protocols.messages,
  responses: protocols.responses
}

const eventOf = (data: string, name: Json | undefined) => ({ event: textOf(name), data })

it.each(["chat", "messages", "responses"] as const)("streams of %s", (surface) => {
  let count = 0
  // Events of one form behind events of one form are read alike: the first is enough.
  const tried = new Set<string>()
  for (const file of readdirSync(new URL(`${surface}/`, folder))) {
    const cases: Json = JSON.parse(readFileSync(new URL(`${surface}/${file}`, folder), "utf8"))
    for (const { request, upstream } of Object.values(objectOf(cases)).map(objectOf)) {
      const { events } = objectOf(upstream)
      if (!Array.isArray(events)) continue
      const [model = ""] = String(objectOf(request).model).split(":")
      for (const [at, event] of events.entries()) {
        if (!isObject(event)) continue
        const forms = JSON.stringify([model, formOf(events[at - 1] ?? null), formOf(event)])
        if (tried.has(forms)) continue
        tried.add(forms)
        for (const text of changed(event)) {
          const protocol = surfaces[surface](model)
          const calls = makeAccumulator()
          const { reader } = guardedAlone(surface)
          for (const one of events.slice(0, at + 1)) {
            const data = one === event ? text : typeof one === "string" ? one : JSON.stringify(one)
            for (const frame of protocol.step([eventOf(data, objectOf(one).type)])) {
              for (const piece of frame.calls ?? []) calls.add(piece, frame.data.length)
              const others = reader.read(frame).texts.map(() => "other")
              reader.emit(others.length === 0 ? frame : reader.rewrite(frame, others))
            }
          }
          protocol.onHalt()
          calls.governance()
          protocol.summary()
          count++
        }
      }
    }
  }
  expect(count).toBeGreaterThan(1000)
})
