/** What clouds may send in streams that the sandbox does not, as guards see it, over real sockets. */
import { assert, describe, it } from "@effect/vitest"
import * as claude from "../support/claude.ts"
import { guardsFile, usual } from "../support/detector.ts"
import { fakeUpstream, streaming } from "../support/fakeUpstream.ts"
import { cloudsAt, startGateway } from "../support/gateway.ts"
import { post } from "../support/http.ts"
import { ask, ending, frames, opening, textEvents, textItem } from "../support/responses.ts"
import { sharedDetector } from "../support/shared.ts"

const detector = sharedDetector()

/** What a caller gets of this stream of a cloud, with a guard that redacts. */
const redacted = async (path: string, body: object, pieces: ReadonlyArray<string>): Promise<string> => {
  detector.use(usual)
  const file = guardsFile([{ name: "pii", url: detector.url, when: "after", action: "redact" }])
  const upstream = await fakeUpstream(streaming(pieces, { pause: 10 }))
  const gateway = await startGateway({ settings: { ...cloudsAt(upstream.url), GATEWAY_GUARDS_FILE: file.path } })
  try {
    return (await post(gateway.url + path, { ...body, stream: true })).text
  } finally {
    await gateway.stop()
    await upstream.stop()
    file.remove()
  }
}

const number = "123-45-6789"
const response = (events: Parameters<typeof frames>[0]) => redacted("/v1/responses", ask(), frames(events))
const place = { item_id: "i", output_index: 0 }

describe("a text is seen", () => {
  it.each([
    { type: "response.code_interpreter_call_code.done", ...place, code: `n = "${number}"` },
    { type: "response.something_new", ...place, note: [{ said: number }] }
  ])("in any field of an event of responses: $type", async (event) => {
    const text = await response([opening, event, ending([])])
    assert.include(text, "[ssn]")
    assert.notInclude(text, number)
  })

  it("in any field of an event of messages", async () => {
    const [start, ...rest] = claude.saying("Hello.")
    const event = { type: "something_new", note: [{ said: number }] }
    const events = [start ?? claude.messageStop, event, ...rest].map(claude.sseFrame)
    const text = await redacted("/v1/messages", claude.message("claude-sonnet-4-5:fedramp-high"), events)
    assert.include(text, "[ssn]")
    assert.notInclude(text, number)
  })

  it("whole where a source is named in the middle of it", async () => {
    const events = textEvents(0, ["It is 123-45-", "6789 here"])
    const at = events.findLastIndex(({ type }) => type.endsWith(".delta"))
    const annotation = { type: "url_citation", title: "A source", url: "https://x.example" }
    const added = {
      type: "response.output_text.annotation.added",
      ...place,
      content_index: 0,
      annotation_index: 0,
      annotation
    }
    const text = await response([
      ...[opening, ...events.slice(0, at), added, ...events.slice(at)],
      ending([textItem("It is 123-45-6789 here")])
    ])
    assert.include(text, "It is [ssn] here")
    assert.notInclude(text, "123-45-")
    assert.notInclude(text, "6789")
  })
})
