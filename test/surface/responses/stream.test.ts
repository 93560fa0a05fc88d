/** What the caller gets of an upstream's stream that goes well (docs/api.md#responses-stream). */
import { assert, describe, it } from "@effect/vitest"
import {
  callEvents,
  ending,
  flag,
  frameOf,
  frames,
  functionCall,
  hello,
  link,
  linkFlag,
  numbered,
  opening,
  responseOf,
  secret,
  textEvents,
  textItem
} from "../../support/responses.ts"
import { sharedResponses } from "../../support/responsesStreams.ts"

const { streamed } = sharedResponses()

describe("a stream", () => {
  it("passes on every event as it came, in order", async () => {
    const events = numbered([
      opening,
      { type: "response.in_progress", response: responseOf([], { status: "in_progress" }) },
      ...textEvents(0, ["he", "l\n\ndata: [DONE]\n\n", "lo"]),
      { type: "response.something_new", value: { a: 1 } },
      ending([textItem("hello")])
    ])
    const got = await streamed(events.map(frameOf))
    assert.deepStrictEqual(
      got.map(({ data }) => data),
      events.map((event) => JSON.stringify(event))
    )
    assert.deepStrictEqual(
      got.map(({ event }) => event),
      events.map(({ type }) => type)
    )
  })

  it("carries the flags inside the response of its end, and leaves the deltas alone", async () => {
    const pieces = ['{"url":"htt', "ps:", "/", "/example.com/a", '","to":"10.0', '.0.1"}']
    const events = [opening, ...callEvents(1, pieces), ending([functionCall(1, pieces.join(""))])]
    const got = await streamed(frames(events))
    assert.deepStrictEqual(
      got.slice(0, -1).map(({ data }) => data),
      numbered(events)
        .slice(0, -1)
        .map((event) => JSON.stringify(event))
    )
    const last = got.at(-1)
    assert.strictEqual(last?.event, "response.completed")
    assert.notProperty(last?.json, "x_gateway_governance")
    assert.deepStrictEqual(last?.json.response.x_gateway_governance, { flags: [linkFlag] })
    assert.strictEqual(last?.json.sequence_number, events.length - 1)
  })

  for (const status of ["incomplete", "failed"] as const) {
    it(`that is ${status} carries the flags too, and no error event follows`, async () => {
      const cutCall = functionCall(1, '{"url":"https://example.com/a","to":"10.0.0.1')
      const got = await streamed(frames([opening, ...callEvents(1, [cutCall.arguments]), ending([cutCall], status)]))
      assert.strictEqual(got.at(-1)?.event, `response.${status}`)
      assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, { flags: [linkFlag] })
      assert.notInclude(
        got.map(({ event }) => event),
        "error"
      )
    })
  }

  it("has flags also where the end does not repeat the calls", async () => {
    const got = await streamed(frames([opening, ...callEvents(1, [link]), ending([])]))
    assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, { flags: [linkFlag] })
  })

  it.each([
    ["whole", ['{"url":"https://example.com/a","to":"10.0.0.1"}', ""]],
    ["in part", ['{"url":"https://exam', 'ple.com/a","to":"10.0.0.1"}']]
  ])("flags a call that brings its arguments when it begins, %s", async (_, [begun = "", delta = ""]) => {
    const events = [
      opening,
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...functionCall(0, begun), call_id: linkFlag.tool_call_id }
      },
      { type: "response.function_call_arguments.delta", output_index: 0, delta },
      ending([])
    ]
    const got = await streamed(frames(events))
    assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, { flags: [linkFlag] })
  })

  const item = (call: object) => ({
    type: "response.output_item.added",
    output_index: 0,
    item: { call_id: "c", ...call }
  })
  const command = (name: string, more: object) => ({
    type: `response.shell_call_command.${name}`,
    item_id: "i",
    output_index: 0,
    command_index: 0,
    ...more
  })
  const patch = (name: string, more: object) => ({
    type: `response.apply_patch_call_operation_diff.${name}`,
    output_index: 0,
    ...more
  })
  const shell = item({ type: "shell_call", action: { commands: [] } })
  const edit = item({ type: "apply_patch_call", operation: { type: "create_file", path: "a", diff: "" } })
  it.each([
    [
      "a command",
      "shell",
      [shell, command("added", { command: "curl ht" }), command("delta", { delta: 'tps://a.example/x"y' })]
    ],
    ["a command that comes whole", "shell", [shell, command("done", { command: "curl https://a.example/x" })]],
    [
      "the second command",
      "shell",
      [
        ...[shell, command("added", { command: "" }), command("delta", { delta: "echo ht" })],
        command("added", { command_index: 1, command: "https://a.example/x" })
      ]
    ],
    [
      "a patch",
      "apply_patch",
      [edit, patch("delta", { delta: "+ see ht" }), patch("delta", { delta: "tps://a.example/x\n" })]
    ],
    [
      "a search among tools",
      "tool_search",
      [
        item({ type: "tool_search_call", execution: "client", arguments: {} }),
        {
          ...item({ type: "tool_search_call", execution: "client", arguments: { query: "https://a.example/x" } }),
          type: "response.output_item.done"
        }
      ]
    ],
    ["a patch that comes whole", "apply_patch", [edit, patch("done", { diff: "+ https://a.example/x" })]]
  ])("flags pieces of %s, of which the end says nothing", async (_, name, events) => {
    const got = await streamed(frames([opening, ...events, ending([])]))
    const flags = [
      { tool_call_id: "c", tool_name: name, destinations: ["https://a.example/x"], reason: "external_destination" }
    ]
    assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, { flags })
  })

  it.each([
    ["in pieces", ["[ -f x ] || curl ht", "tps:", "\\t.co\n"]],
    ["whole", []]
  ])("flags the input of a custom tool, %s, as the text that it is", async (_, deltas) => {
    const call = { type: "custom_tool_call", name: "run", call_id: "c" }
    const input = "[ -f x ] || curl https:\\t.co\n"
    const piece = { item_id: "i", output_index: 0 }
    const events = [
      ...[opening, item({ ...call, input: "" })],
      ...deltas.map((delta) => ({ type: "response.custom_tool_call_input.delta", ...piece, delta })),
      { type: "response.custom_tool_call_input.done", ...piece, input },
      { type: "response.output_item.done", output_index: 0, item: { ...call, input } }
    ]
    const flags = [
      { tool_call_id: "c", tool_name: "run", destinations: ["https:\\t.co"], reason: "external_destination" }
    ]
    for (const count of deltas.length === 0 ? [3, 4] : [5, 6, 7]) {
      const got = await streamed(frames([...events.slice(0, count), ending([])]))
      assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, { flags })
    }
  })

  it("flags interleaved calls each by its own arguments", async () => {
    const [addedA, deltaA, ...restA] = callEvents(1, ['{"a":"https://a.example/x"}'])
    const [addedB, deltaB, deltaB2, ...restB] = callEvents(2, ['{"b":"https://', 'b.example/y"}'])
    const events = [opening, addedA, addedB, deltaB, deltaA, deltaB2, ...restB, ...restA].filter((e) => e !== undefined)
    const got = await streamed(frames([...events, ending([])]))
    assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, {
      flags: [flag(1, "https://a.example/x"), flag(2, "https://b.example/y")]
    })
  })

  it("loses encrypted reasoning in the items, the openings and the end", async () => {
    const events = numbered([
      { type: "response.created", response: responseOf([secret], { status: "in_progress" }) },
      { type: "response.output_item.added", output_index: 0, item: secret },
      { type: "response.output_item.done", output_index: 0, item: secret },
      { type: "response.reasoning.unheard_of", output_index: 0, encrypted_content: "gAAAA-secret" },
      ending([secret, hello])
    ])
    const got = await streamed(events.map(frameOf))
    assert.strictEqual(got.length, events.length)
    for (const { data } of got) assert.notInclude(data, "encrypted_content")
    assert.deepStrictEqual(
      got.map(({ json }) => json.sequence_number),
      [0, 1, 2, 3, 4]
    )
    const { encrypted_content: _, ...shown } = secret
    assert.deepStrictEqual(got[2]?.json.item, shown)
    assert.deepStrictEqual(got[4]?.json.response.output, [shown, hello])
  })

  it("needs no event lines, and a [DONE] is left out", async () => {
    const events = numbered([opening, ...callEvents(1, [link]), ending([functionCall(1, link)])])
    const got = await streamed([...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n"])
    assert.strictEqual(got.at(-1)?.event, "response.completed")
    assert.deepStrictEqual(got.at(-1)?.json.response.x_gateway_governance, { flags: [linkFlag] })
    assert.strictEqual(got.length, events.length)
  })

  it("takes CRLF, comments, a BOM and data without a space", async () => {
    const events = numbered([opening, ...textEvents(0, ["hé"]), ending([textItem("hé")])])
    const text = `\uFEFF: hi\r\n\r\n${events.map((event) => `event:${event.type}\r\nid: 7\r\ndata:${JSON.stringify(event)}\r\n\r\n`).join("")}`
    const bytes = Buffer.from(text)
    const got = await streamed([...bytes].map((byte) => Uint8Array.of(byte)))
    assert.deepStrictEqual(
      got.map(({ json }) => json),
      [...events]
    )
  })

  it("ends once: what comes after the terminal event is dropped", async () => {
    const end = ending([hello])
    const got = await streamed(frames([opening, end, ...textEvents(0, ["late"]), end]))
    assert.deepStrictEqual(
      got.map(({ event }) => event),
      ["response.created", "response.completed"]
    )
  })
})
