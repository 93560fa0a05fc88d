import { describe, expect, it } from "@effect/vitest"
import { arrayOf } from "../../../src/wire/json.ts"
import { asked, call, flash, hear, refusal, say, sonnet } from "../support.ts"

const user = (content: string) => ({ role: "user", content })
const text = (text: string) => ({ type: "text", text })
const result = (tool_call_id: string, content: string) => ({ role: "tool", tool_call_id, content })
const thinking = { type: "thinking", thinking: 'hm\u2028 "x"', signature: "c2ln+/==" }
const redacted = { type: "redacted_thinking", data: "ZGF0YQ==" }
const messages = (...messages: ReadonlyArray<object>) => say(sonnet, { messages }).messages

describe("turns", () => {
  it("join instructions, merge roles and drop empty texts", () => {
    const body = say(sonnet, {
      messages: [
        { role: "system", content: "one" },
        user("a"),
        { role: "developer", content: "two" },
        user("b"),
        user(" \n"),
        { role: "assistant", content: "", tool_calls: null },
        { role: "assistant", content: "c" },
        { role: "system", content: "" },
        user("d")
      ]
    })
    expect(body.system).toBe("one\n\ntwo")
    expect(body.messages).toEqual([
      { role: "user", content: [text("a"), text("b")] },
      { role: "assistant", content: [text("c")] },
      { role: "user", content: [text("d")] }
    ])
  })

  it("let the user begin where the history begins with the assistant", () => {
    expect(messages({ role: "assistant", content: "Hello!" }, user("hi"))).toEqual([
      { role: "user", content: [text("(The assistant speaks first.)")] },
      { role: "assistant", content: [text("Hello!")] },
      { role: "user", content: [text("hi")] }
    ])
  })

  it("leave the word to the assistant where a system message behind it is blank", () => {
    for (const content of ["", " "]) {
      const { adjusted, body } = asked(sonnet, {
        messages: [user("a"), { role: "assistant", content: "b" }, { role: "system", content }]
      })
      expect(arrayOf(body.messages).at(-1)).toEqual({ role: "assistant", content: [text("b")] })
      expect(adjusted).not.toContain("messages.role:system->user")
    }
  })

  it("leave the word to the user where the user says nothing", () => {
    for (const content of ["", " \n", [{ type: "text", text: " " }]]) {
      const { adjusted, body } = asked(sonnet, {
        messages: [user("a"), { role: "assistant", content: "b" }, { role: "user", content }]
      })
      expect(arrayOf(body.messages).at(-1)).toEqual({ role: "user", content: [text("(The user says nothing.)")] })
      expect(adjusted).toContain("messages.content:empty->stand-in")
    }
  })

  it.each([sonnet, flash])("say instructions behind the assistant's last word as the user ($model.id)", (route) => {
    const said = (...roles: ReadonlyArray<string>) =>
      asked(route, {
        messages: [...roles, "developer", "system"].map((role, at) => ({ role, content: `${role} ${at}` }))
      })
    const { adjusted, body } = said("system", "user", "assistant")
    expect(JSON.stringify(arrayOf(body.messages ?? body.contents).at(-1))).toMatch(/"user".*"developer 3".*"system 4"/)
    expect(JSON.stringify(body.system ?? body.systemInstruction)).not.toContain("developer")
    expect(adjusted).toContain("messages.role:system->user")
    expect(said("assistant", "user").adjusted).not.toContain("messages.role:system->user")
  })

  it("say instructions as the user where there is nothing else", () => {
    const { adjusted, body } = asked(sonnet, { messages: [{ role: "system", content: "go" }] })
    expect(body).not.toHaveProperty("system")
    expect(body.messages).toEqual([{ role: "user", content: [text("go")] }])
    expect(adjusted).toContain("messages.role:system->user")
    expect(asked(flash, { messages: [{ role: "developer", content: "go" }] }).adjusted).toContain(
      "messages.role:system->user"
    )
    expect(refusal(sonnet, { messages: [user(" ")] }).message).toBe("messages: at least one message must have content")
  })

  it("put the results of a turn first, in order", () => {
    expect(
      messages(
        user("a"),
        { role: "assistant", content: "c", tool_calls: [call("x", "f", '{"n":1}'), call("y", "g", "")] },
        user("and"),
        result("x", "1"),
        result("y", "")
      )
    ).toEqual([
      { role: "user", content: [text("a")] },
      {
        role: "assistant",
        content: [
          text("c"),
          { type: "tool_use", id: "x", name: "f", input: { n: 1 } },
          { type: "tool_use", id: "y", name: "g", input: {} }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "x", content: "1" },
          { type: "tool_result", tool_use_id: "y" },
          text("and")
        ]
      }
    ])
  })

  it("rewrite IDs that the vendor refuses, the same way everywhere", () => {
    const said = JSON.stringify(
      messages(
        user("a"),
        { role: "assistant", tool_calls: [call("a.b:1", "f", "{}"), call("a_b:1", "f", "{}"), call("", "f", "{}")] },
        result("a.b:1", "1"),
        result("a_b:1", "2"),
        result("", "3")
      )
    )
    const ids = (field: string) => [...said.matchAll(new RegExp(`"${field}":"([^"]*)"`, "g"))].map((match) => match[1])
    expect(ids("tool_use_id")).toEqual(ids("id"))
    expect(new Set(ids("id")).size).toBe(3)
    for (const id of ids("id")) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/)
  })

  it("end a prefill without whitespace and without thinking", () => {
    const body = say(sonnet, { messages: [user("a"), { role: "assistant", content: "b \n" }] })
    expect(body.messages).toEqual([
      { role: "user", content: [text("a")] },
      { role: "assistant", content: [text("b")] }
    ])
    expect(body).not.toHaveProperty("thinking")
  })
})

