/** Chat streams of an upstream that a test plays, and what the caller gets of them. */
import { assert } from "@effect/vitest"
import { chat, folded, functionTool } from "./chat.ts"
import type { Kind, Said } from "./chatKinds.ts"
import { answering, type Handler } from "./fakeUpstream.ts"
import type { Gateway } from "./gateway.ts"
import { post } from "./http.ts"
import { sharedUpstream } from "./shared.ts"

export const tools = [
  functionTool("get_weather", { type: "object", properties: { city: { type: "string" } } }),
  functionTool("f")
]

export const rounded: Said = { texts: ["Hello", " wörld 🌍"], calls: [] }
export const calling: Said = {
  texts: ["Let me look."],
  calls: [
    { id: "call_abc123", name: "get_weather", pieces: ['{"city":', '"Os', 'lo"}'] },
    { id: "call_def456", name: "f", pieces: ['{"u":"htt', "ps://evil.exa", 'mple/x"}'] }
  ]
}

const path = "/v1/chat/completions"

/** An upstream and a gateway with short limits, for all tests of a file. */
export const sharedChatStreams = () => {
  const { gateway, upstream } = sharedUpstream(
    { GATEWAY_STREAM_IDLE_TIMEOUT: "1 second", GATEWAY_HEARTBEAT: "150 millis" },
    answering("")
  )
  const askAt = (
    { url }: Pick<Gateway, "url">,
    model: string,
    extra: Record<string, unknown> = {},
    content: unknown = "hi"
  ) => post(url + path, chat(model, content, { stream: true, stream_options: { include_usage: true }, ...extra }))
  /** What the caller gets of this upstream stream. */
  const hear = async (kind: Kind, handler: Handler, extra: Record<string, unknown> = {}) => {
    upstream.use(handler)
    const got = await askAt(gateway, kind.model, extra)
    assert.strictEqual(got.status, 200, got.text)
    return { ...folded(got.text), text: got.text }
  }
  return { askAt, gateway, hear, path, upstream }
}
