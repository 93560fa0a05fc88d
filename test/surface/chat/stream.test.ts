/** Chat streams over every kind of upstream: order, and the same as unstreamed (docs/api.md#chat-stream). */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { cut } from "../../../src/catalog/UpstreamFault.ts"
import { chatProtocol } from "../../../src/surfaces/chatReply.ts"
import { chat, folded, foldedWhole } from "../../support/chat.ts"
import { kinds, saying, sixModels } from "../../support/chatKinds.ts"
import { calling, rounded, sharedChatStreams, tools } from "../../support/chatStreams.ts"
import { eventsIn, post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const { gateway, hear, path, upstream } = sharedChatStreams()
const sandbox = sharedGateway()

describe("order and shape", () => {
  for (const kind of kinds) {
    it(`${kind.name}: role, content, one final chunk, [DONE]`, async () => {
      const got = await hear(kind, saying(kind, rounded, true))
      assert.isTrue(got.done)
      const { chunks } = got
      assert.deepStrictEqual(
        chunks.map(({ choices }) => choices[0].delta),
        [{ role: "assistant" }, { content: "Hello" }, { content: " wörld 🌍" }, {}]
      )
      for (const [at, each] of chunks.entries()) {
        assert.strictEqual(each.object, "chat.completion.chunk")
        assert.match(each.id, /^chatcmpl-/)
        assert.strictEqual(each.id, chunks[0].id)
        assert.strictEqual(each.created, chunks[0].created)
        assert.strictEqual(each.model, kind.model)
        assert.strictEqual(each.choices.length, 1)
        assert.strictEqual(each.choices[0].index, 0)
        assert.strictEqual(each.choices[0].finish_reason, at === chunks.length - 1 ? "stop" : null)
        assert.strictEqual("usage" in each, at === chunks.length - 1)
        assert.notProperty(each, "x_gateway_governance")
      }
      assert.strictEqual(got.usage.prompt_tokens, 10, "cached input is input")
      assert.strictEqual(got.usage.completion_tokens, 7)
      assert.strictEqual(got.usage.total_tokens, 17)
      assert.strictEqual(got.usage.prompt_tokens_details.cached_tokens, 4)
      assert.notMatch(got.text, /upstream-model-id|theirs/)
      for (const event of eventsIn(got.text)) assert.isUndefined(event.event)
    })

    it(`${kind.name}: no usage unless asked for`, async () => {
      for (const stream_options of [undefined, null, {}, { include_usage: false }]) {
        const got = await hear(kind, saying(kind, rounded, true), { stream_options })
        assert.isTrue(got.done)
        assert.notMatch(got.text, /"usage"/)
      }
    })

    it(`${kind.name}: tool calls, their index, the flag on the final chunk`, async () => {
      const got = await hear(kind, saying(kind, calling, true), { tools })
      assert.strictEqual(got.finishReason, "tool_calls")
      assert.strictEqual(got.content, "Let me look.")
      assert.deepStrictEqual(
        got.calls.map(({ name, arguments: args }) => [name, args]),
        [
          ["get_weather", '{"city":"Oslo"}'],
          ["f", '{"u":"https://evil.example/x"}']
        ]
      )
      assert.notStrictEqual(got.calls[0]?.id, got.calls[1]?.id)
      const deltas = got.chunks.flatMap(({ choices }) => choices[0].delta.tool_calls ?? [])
      const seen = new Set<number>()
      for (const delta of deltas) {
        if (seen.has(delta.index)) assert.deepStrictEqual(Object.keys(delta), ["index", "function"])
        else {
          assert.strictEqual(delta.index, seen.size)
          assert.strictEqual(delta.type, "function")
          assert.isNotEmpty(delta.id)
          assert.isNotEmpty(delta.function.name)
          assert.strictEqual(delta.function.arguments, "")
          seen.add(delta.index)
        }
      }
      assert.deepStrictEqual(got.governance, {
        flags: [
          {
            tool_call_id: got.calls[1]?.id,
            tool_name: "f",
            destinations: ["https://evil.example/x"],
            reason: "external_destination"
          }
        ]
      })
      assert.strictEqual(got.chunks.filter((each) => "x_gateway_governance" in each).length, 1)
    })

    it(`${kind.name}: streamed and unstreamed say the same`, async () => {
      for (const said of [
        rounded,
        calling,
        { ...rounded, finish: "length" },
        { finish: "content_filter" },
        { texts: [] }
      ] as const) {
        const streamed = await hear(kind, saying(kind, said, true), { tools })
        upstream.use(saying(kind, said, false))
        const whole = await post(gateway.url + path, chat(kind.model, "hi", { tools }))
        assert.strictEqual(whole.status, 200, whole.text)
        const { content, calls, finishReason, usage, governance } = streamed
        const anonymous = (value: unknown) =>
          JSON.parse(JSON.stringify(value ?? null).replace(/call_[0-9a-f]{24}/g, "made-up"))
        assert.deepStrictEqual(
          anonymous({ content, calls, finishReason, usage, governance }),
          anonymous(foldedWhole(whole.json))
        )
      }
    })
  }

  for (const model of sixModels) {
    it(`${model}: the sandbox's stream says what its reply says`, async () => {
      const create = (content: string, extra = {}) =>
        post(sandbox.url + path, chat(model, content, { tools, ...extra }))
      for (const content of [
        "What is a fjord?",
        '[sandbox: tool=get_weather args={"city":"https://evil.example"}] [sandbox: tool=f]',
        '[sandbox: text="a\\n\\ndata: [DONE]\\n\\nb \\u2028 🌍"]',
        "[sandbox: length]",
        "[sandbox: refuse]",
        "[sandbox: cached=3]"
      ]) {
        const whole = foldedWhole((await create(content)).json)
        const streamed = folded((await create(content, { stream: true, stream_options: { include_usage: true } })).text)
        assert.isTrue(streamed.done)
        // IDs and signatures are made from the request's bytes, of which `stream` is one.
        const plain = (calls: ReadonlyArray<{ name: string; arguments: string; extra: unknown }>) =>
          calls.map((call) => [call.name, call.arguments, call.extra === undefined])
        assert.strictEqual(streamed.content, whole.content)
        assert.deepStrictEqual(plain(streamed.calls), plain(whole.calls))
        assert.strictEqual(streamed.finishReason, whole.finishReason)
        assert.deepStrictEqual(streamed.usage, whole.usage)
        assert.deepStrictEqual(
          streamed.governance?.flags.map((flag: { destinations: unknown }) => flag.destinations),
          whole.governance?.flags.map((flag: { destinations: unknown }) => flag.destinations)
        )
      }
    })
  }
})

it("says nothing of what a reader still had when its stream turns out to be broken", () => {
  const { onHalt, progress } = chatProtocol({
    reader: {
      *whole() {
        return undefined
      },
      step: () => undefined,
      end: (out) => {
        out.push({ type: "text", text: "half a stop sequence" })
        return Result.fail(cut)
      },
      ended: () => false,
      usage: () => undefined
    },
    heading: { id: "c", created: 1, model: "m:il2" },
    inputEstimate: 1,
    includeUsage: false
  })
  assert.deepStrictEqual(onHalt(), [])
  assert.strictEqual(progress.end, cut)
})

it("says the role and an empty text where the answer has no words, in one event or none", () => {
  for (const events of [[], [{ event: undefined, data: "{}" }]]) {
    const { onHalt, step } = chatProtocol({
      reader: {
        *whole() {
          return undefined
        },
        step: () => undefined,
        end: () => Result.succeed({ finishReason: "stop", usage: undefined }),
        ended: () => false,
        usage: () => undefined
      },
      heading: { id: "c", created: 1, model: "m:il2" },
      inputEstimate: 1,
      includeUsage: false
    })
    const texts = [...step(events), ...onHalt()].map(({ data }) => data)
    assert.strictEqual(texts.pop(), "[DONE]")
    assert.deepStrictEqual(
      texts.map((text) => JSON.parse(text).choices[0].delta),
      [{ role: "assistant" }, { content: "" }, {}]
    )
  }
})

it("counts what came until the text was ended, however the events came", () => {
  const usageOf = (sizes: ReadonlyArray<number>) => {
    let read = 0
    const { progress, step, summary } = chatProtocol({
      reader: {
        *whole() {
          return undefined
        },
        step: (_, out) => {
          read++
          out.push({ type: "text", text: "x" })
          return undefined
        },
        end: () => Result.succeed({ finishReason: "stop", usage: undefined }),
        ended: () => read >= 3,
        stopped: () => true,
        usage: () => undefined
      },
      heading: { id: "c", created: 1, model: "m:il2" },
      inputEstimate: 1,
      includeUsage: true
    })
    for (const size of sizes) {
      if (progress.end === undefined) step(Array.from({ length: size }, () => ({ event: "", data: "{}" })))
    }
    return summary().tokens
  }
  const expected = usageOf([1, 1, 1])
  assert.isAbove(expected?.output ?? 0, 0)
  for (const sizes of [[6], [1, 5], [2, 4], [3, 3]]) assert.deepStrictEqual(usageOf(sizes), expected)
})
