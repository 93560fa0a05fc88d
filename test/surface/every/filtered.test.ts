/** A prompt or an answer that the cloud's safety system refuses (docs/api.md#errors): callers can tell it, and so do records. */
import { assert, describe, it } from "@effect/vitest"
import { claudeClouds, messageStop, saying, wholeMessage } from "../../support/claude.ts"
import { answering, reply, streaming } from "../../support/fakeUpstream.ts"
import { recordOf } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"
import { ending, frames, opening, responseOf } from "../../support/responses.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream()

const outcomeOf = async (id: string | null) => (await recordOf(gateway, id)).outcome

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

  const tooLong = "Input tokens exceed the configured limit of 272000 tokens."
  it.each([false, true])("a prompt that is too long keeps its code (streamed: %s)", async (stream) => {
    const error = {
      message: tooLong,
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded"
    }
    upstream.use(answering(reply("400 Bad Request", JSON.stringify({ error }))))
    const got = await ask(surface, stream)
    assert.strictEqual(got.status, 400)
    const shown = {
      type: "invalid_request_error",
      code: "context_length_exceeded",
      message: `prompt is too long: ${tooLong} (context_length_exceeded)`
    }
    assert.deepStrictEqual(got.json, { error: shown })
    assert.strictEqual(got.headers.get("x-should-retry"), "false")
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

const guardrail = { "amazon-bedrock-guardrailAction": "INTERVENED" }

/** Claude's answers with this word of their end, and this beside it. */
const claude = (stop_reason: string, beside: object, place: string) => ({
  whole: { ...wholeMessage([{ type: "text", text: "a" }], { stop_reason }), ...beside },
  events: saying("a")
    .slice(0, -2)
    .concat({ type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 1 } }, messageStop)
    .map((event) => (event.type === place ? { ...event, ...beside } : event))
})

describe.each(claudeClouds)("an answer of $model", ({ frame, head, model }) => {
  const bodies = {
    chat: { path: "/v1/chat/completions", max_tokens: 10 },
    messages: { path: "/v1/messages", max_tokens: 10 }
  }
  const end = async (surface: keyof typeof bodies, stream: boolean, said: ReturnType<typeof claude>) => {
    upstream.use(
      stream
        ? streaming(
            said.events.map((event) => frame(event)),
            { head }
          )
        : answering(reply("200 OK", JSON.stringify(said.whole)))
    )
    const { path, ...body } = bodies[surface]
    const got = await post(gateway.url + path, { ...body, model, stream, messages: [{ role: "user", content: "hi" }] })
    assert.strictEqual(got.status, 200, got.text)
    return outcomeOf(got.headers.get("x-request-id"))
  }

  for (const surface of ["chat", "messages"] as const) {
    it.each([false, true])(`that a filter ended is filtered on ${surface} (streamed: %s)`, async (stream) => {
      for (const word of ["refusal", "guardrail_intervened", "content_filtered"])
        assert.strictEqual(await end(surface, stream, claude(word, {}, "")), "filtered", word)
      for (const place of ["message_start", "content_block_delta", "message_delta", "message_stop"])
        assert.strictEqual(await end(surface, stream, claude("end_turn", guardrail, place)), "filtered", place)
    })

    it.each([false, true])(`that came to its end is ok on ${surface} (streamed: %s)`, async (stream) => {
      const said = claude("end_turn", { "amazon-bedrock-guardrailAction": "NONE" }, "message_stop")
      for (const word of [said, claude("max_tokens", {}, "")])
        assert.strictEqual(await end(surface, stream, word), "ok")
    })
  }
})

it.each([false, true])("an answer on responses that a filter ended is filtered (streamed: %s)", async (stream) => {
  for (const [reason, outcome] of [
    ["content_filter", "filtered"],
    ["max_output_tokens", "ok"]
  ]) {
    const extra = { status: "incomplete", incomplete_details: { reason } }
    upstream.use(
      stream
        ? streaming(frames([opening, ending([], "incomplete", extra)]))
        : answering(reply("200 OK", JSON.stringify(responseOf([], extra))))
    )
    const got = await ask("responses", stream)
    assert.strictEqual(got.status, 200, got.text)
    assert.strictEqual(await outcomeOf(got.headers.get("x-request-id")), outcome)
  }
})
