import { assert, describe, it } from "@effect/vitest"
import { makeAccumulator } from "../../src/governance/accumulate.ts"
import { messagesProtocol } from "../../src/surfaces/messagesStream.ts"

const flagged = (...events: ReadonlyArray<object & { readonly type: string }>) => {
  const protocol = messagesProtocol("m")
  const calls = makeAccumulator()
  const frames = protocol.step(events.map((event) => ({ event: event.type, data: JSON.stringify(event) })))
  assert.strictEqual(frames.length, events.length)
  for (const frame of frames) for (const piece of frame.calls ?? []) calls.add(piece, frame.data.length)
  return calls.flags().map((flag) => [flag.tool_call_id, flag.tool_name, ...flag.destinations])
}
const start = (...content: ReadonlyArray<unknown>) => ({ type: "message_start", message: { content, usage: {} } })
const block = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block })
const input = { u: "https://a.example" }

describe("calls of a messages stream", () => {
  it("in the first event are scanned, and not flagged again when they are repeated", () => {
    const call = { type: "tool_use", id: "t", name: "get", input }
    assert.deepStrictEqual(flagged(start(null, { type: "text", text: "https://b.example" }, call)), [
      ["t", "get", "https://a.example"]
    ])
    assert.deepStrictEqual(flagged(start(call), block(0, call)), [["t", "get", "https://a.example"]])
    assert.deepStrictEqual(
      flagged(start(call), block(0, { ...call, id: "s" })).map(([id]) => id),
      ["t", "s"]
    )
  })

  it.each(["tool_use", "server_tool_use", "mcp_tool_use"])("%s is scanned", (type) => {
    assert.deepStrictEqual(flagged(start(), block(0, { type, id: "t", name: "get", input })), [
      ["t", "get", "https://a.example"]
    ])
    const delta = {
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json: JSON.stringify(input) }
    }
    assert.deepStrictEqual(flagged(start(), block(0, { type, id: "t", name: "get", input: {} }), delta), [
      ["t", "get", "https://a.example"]
    ])
  })

  it("are scanned as they came, whatever names were read before", () => {
    JSON.parse(JSON.stringify({ alone: 1, '\\"https://a.exampl': 1 }))
    const input = { alone: 1, '"https://a.example': 1 }
    assert.deepStrictEqual(flagged(start(), block(0, { type: "tool_use", id: "t", name: "get", input })), [
      ["t", "get", "https://a.example"]
    ])
  })
})
