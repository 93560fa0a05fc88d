/**
 * Tools by who executes them: what passes, what is refused, and what is built of them (docs/decisions.md#messages-surface,
 * docs/decisions.md#responses-surface).
 */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { refuseServerTools } from "../../../src/surfaces/messagesTools.ts"
import { buildChoice, buildTools, refuseTools, screened } from "../../../src/surfaces/responsesTools.ts"
import { Adjusted } from "../../../src/vendors/adjustments.ts"
import type { Json } from "../../../src/wire/json.ts"

describe("the messages format", () => {
  it.each([
    ...["web_search_20250305", "web_search_20260209", "web_fetch_20250910", "code_execution_20250522"],
    ...["code_execution_20250825", "mcp_toolset", "advisor_20260301", "Custom", "custom_", "bash", "", 7]
  ])("refuses %j", (type) => {
    const refusal = refuseServerTools({
      tools: [
        { name: "mine", input_schema: {} },
        { type, name: "theirs" }
      ]
    })
    assert.include(refusal ?? "", `tools.1 is ${JSON.stringify(type)} ("theirs")`)
  })

  it.each([
    ...[undefined, null, "custom", "bash_20250124", "text_editor_20250728", "computer_20251124", "memory_20250818"],
    ...["browser_toolset_20260801", "computer_toolset_20260801"],
    ...["str_replace_based_edit_tool", "tool_search_tool_regex_20251119", "tool_search_tool_bm25_20251119"]
  ])("passes %j", (type) => {
    assert.isUndefined(refuseServerTools({ tools: [{ ...(type === undefined ? {} : { type }), name: "mine" }] }))
  })

  it.each([
    [{ mcp_servers: [{ type: "url", url: "https://a.b" }] }, /mcp_servers is given\. Remove it/],
    [{ container: "c_1" }, /container is given/],
    [{ container: { skills: [] } }, /container is given/],
    [{ tools: [{ type: "mcp_toolset" }], mcp_servers: [{}] }, /tools\.0 is "mcp_toolset", mcp_servers.*Remove them/]
  ] as const)("refuses %j", (body, text) => {
    assert.match(refuseServerTools(body as never) ?? "", text)
  })

  it.each([{}, { tools: null }, { tools: {} }, { tools: ["a"] }, { mcp_servers: [] }, { container: null }])(
    "leaves %j to the vendor",
    (body) => assert.isUndefined(refuseServerTools(body))
  )
})

