/** One call at a time where the vendor cannot be asked for it (docs/decisions.md#one-call-at-a-time). */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import type { Route } from "../../src/catalog/Route.ts"
import type { Json } from "../../src/wire/json.ts"
import { compileStrip } from "../../src/wire/strip.ts"
import { adjusted, azure, chat, dialect, flash, folded, hearStream, opus, sonnet, tool } from "./support.ts"

const part = (name: string, more = {}) => ({ functionCall: { name, args: { n: name } }, ...more })
const gemini = (...parts: ReadonlyArray<Json>) => ({
  candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 }
})
const use = (name: string) => ({ type: "tool_use", id: `toolu_${name}`, name, input: { n: name } })
const block = (index: number, content_block: Json) => [
  { type: "content_block_start", index, content_block },
  { type: "content_block_stop", index }
]
const refusing: Route = { ...sonnet, strip: compileStrip(["tool_choice.disable_parallel_tool_use"]) }

const vendors: ReadonlyArray<readonly [string, Route, Json, ReadonlyArray<Json>]> = [
  [
    "Gemini",
    flash,
    gemini({ text: "Both." }, part("a", { thoughtSignature: "s" }), part("b"), { text: " Soon." }),
    [
      gemini({ text: "Both." }),
      gemini(part("a", { thoughtSignature: "s" })),
      gemini(part("b")),
      gemini({ text: " Soon." })
    ]
  ],
  [
    "Claude where the cloud refuses the word",
    refusing,
    {
      content: [{ type: "text", text: "Both." }, use("a"), use("b"), { type: "text", text: " Soon." }],
      stop_reason: "tool_use"
    },
    [
      ...block(0, { type: "text", text: "Both." }),
      ...block(1, use("a")),
      ...block(2, use("b")),
      ...block(3, { type: "text", text: " Soon." }),
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 4 } },
      { type: "message_stop" }
    ]
  ]
]

describe.each(vendors)("%s", (_, route, body, events) => {
  const asked = chat({ tools: [tool("a"), tool("b")], parallel_tool_calls: false })

  it("says so", () => {
    expect(adjusted(route, { ...asked, max_tokens: 9, reasoning_effort: "minimal" })).toContain(
      "parallel_tool_calls:false->first-call"
    )
    expect(adjusted(route, { ...asked, tools: [] })).not.toContain("parallel_tool_calls:false->first-call")
  })

  it("passes on the first call of several, with what belongs to it, and all of the text", () => {
    const answer = Result.getOrThrow(dialect(route).reply(Object(body), route, asked))
    expect(answer.message.tool_calls?.map((call) => call.function.name)).toEqual(["a"])
    expect(answer).toMatchObject({ message: { content: "Both. Soon." }, finishReason: "tool_calls" })
    const heard = folded(Result.getOrThrow(hearStream(route, events, asked)))
    expect(heard.calls.map(({ name, arguments: args }) => [name, args])).toEqual([["a", '{"n":"a"}']])
    expect(heard).toMatchObject({ text: "Both. Soon.", finishReason: "tool_calls" })
    expect(heard.calls[0]?.extra).toEqual(answer.message.tool_calls?.[0]?.extra_content)
  })

  it("passes on all of them where it was not asked for", () => {
    const plain = chat({ tools: [tool("a"), tool("b")] })
    expect(Result.getOrThrow(dialect(route).reply(Object(body), route, plain)).message.tool_calls).toHaveLength(2)
    expect(folded(Result.getOrThrow(hearStream(route, events, plain))).calls).toHaveLength(2)
  })
})

it("is the vendor's own matter where it has a word for it", () => {
  expect(adjusted(opus, { tools: [tool("a")], max_tokens: 9, parallel_tool_calls: false })).toEqual([])
})

it("is named where a deployment does not take the word", () => {
  const route = { ...azure, strip: compileStrip(["parallel_tool_calls"]) }
  const tools = [tool("a")]
  expect(adjusted(route, { tools, parallel_tool_calls: false })).toEqual(["parallel_tool_calls:false->first-call"])
  expect(adjusted(route, { tools, parallel_tool_calls: true })).toEqual([])
  expect(adjusted(flash, { tools, parallel_tool_calls: false, tool_choice: "none" })).toEqual([])
})
