/** What is kept of the tool calls of a stream is bounded, and holds up no other request when it is scanned (docs/api.md#tool-call-scan). */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { noRoom } from "../../../src/catalog/GatewayError.ts"
import { unreadable } from "../../../src/catalog/UpstreamFault.ts"
import { makeAccumulator } from "../../../src/governance/accumulate.ts"
import type { Protocol } from "../../../src/stream/Frame.ts"
import { chatProtocol } from "../../../src/surfaces/chatReply.ts"
import { messagesProtocol } from "../../../src/surfaces/messagesStream.ts"
import {
  blockStart,
  blockStop,
  jsonDelta,
  message,
  messageDelta,
  messageStart,
  messageStop,
  sseFrame,
  type UpstreamEvent
} from "../../support/claude.ts"
import { answering, chunk, lastChunk, sseHead } from "../../support/fakeUpstream.ts"
import { eventsIn, post } from "../../support/http.ts"
import { sharedUpstream } from "../../support/shared.ts"
import { assertShortTurns } from "../../support/shortTurns.ts"
import { replied } from "../../support/streamed.ts"
import { chat, dialect, sonnet } from "../../vendors/support.ts"

/** What a caller gets of these events, each in an array of its own. */
const relayed = async (
  protocol: Protocol,
  events: Iterable<UpstreamEvent>,
  more: Parameters<typeof replied>[2] = {}
) => {
  const said = Stream.map(Stream.rechunk(Stream.fromIterable(events), 1), (event) => ({
    event: event.type,
    data: JSON.stringify(event)
  }))
  const { text } = await Effect.runPromise(replied(protocol, said, more))
  return eventsIn(text).map(({ json }) => json)
}

const mib = 2 ** 20
const begun = [
  messageStart(),
  blockStart(0, { type: "tool_use", id: "t", name: "write", input: {} }),
  jsonDelta(0, '{"u":"https://a.example","t":"')
]
const ended = [jsonDelta(0, '"}'), blockStop(0), messageDelta("tool_use"), messageStop]
const more = (count: number, text: string) => Array.from({ length: count }, () => jsonDelta(0, text))
const flags = [
  { tool_call_id: "t", tool_name: "write", destinations: ["https://a.example"], reason: "external_destination" }
]

describe("a long call", () => {
  it("is scanned in slices, and flagged", { timeout: 60_000 }, async () => {
    const events = [...begun, ...more(1_000, 'the "quick" fox: jumps\\n'.repeat(500)), ...ended]
    let got: Awaited<ReturnType<typeof relayed>> = []
    await assertShortTurns(75, async () => {
      got = await relayed(messagesProtocol("m"), events)
    })
    assert.deepStrictEqual(got.at(-1)?.x_gateway_governance, { flags })
  })

  it("ends the stream in its own words where the scan fails", async () => {
    const calls = {
      ...makeAccumulator(),
      *scan() {
        yield undefined
        throw new Error("a defect")
      }
    }
    const got = await relayed(messagesProtocol("m"), [...begun, ...ended], { calls })
    assert.strictEqual(got.at(-1)?.type, "error")
  })

  it("for which there is no room ends the stream, with the flags so far", async () => {
    let kept = 0
    const got = await relayed(messagesProtocol("m"), [...begun, ...more(10, "x".repeat(mib)), ...ended], {
      hold: (characters) => {
        kept += characters
        return kept > 5 * mib ? noRoom : undefined
      }
    })
    assert.strictEqual(got.at(-1)?.error?.message, noRoom.message)
    assert.deepStrictEqual(got.at(-2)?.x_gateway_governance, { flags })
    assert.isBelow(kept, 7 * mib)
  })
})

describe("what is kept for a call takes room as well", () => {
  const thinkingOf = (text: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "thinking_delta", thinking: text }
  })
  const redactedOf = (at: number, data: string) => blockStart(at, { type: "redacted_thinking", data })
  it.each([
    [
      "thinking",
      [blockStart(0, { type: "thinking", thinking: "", signature: "" })],
      () => thinkingOf("x".repeat(mib)),
      10
    ],
    ["redacted thinking", [], (at: number) => redactedOf(at, "x".repeat(mib)), 10],
    ["blocks without a text", [], (at: number) => redactedOf(at, ""), 110_000]
  ])("%s", async (_, first, next, times) => {
    let kept = 0
    const protocol = chatProtocol({
      reader: dialect(sonnet).stream(sonnet, chat({})),
      heading: { id: "c", created: 0, model: "m" },
      inputEstimate: 1,
      includeUsage: false
    })
    const events = [messageStart(), ...first, ...Array.from({ length: times }, (_, at) => next(at))]
    const got = await relayed(protocol, events, {
      hold: (characters) => {
        kept += characters
        return kept > 5 * mib ? noRoom : undefined
      }
    })
    assert.include([noRoom.message, unreadable.message], got.at(-1)?.error?.message)
    assert.isAtMost(kept, 7 * mib)
  })
})

it("calls that say nothing take room, too", async () => {
  let kept = 0
  const calls = Array.from({ length: 20_000 }, (_, at) =>
    blockStart(at, { type: "tool_use", id: "", name: "", input: {} })
  )
  const got = await relayed(messagesProtocol("m"), [messageStart(), ...calls], {
    hold: (characters) => {
      kept += characters
      return kept > 5 * mib ? noRoom : undefined
    }
  })
  assert.strictEqual(got.at(-1)?.error?.message, noRoom.message)
})

describe("the calls of a stream", () => {
  const { gateway, upstream } = sharedUpstream({})
  it("are limited as a whole reply is", async () => {
    const events = [...begun, ...more(40, "x".repeat(mib)), ...ended].map((event) => chunk(sseFrame(event)))
    upstream.use(answering(Buffer.concat([Buffer.from(sseHead), ...events, Buffer.from(lastChunk)])))
    const got = await post(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il2", "hi", { stream: true }))
    const said = eventsIn(got.text)
    assert.match(said.at(-1)?.json.error.message, /too large/)
    assert.deepStrictEqual(said.at(-2)?.json.x_gateway_governance, { flags })
  })
})