describe("the responses format", () => {
  const build = (...tools: ReadonlyArray<Json>) => {
    const adjusted = new Adjusted()
    return { ...buildTools(tools, "tools", adjusted), adjusted: [...adjusted] }
  }
  const parameters = { type: "object", properties: { city: { type: "string" } } }
  const weather = { type: "function", name: "get_weather", description: "Weather", parameters, strict: true }
  const script = {
    type: "custom",
    name: "script",
    format: { type: "grammar", syntax: "lark", definition: "start: /a/" }
  }

  it.each([
    [weather],
    [{ ...weather, defer_loading: true }],
    [script],
    [{ type: "namespace", name: "mcp__files", description: "Files", tools: [weather, script] }],
    [{ type: "local_shell" }],
    [{ type: "apply_patch" }],
    [{ type: "tool_search", execution: "client", description: "Finds tools", parameters }],
    [{ type: "shell", environment: { type: "local" } }],
    [{ type: "shell", environment: { type: "local", skills: [{ name: "a", description: "b", path: "/c" }] } }]
  ])("passes %j as it is", (tool) => {
    assert.deepStrictEqual(build(tool), { tools: [tool], refused: [], adjusted: [] })
  })

  it.each([
    ...["web_search", "web_search_preview", "web_search_2025_08_26", "file_search", "code_interpreter", "mcp"],
    ...["image_generation", "computer", "computer_use_preview", "shell", "tool_search", "Function", "", null, 7]
  ])("refuses %j", (type) => {
    const { refused, tools } = build(weather, { type })
    assert.deepStrictEqual(refused, [{ path: "tools[1]", tool: { type } }])
    assert.deepStrictEqual(tools, [weather])
    assert.include(refuseTools(refused) ?? "", `tools[1] is ${JSON.stringify(type)}`)
  })

  it.each([
    { type: "shell", environment: { type: "container_auto" } },
    { type: "shell", environment: { type: "container_reference", container_id: "c" } },
    { type: "shell", environment: "local" },
    { type: "tool_search", execution: "server", parameters },
    { type: "web_search", external_web_access: true },
    { type: "web_search", external_web_access: "false" },
    { type: "mcp", external_web_access: false },
    "web_search"
  ])("refuses %j", (tool) => {
    assert.strictEqual(build(tool).refused.length, 1)
  })

  it("refuses what a namespace may not hold, namespaces too", () => {
    const inner = [weather, { type: "namespace", name: "b", tools: [] }, { type: "local_shell" }]
    const { refused } = build({ type: "namespace", name: "a", tools: inner })
    assert.deepStrictEqual(
      refused.map(({ path }) => path),
      ["tools[0].tools[1]", "tools[0].tools[2]"]
    )
  })

  it("leaves out a search that must not reach the web, and names it", () => {
    const { tools, refused, adjusted } = build({ type: "web_search", external_web_access: false }, weather)
    assert.deepStrictEqual(
      { tools, refused, adjusted },
      { tools: [weather], refused: [], adjusted: ["web_search:removed"] }
    )
  })

  it("leaves out what it does not know of a tool, and names it", () => {
    const { tools, adjusted } = build(
      { ...weather, function: { name: "x", parameters: {} }, note: null },
      { type: "local_shell", container: "c" },
      { type: "namespace", name: "a", tools: [{ ...weather, returns: {} }], server_url: "https://a.b" }
    )
    assert.deepStrictEqual(tools, [
      weather,
      { type: "local_shell" },
      { type: "namespace", name: "a", tools: [weather] }
    ])
    assert.deepStrictEqual(adjusted, [
      "tools.function.function:removed",
      "tools.local_shell.container:removed",
      "tools.function.returns:removed",
      "tools.namespace.server_url:removed"
    ])
  })

  it.each([
    [undefined, undefined],
    [null, undefined],
    ["required", "required"],
    [
      { type: "function", name: "f" },
      { type: "function", name: "f" }
    ],
    [
      { type: "function", name: "f", parameters: {}, function: { parameters: {} } },
      { type: "function", name: "f" }
    ],
    [
      { type: "custom", name: "f", namespace: "n" },
      { type: "custom", name: "f", namespace: "n" }
    ],
    [{ type: "shell", environment: {} }, { type: "shell" }],
    [
      { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f", parameters: {} }], note: 1 },
      { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] }
    ]
  ])("builds the choice %j", (given, choice) => {
    assert.deepStrictEqual(Result.getOrThrow(buildChoice(given, new Adjusted())), choice)
  })

  it.each([
    [{ type: "web_search" }, /^tool_choice\.type: "web_search"/],
    [{ type: "mcp", server_label: "a" }, /^tool_choice\.type: "mcp"/],
    [{}, /^tool_choice\.type: null/],
    [{ type: "function", function: { name: "f" } }, /^tool_choice\.function: a choice is flat here/],
    [
      { type: "allowed_tools", tools: [{ type: "function", name: "f" }, { type: "mcp" }] },
      /^tool_choice\.tools\[1\]\.type: "mcp"/
    ]
  ])("refuses the choice %j", (given, text) => {
    assert.match(Result.getOrThrow(Result.flip(buildChoice(given, new Adjusted()))), text)
  })

  const Name = Schema.Literals(["parameters", "function", "schema", "input_schema", "tools", "name", "type", "extra"])
  const Kind = Schema.Literals([
    "function",
    "custom",
    "namespace",
    "local_shell",
    "apply_patch",
    "shell",
    "tool_search",
    "mcp"
  ])
  const forbidden = { type: "object", properties: { webhook_url: { type: "string" } } }
  it.prop(
    "nothing leaves that the screen has not read",
    { names: Schema.Array(Name), kind: Kind },
    ({ names, kind }) => {
      const tool = {
        ...Object.fromEntries(names.map((name) => [name, { parameters: forbidden }])),
        type: kind,
        name: "n",
        execution: "client"
      }
      const { tools } = build(tool, { type: "namespace", name: "n", tools: [tool] })
      const left = JSON.stringify(tools)
      const read = JSON.stringify(screened([tool, { type: "namespace", tools: [tool] }]))
      assert.isTrue(!left.includes("webhook_url") || read.includes("webhook_url"))
    }
  )
})
