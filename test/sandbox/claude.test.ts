import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { body, call, image, result, SONNET, thinking, tools, user } from "./claudeRequests.ts"
import { bedrock, claude, messageIn, PDF, PNG, post } from "./support.ts"

layer(Sandbox.layer({ pace: 0 }))("simulated Claude", (it) => {
  it.effect("counts what it bills, with tools and thinking", () =>
    Effect.gen(function* () {
      const variants = [
        {},
        { tools },
        { thinking },
        { tools, thinking },
        { tools, tool_choice: { type: "any" } },
        { messages: [image("image/png")] }
      ]
      const counts = new Set<number>()
      for (const variant of variants) {
        const whole = body(variant)
        const { max_tokens: _, ...counted } = whole
        const usage = (yield* post(claude(SONNET), whole)).json.usage.input_tokens
        assert.strictEqual(
          (yield* post(claude("count-tokens"), { ...counted, model: SONNET })).json.input_tokens,
          usage
        )
        counts.add(usage)
      }
      assert.strictEqual(counts.size, variants.length)
      assert.match(messageIn(yield* post(claude("count-tokens"), { ...body(), model: SONNET })), /max_tokens: Extra/)
    })
  )

  it.effect("gives thoughts that come back byte for byte, and hides them on newer models", () =>
    Effect.gen(function* () {
      const shown = (yield* post(claude(SONNET), body({ thinking }))).json.content[0]
      assert.match(shown.thinking, /Hello/)
      const replay = (block: unknown) =>
        post(
          claude(SONNET),
          body({
            messages: [user("a"), { role: "assistant", content: [block, { type: "text", text: "b" }] }, user("c")]
          })
        )
      assert.strictEqual((yield* replay(shown)).status, 200)
      assert.match(messageIn(yield* replay({ ...shown, thinking: `${shown.thinking} ` })), /Invalid `signature`/)
      const asked = body({ thinking, messages: [user("[sandbox: redacted]")] })
      const [, redacted] = (yield* post(claude(SONNET), asked)).json.content
      assert.strictEqual((yield* replay(redacted)).status, 200)
      assert.match(messageIn(yield* replay({ ...redacted, data: "AAAA" })), /1.content.0: Invalid `data` in `redacted_/)
      const adaptive = { thinking: { type: "adaptive" } }
      const hidden = (yield* post(claude("claude-opus-4-7"), body(adaptive))).json.content[0]
      assert.strictEqual(hidden.thinking, "")
      assert.isAbove(hidden.signature.length, 20)
      const summarized = (yield* post(
        claude("claude-opus-4-7"),
        body({ thinking: { type: "adaptive", display: "summarized" } })
      )).json
      assert.isAbove(summarized.content[0].thinking.length, 10)
    })
  )

  it.effect("thinks unasked where the model does", () =>
    Effect.gen(function* () {
      const send = (over: object) =>
        post(bedrock("us-gov.anthropic.claude-sonnet-5"), body({ anthropic_version: "bedrock-2023-05-31", ...over }))
      assert.strictEqual((yield* send({})).json.content[0].type, "thinking")
      assert.strictEqual((yield* send({ thinking: { type: "disabled" } })).json.content[0].type, "text")
    })
  )

  it.effect("sees images and documents", () =>
    Effect.gen(function* () {
      const content = [
        { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
        { type: "document", source: { type: "base64", media_type: "application/pdf", data: PDF } },
        { type: "text", text: "Compare these" }
      ]
      const got = yield* post(claude(SONNET), body({ messages: [user(content)] }))
      assert.match(got.json.content[0].text, /a PNG image of 70 bytes and a PDF document of 15 bytes/)
    })
  )

  it.effect("ends as it was asked to", () =>
    Effect.gen(function* () {
      const say = (text: string, over: object = {}) => post(claude(SONNET), body({ messages: [user(text)], ...over }))
      assert.strictEqual((yield* say("Hello", { max_tokens: 4 })).json.stop_reason, "max_tokens")
      const stopped = (yield* say("[sandbox: text=one two three]", { stop_sequences: ["two"] })).json
      assert.deepStrictEqual(
        [stopped.stop_reason, stopped.stop_sequence, stopped.content[0].text],
        ["stop_sequence", "two", "one "]
      )
      const refused = (yield* say("[sandbox: refuse]")).json
      // A category is one of the vendor's words, or null.
      assert.deepStrictEqual([refused.stop_reason, refused.stop_details.category], ["refusal", null])
      assert.strictEqual((yield* say("[sandbox: cached=3]")).json.usage.cache_read_input_tokens, 3)
      assert.strictEqual((yield* say("[sandbox: redacted]", { thinking })).json.content[1].type, "redacted_thinking")
      assert.strictEqual((yield* say("[sandbox: length]")).json.stop_reason, "max_tokens")
    })
  )

  it.effect("thinks between a text and its calls where it is asked to", () =>
    Effect.gen(function* () {
      const two = '[sandbox: tool=look_up args={"a":1}] [sandbox: tool=look_up args={"a":2}]'
      const asked = user(`[sandbox: interleaved] [sandbox: redacted] ${two} [sandbox: text=Let me see.]`)
      const got = yield* post(
        claude("claude-opus-4-7"),
        body({ tools, thinking: { type: "adaptive", display: "summarized" }, messages: [asked] })
      )
      assert.deepStrictEqual(
        got.json.content.map(({ type }: { type: string }) => type),
        ["thinking", "text", "redacted_thinking", "thinking", "tool_use", "thinking", "tool_use"]
      )
    })
  )

  it.effect("ignores directives that are not the user's last word", () =>
    Effect.gen(function* () {
      const directive = "[sandbox: status=500]"
      const inResult = [user("a"), call, user([{ ...result, content: directive }])]
      assert.strictEqual((yield* post(claude(SONNET), body({ tools, messages: inResult }))).status, 200)
      const earlier = [user(directive), { role: "assistant", content: "b" }, user("c")]
      assert.strictEqual((yield* post(claude(SONNET), body({ messages: earlier }))).status, 200)
    })
  )
})
