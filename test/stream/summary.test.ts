/** What the protocols say of a reply that has ended, which its record and its metrics are made of. */
import { assert, describe, it } from "@effect/vitest"
import { eventOf, protocols } from "../support/protocols.ts"

const summaryOf = (surface: keyof typeof protocols, ...events: ReadonlyArray<Record<string, unknown>>) => {
  const protocol = protocols[surface]()
  protocol.step(events.map(eventOf))
  return protocol.summary()
}

describe("messages", () => {
  const usage = { output_tokens: 1 }
  it("the reason stands, also where a later event has none", () => {
    const { filtered, finishReason } = summaryOf(
      "messages",
      { type: "message_delta", delta: { stop_reason: "refusal" }, usage },
      { type: "message_delta", delta: {}, usage },
      { type: "message_stop" }
    )
    assert.deepStrictEqual({ filtered, finishReason }, { filtered: true, finishReason: "refusal" })
  })
})

describe("responses", () => {
  it.each(["completed", "incomplete", "failed"])("the name of the last event says the status: %s", (status) => {
    const { failure, finishReason } = summaryOf("responses", { type: `response.${status}`, response: { output: [] } })
    assert.strictEqual(finishReason, status)
    assert.strictEqual(failure?.reason, status === "failed" ? "upstream" : undefined)
  })
})
