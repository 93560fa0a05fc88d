/** The responses surface in front of an upstream that a test plays. */
import { assert, beforeEach } from "@effect/vitest"
import { streaming } from "./fakeUpstream.ts"
import { eventsIn, post, type SseEvent } from "./http.ts"
import { ask } from "./responses.ts"
import { sharedUpstream } from "./shared.ts"

/** An upstream that is silent until a test says otherwise, and a gateway with these settings, for all tests of a file. */
export const sharedResponses = (settings: Readonly<Record<string, string>> = {}) => {
  const { gateway, upstream } = sharedUpstream(settings)
  beforeEach(() => upstream.use(() => {}))

  const url = () => `${gateway.url}/v1/responses`
  const create = (extra: Readonly<Record<string, unknown>> = {}) => post(url(), ask("hi", extra))
  /** The caller's events of a stream that the upstream sends in these network writes. */
  const streamed = async (pieces: ReadonlyArray<string | Uint8Array>): Promise<ReadonlyArray<SseEvent>> => {
    upstream.use(streaming(pieces))
    const got = await create({ stream: true })
    assert.strictEqual(got.status, 200, got.text)
    assert.match(got.headers.get("content-type") ?? "", /^text\/event-stream/)
    return eventsIn(got.text)
  }
  return { create, gateway, streamed, upstream, url }
}
