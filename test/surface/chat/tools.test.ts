/**
 * Tool choice, and tool loops that survive thinking (docs/api.md#tool-use, docs/api.md#reasoning,
 * docs/decisions.md#tool-loops-that-survive-thinking).
 */
import { assert, describe, it } from "@effect/vitest"
import { chat, folded, functionTool, ok } from "../../support/chat.ts"
import { sixModels } from "../../support/chatKinds.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const path = "/v1/chat/completions"
const gateway = sharedGateway()

const create = (body: unknown, at = gateway) => post(at.url + path, body)
const sent = () => JSON.parse(gateway.calls().at(-1)?.body ?? "null")
const model = "claude-sonnet-4-5:il5"
const object = (properties: Record<string, unknown>) => ({ type: "object", properties })
const string = { type: "string" }

describe("tool choice", () => {
  const tools = [functionTool("get_weather", object({ city: string })), functionTool("f")]
  const choose = async (id: string, tool_choice: unknown, extra = {}) => {
    const json = ok(await create(chat(id, "hi", { tools, tool_choice, ...extra })))
    return (json.choices[0].message.tool_calls ?? []).map((call: { function: { name: string } }) => call.function.name)
  }
  const named = { type: "function", function: { name: "f" } }

  for (const id of sixModels) {
    const forced = id.startsWith("gpt")
    it(`${id}`, async () => {
      assert.deepStrictEqual(await choose(id, "auto"), [])
      assert.deepStrictEqual(await choose(id, "none"), [])
      // Claude while it thinks and Gemini choose for themselves (docs/api.md#reasoning, rules 6 and 7).
      assert.deepStrictEqual(await choose(id, named), forced ? ["f"] : [])
      assert.strictEqual((await choose(id, "required")).length, forced ? 1 : 0)
      if (id.startsWith("claude")) assert.deepStrictEqual(await choose(id, named, { reasoning_effort: "none" }), ["f"])
      await choose(id, "auto", { parallel_tool_calls: false })
    })
  }
})

it.each([...sixModels, "gpt-5.6-terra:il5", "claude-opus-4-7:il5"])(
  "%s takes parameters that combine schemas",
  async (id) => {
    const union = { oneOf: [object({ kind: { const: "a" }, a: string }), object({ kind: { const: "b" } })] }
    const conditions = { ...object({ a: string, b: string }), anyOf: [{ required: ["a"] }, { required: ["b"] }] }
    ok(await create(chat(id, "hi", { tools: [functionTool("f", union), functionTool("g", conditions)] })))
  }
)

