/** What a stream that fails after its head looks like to the caller. */
import { assert } from "@effect/vitest"
import { eventsIn, type Got } from "./http.ts"

/** A 200 that never looks like a success, and ends with exactly one error event. */
export const brokenInBand = (got: Got, type = "api_error", text = /./) => {
  assert.strictEqual(got.status, 200, got.text)
  const events = eventsIn(got.text)
  for (const event of events) assert.strictEqual(event.event, event.json?.type, JSON.stringify(event))
  assert.notInclude(
    events.map(({ event }) => event),
    "message_stop"
  )
  assert.strictEqual(events.filter(({ event }) => event === "error").length, 1)
  const last = events.at(-1)
  assert.strictEqual(last?.event, "error")
  assert.deepStrictEqual(Object.keys(last?.json), ["type", "error"])
  assert.strictEqual(last?.json.error.type, type)
  assert.match(last?.json.error.message, text)
  assert.notMatch(got.text, /secret|127\.0\.0\.1|us-gov\.anthropic/)
  assert.isTrue(got.text.endsWith("\n\n"))
}
