/** A whole reply that is large holds up no other request, whatever its calls hold (docs/decisions.md#work-in-slices). */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { Provider } from "../../../src/cloud/Provider.ts"
import { makeWholeReply } from "../../../src/http/wholeReply.ts"
import { chat as chatSurface } from "../../../src/surfaces/chat.ts"
import { messages } from "../../../src/surfaces/messages.ts"
import { responses } from "../../../src/surfaces/responses.ts"
import type { Prepared, Ready } from "../../../src/surfaces/Surface.ts"
import { dialectOf } from "../../../src/vendors/dialects.ts"
import { emptyRecord } from "../../support/emptyRecord.ts"
import { noSpan } from "../../support/noSpan.ts"
import { functionCall, responseOf } from "../../support/responses.ts"
import { assertShortTurns } from "../../support/shortTurns.ts"
import { chat, sonnet } from "../../vendors/support.ts"

/** That serving a reply of this call, which is flagged, takes no turn longer than 50 ms. */
const assertSliced = (surface: unknown, prepared: object, input: object) =>
  assertBodySliced(50, 1, surface, prepared, {
    type: "message",
    content: [{ type: "tool_use", id: "a", name: "write", input }]
  })

const assertBodySliced = async (limit: number, flags: number, surface: unknown, prepared: object, body: object) => {
  const { record, reply } = replyOf(surface, prepared, body)
  await assertShortTurns(limit, () => {
    record.flags = 0
    return Effect.runPromise(reply)
  })
  assert.strictEqual(record.flags, flags)
}

const replyOf = (surface: unknown, prepared: object, body: object, span = noSpan) => {
  const bytes = Buffer.from(JSON.stringify(body))
  const provider = {
    send: () => Effect.succeed({ bytes, body, span, noteLimit: () => {} }),
    scrub: () => (text: string) => text
  } as unknown as Provider["Service"]
  const record = emptyRecord()
  const ready = { route: {}, prepared: { bodies: [{}], ...prepared } } as unknown as Ready<Prepared>
  const whole = makeWholeReply({ callConcurrency: 1, scanMode: "spec" })
  return {
    record,
    reply: whole({
      surface: surface as typeof messages,
      deadline: performance.now() + 60_000,
      provider,
      record,
      ...ready
    } as never)
  }
}

it("is scanned in slices", { timeout: 60_000 }, async () => {
  const input = { text: 'the "quick" fox: jumps\n'.repeat(250_000), url: "https://a.example" }
  await assertSliced(messages, { model: "m", emulated: false }, input)
})

it("has its calls printed in slices for chat", { timeout: 60_000 }, async () => {
  const input = {
    url: "https://a.example",
    list: Array.from({ length: 250_000 }, (_, at) => ({ name: "value", at }))
  }
  const asked = chat({})
  const prepared = {
    reader: () => dialectOf(sonnet)?.reader(sonnet, asked),
    heading: { id: "", created: 0, model: "m" }
  }
  await assertSliced(chatSurface, prepared, input)
})

it("has its calls scanned in slices, however many they are", { timeout: 60_000 }, async () => {
  const output = Array.from({ length: 50_000 }, (_, at) => functionCall(at, '{"url":"https://a.example"}'))
  await assertBodySliced(100, 50_000, responses, {}, responseOf(output))
})

it("ends the span of its call also where the caller leaves during the scan", async () => {
  const output = Array.from({ length: 100_000 }, (_, at) => functionCall(at, '{"url":"https://a.example"}'))
  let ended = 0
  const { record, reply } = replyOf(responses, {}, responseOf(output), { ...noSpan, end: () => void ended++ })
  const fiber = Effect.runFork(reply)
  assert.strictEqual(record.flags, 0)
  await Effect.runPromise(Fiber.interrupt(fiber))
  assert.strictEqual(ended, 1)
})