describe("a loop of three turns, with thinking on", () => {
  const tools = [functionTool("get_weather", object({ city: string }))]
  const cities = ["Oslo", "Rome", "Lima"]

  /** What a client gives back of the reply: all of it, or only what OpenAI's format knows. */
  const echoes = {
    "the whole message": (message: Record<string, unknown>) => message,
    "only the fields of OpenAI": ({ role, content, tool_calls }: Record<string, unknown>) => ({
      role,
      content,
      tool_calls: (tool_calls as ReadonlyArray<Record<string, unknown>>).map(({ extra_content: _, ...call }) => call)
    })
  }
  for (const id of [...sixModels, "claude-opus-4-7:il2", "claude-opus-4-7:il5"]) {
    for (const [how, echo] of Object.entries(echoes)) {
      for (const stream of [false, true]) {
        it(`${id}, ${how}${stream ? ", streamed" : ""}`, async () => {
          const messages: Array<Record<string, unknown>> = [{ role: "system", content: "Be brief." }]
          const ids = new Set<string>()
          for (const city of cities) {
            messages.push({
              role: "user",
              content: `[sandbox: tool=get_weather args={"city":"${city}"}] [sandbox: tool=get_weather args={"city":"Bergen"}]`
            })
            const got = await create({ model: id, messages, tools, reasoning_effort: "medium", stream })
            assert.strictEqual(got.status, 200, got.text)
            const message = stream ? assembled(got.text) : got.json.choices[0].message
            assert.strictEqual(message.tool_calls.length, 2, got.text)
            for (const call of message.tool_calls) {
              assert.isAtMost(call.id.length, 256)
              ids.add(call.id)
            }
            messages.push(echo(message))
            const results = message.tool_calls.map(({ id: tool_call_id }: { id: string }, at: number) => ({
              role: "tool",
              tool_call_id,
              content: at === 0 ? '{"weather":"rain"}' : "sun"
            }))
            // In any order, as parallel tools finish.
            messages.push(...results.reverse())
            const answer = await create({ model: id, messages, tools, reasoning_effort: "medium" })
            assert.match(ok(answer).choices[0].message.content, /get_weather answered: .*rain/)
            messages.push(echo({ tool_calls: [], ...answer.json.choices[0].message }))
          }
          assert.strictEqual(ids.size, 6, "IDs are unique across turns")
          if (id.startsWith("claude")) {
            const body = sent()
            const thinks = how === "the whole message" || id.startsWith("claude-opus")
            assert.strictEqual(body.thinking !== undefined, thinks, "thinking survives where its blocks come back")
          }
          if (id.startsWith("gemini")) {
            const signatures = sent().contents.flatMap(({ parts }: { parts: ReadonlyArray<Record<string, unknown>> }) =>
              parts.filter((part) => part.functionCall).map((part) => part.thoughtSignature)
            )
            const skip = "skip_thought_signature_validator"
            assert.deepStrictEqual(
              signatures.map((signature: unknown) =>
                signature === undefined ? "none" : signature === skip ? skip : "signed"
              ),
              cities.flatMap(() => [how === "the whole message" ? "signed" : skip, "none"])
            )
          }
        })
      }
    }
  }

  /** A message as clients assemble it from its deltas, `extra_content` included. */
  const assembled = (text: string) => {
    const { calls, content, chunks } = folded(text)
    const extra_content = chunks
      .map(({ choices }) => choices[0].delta.extra_content)
      .find((extra) => extra !== undefined)
    return {
      role: "assistant",
      content: content === "" ? null : content,
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: "function",
        function: { name: call.name, arguments: call.arguments },
        ...(call.extra === undefined ? {} : { extra_content: call.extra })
      })),
      ...(extra_content === undefined ? {} : { extra_content })
    }
  }

  for (const id of ["claude-opus-4-7:il2", "claude-opus-4-7:il5", "claude-opus-5:il2"]) {
    for (const stream of [false, true]) {
      it(`${id} thinks between a text and its calls, and takes the turn back${stream ? ", streamed" : ""}`, async () => {
        const asked = {
          role: "user",
          content:
            '[sandbox: interleaved] [sandbox: redacted] [sandbox: tool=get_weather args={"city":"Oslo"}] [sandbox: tool=get_weather args={"city":"Rome"}] [sandbox: text=Let me see.]'
        }
        const got = await create({ model: id, messages: [asked], tools, stream })
        assert.strictEqual(got.status, 200, got.text)
        const message = stream ? assembled(got.text) : got.json.choices[0].message
        const results = message.tool_calls.map(({ id: tool_call_id }: { id: string }) => ({
          role: "tool",
          tool_call_id,
          content: "rain"
        }))
        const kinds = () => sent().messages[1].content.map(({ type }: { type: string }) => type)
        const answer = await create({ model: id, messages: [asked, message, ...results], tools })
        assert.match(ok(answer).choices[0].message.content, /get_weather answered: rain/)
        const order = ["thinking", "text", "redacted_thinking", "thinking", "tool_use", "thinking", "tool_use"]
        assert.deepStrictEqual(kinds(), order)
        // Of a client that keeps only the format's own fields.
        const bare = await create({
          model: id,
          messages: [asked, echoes["only the fields of OpenAI"](message), ...results],
          tools
        })
        assert.match(ok(bare).choices[0].message.content, /get_weather answered: rain/)
        assert.deepStrictEqual(kinds(), ["text", "tool_use", "tool_use"])
        assert.deepStrictEqual(sent().thinking, { type: "adaptive" })
      })
    }
  }

  it("Claude's redacted thinking comes back too", async () => {
    const first = ok(await create(chat(model, "[sandbox: redacted] [sandbox: tool=get_weather args={}]", { tools })))
    const { message } = first.choices[0]
    const types = message.extra_content.anthropic.thinking_blocks.map(({ type }: { type: string }) => type)
    assert.deepStrictEqual(types, ["thinking", "redacted_thinking"])
    const messages = [
      { role: "user", content: "hi" },
      message,
      { role: "tool", tool_call_id: message.tool_calls[0].id, content: "" }
    ]
    ok(await create({ model, messages, tools }))
    assert.deepStrictEqual(sent().messages[1].content.slice(0, 2), message.extra_content.anthropic.thinking_blocks)
    assert.isDefined(sent().thinking)
  })

  it("a history made on one vendor goes on with another", async () => {
    for (const from of sixModels) {
      const { message } = ok(await create(chat(from, '[sandbox: tool=get_weather args={"city":"Oslo"}]', { tools })))
        .choices[0]
      for (const to of sixModels) {
        const messages = [
          { role: "user", content: "hi" },
          message,
          { role: "tool", tool_call_id: message.tool_calls[0].id, content: "rain" }
        ]
        ok(await create({ model: to, messages, tools }))
      }
    }
  })
})