describe("signed blocks", () => {
  const extra = { anthropic: { thinking_blocks: [thinking, redacted] } }
  const turn = (message: object) => [user("a"), message, result("x", "1")]
  const use = { type: "tool_use", id: "x", name: "f", input: {} }

  it.each([
    ["the message", { role: "assistant", content: "c", tool_calls: [call("x", "f", "{}")], extra_content: extra }],
    ["its first call", { role: "assistant", content: "c", tool_calls: [call("x", "f", "{}", extra)] }],
    ["both", { role: "assistant", content: "c", tool_calls: [call("x", "f", "{}", extra)], extra_content: extra }]
  ])("come back from %s, exactly", (_, message) => {
    const body = say(sonnet, { messages: turn(message) })
    expect(JSON.stringify(body.messages)).toBe(
      JSON.stringify([
        { role: "user", content: [text("a")] },
        { role: "assistant", content: [thinking, redacted, text("c"), use] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "x", content: "1" }] }
      ])
    )
    expect(body.thinking).toEqual({ type: "enabled", budget_tokens: 8192 })
  })

  it("come back before the call that they came with", () => {
    const later = { anthropic: { thinking_blocks: [{ ...thinking, thinking: "2" }] } }
    const message = { role: "assistant", tool_calls: [call("x", "f", "{}", extra), call("y", "f", "{}", later)] }
    expect(say(sonnet, { messages: turn(message) }).messages).toMatchObject([
      {},
      { content: [thinking, redacted, use, { ...thinking, thinking: "2" }, { ...use, id: "y" }] },
      {}
    ])
  })

  it("are left out where the request does not think", () => {
    const message = { role: "assistant", tool_calls: [call("x", "f", "{}", extra)] }
    const body = say(sonnet, { messages: turn(message), reasoning_effort: "none" })
    expect(body.messages).toMatchObject([{}, { content: [use] }, {}])
  })

  it("matter for the turn that goes on only", () => {
    const message = { role: "assistant", tool_calls: [call("x", "f", "{}")] }
    const done = [...turn(message), { role: "assistant", content: "done" }, user("next")]
    expect(say(sonnet, { messages: done }).thinking).toBeDefined()
    expect(say(sonnet, { messages: [...turn(message), user("next")] }).thinking).toBeUndefined()
  })

  it.each([
    [null],
    ["x"],
    [{ anthropic: null }],
    [{ anthropic: { thinking_blocks: "x" } }],
    [{ anthropic: { thinking_blocks: [1, { type: "text" }] } }]
  ])("that are none (%j) are none", (extra_content) => {
    const message = { role: "assistant", tool_calls: [call("x", "f", "{}")], extra_content }
    expect(say(sonnet, { messages: turn(message) }).thinking).toBeUndefined()
  })

  it("go out on the call behind them, and in order on the message", () => {
    const content = [thinking, redacted, text("t"), use, { ...thinking, thinking: "2" }, { ...use, id: "y" }]
    const answer = hear(sonnet, { content, stop_reason: "tool_use", usage: {} })
    const model = "claude-sonnet-4-5"
    expect(answer.message.tool_calls?.map((call) => call.extra_content)).toEqual([
      { anthropic: { model, thinking_blocks: [thinking, redacted] } },
      { anthropic: { model, thinking_blocks: [{ ...thinking, thinking: "2" }] } }
    ])
    expect(answer.message.extra_content).toEqual({
      anthropic: {
        model,
        thinking_blocks: [thinking, redacted, { ...thinking, thinking: "2" }],
        order: [
          { type: "thinking" },
          { type: "redacted_thinking" },
          { type: "text", length: 1 },
          { type: "tool_use", id: "x" },
          { type: "thinking" },
          { type: "tool_use", id: "y" }
        ]
      }
    })
  })
})
