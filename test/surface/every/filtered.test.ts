/** A prompt that the cloud's safety system refuses (docs/api.md#errors): callers can tell it, and so do records. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { answering, reply, streaming } from "../../support/fakeUpstream.ts"
import { post } from "../../support/http.ts"
import { responseOf } from "../../support/responses.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream()

const outcomeOf = async (id: string | null): Promise<unknown> => {
  for (let n = 0; n < 500; n++) {
    const found = gateway.records().find((record) => record.request_id === id)
    if (found !== undefined) return found.outcome
    await sleep(10)
  }
  throw new Error("there is no record")
}

const message = "The response was filtered due to the prompt triggering the content management policy."
const refusal = (code: string | null) => ({
  error: {
    message,
    type: null,
    param: "prompt",
    code,
    status: 400,
    innererror: { code: "ResponsibleAIPolicyViolation" }
  }
})
const created = { type: "response.created", response: responseOf([], { status: "in_progress" }), sequence_number: 0 }
const asks = {
  chat: { path: "/v1/chat/completions", body: { messages: [{ role: "user", content: "hi" }] } },
  responses: { path: "/v1/responses", body: { input: "hi" } }
}
const ask = (surface: keyof typeof asks, stream: boolean) =>
  post(`${gateway.url}${asks[surface].path}`, { model: "gpt-5.1:il5", stream, ...asks[surface].body })

describe.each(["chat", "responses"] as const)("on %s", (surface) => {
  it.each([false, true])("a refusal before the first byte keeps its code (streamed: %s)", async (stream) => {
    upstream.use(answering(reply("400 Bad Request", JSON.stringify(refusal("content_filter")))))
    const got = await ask(surface, stream)
    assert.strictEqual(got.status, 400)
    assert.deepStrictEqual(got.json, { error: { type: "invalid_request_error", code: "content_filter", message } })
    assert.strictEqual(await outcomeOf(got.headers.get("x-request-id")), "filtered")
  })

  it("another refusal has no code", async () => {
    upstream.use(answering(reply("400 Bad Request", JSON.stringify(refusal(null)))))
    const got = await ask(surface, false)
    assert.deepStrictEqual(got.json, { error: { type: "invalid_request_error", message } })
    assert.strictEqual(await outcomeOf(got.headers.get("x-request-id")), "upstream_error")
  })

  it("one inside a stream is an error with its code", async () => {
    const { error } = refusal("content_filter")
    const begun =
      surface === "chat"
        ? [`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "a" } }] })}\n\n`]
        : [`event: response.created\ndata: ${JSON.stringify(created)}\n\n`]
    const failed = surface === "chat" ? { error } : { ...error, type: "error", sequence_number: 1 }
    const named = surface === "chat" ? "" : "event: error\n"
    upstream.use(streaming([...begun, `${named}data: ${JSON.stringify(failed)}\n\n`]))
    const got = await ask(surface, true)
    assert.strictEqual(got.status, 200)
    assert.match(got.text, /"code":"content_filter"/)
    assert.strictEqual(await outcomeOf(got.headers.get("x-request-id")), "filtered")
  })
})
