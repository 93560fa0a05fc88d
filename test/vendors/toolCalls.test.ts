/** Calls and results in a history, for every family (docs/api.md#tool-use). */
import { describe, expect, it } from "@effect/vitest"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../../src/wire/json.ts"
import { asked, azure, call, flash, opus, oss, refusal, sonnet, sonnetBedrock, terra } from "./support.ts"

const user = { role: "user", content: "hi" }
const calls = (...calls: ReadonlyArray<JsonObject>) => ({ role: "assistant", content: null, tool_calls: calls })
const result = (tool_call_id: string, content: string) => ({ role: "tool", tool_call_id, content })

const families = [
  ["Claude on Vertex", sonnet],
  ["Claude on Bedrock", sonnetBedrock],
  ["adaptive Claude", opus],
  ["Gemini", flash],
  ["GPT", azure],
  ["GPT by responses", terra],
  ["gpt-oss", oss]
] as const

/** What a body says of calls and results, in order: each as its kind, its ID where it has one, and its text. */
const exchanged = (body: JsonObject): ReadonlyArray<readonly ["call" | "result", string | undefined, string]> => {
  const found: Array<readonly ["call" | "result", string | undefined, string]> = []
  const walk = (value: Json | undefined): void => {
    if (Array.isArray(value)) for (const item of value) walk(item)
    if (!isObject(value)) return
    const { functionCall, functionResponse, type, role } = value
    if (type === "tool_use") found.push(["call", textOf(value.id), JSON.stringify(value.input)])
    else if (type === "tool_result") found.push(["result", textOf(value.tool_use_id), textOf(value.content) ?? ""])
    else if (type === "function")
      found.push(["call", textOf(value.id), textOf(objectOf(value.function).arguments) ?? ""])
    else if (role === "tool") found.push(["result", textOf(value.tool_call_id), textOf(value.content) ?? ""])
    else if (type === "function_call") found.push(["call", textOf(value.call_id), textOf(value.arguments) ?? ""])
    else if (type === "function_call_output") found.push(["result", textOf(value.call_id), textOf(value.output) ?? ""])
    else if (isObject(functionCall)) found.push(["call", undefined, JSON.stringify(functionCall.args)])
    else if (isObject(functionResponse)) {
      found.push(["result", undefined, textOf(objectOf(functionResponse.response).output) ?? ""])
    } else for (const inner of Object.values(value)) walk(inner)
  }
  walk(body.messages ?? body.contents ?? body.input)
  return found
}

describe.each(families)("%s", (_, route) => {
  it("an ID that repeats in a later turn is another one there, in the call and in its result", () => {
    const turn = (name: string) => [calls(call("call_0", "f", `{"turn":"${name}"}`)), result("call_0", name)]
    const messages = [user, ...turn("a"), ...turn("b"), ...turn("c")]
    const { adjusted, body } = asked(route, { messages })
    expect(adjusted).toContain("messages.tool_calls.id:repeated->unique")
    const said = exchanged(body)
    expect(said.map(([kind, , text]) => [kind, text])).toEqual(
      ["a", "b", "c"].flatMap((name) => [
        ["call", `{"turn":"${name}"}`],
        ["result", name]
      ])
    )
    const ids = (kind: string) => said.filter((one) => one[0] === kind).map(([, id]) => id)
    expect(ids("result")).toEqual(ids("call"))
    if (route !== flash) expect(new Set(ids("call")).size).toBe(3)
    // The same in the next request, so that a prompt cache holds.
    expect(exchanged(asked(route, { messages: [...messages, user] }).body)).toEqual(said)
  })

  it("an ID that repeats within a turn is paired in order", () => {
    const messages = [
      user,
      calls(call("x", "f", '{"n":1}'), call("x", "f", '{"n":2}')),
      result("x", "one"),
      result("x", "two")
    ]
    const said = exchanged(asked(route, { messages }).body)
    const [first, second, one, two] = said
    expect(said.map(([, , text]) => text)).toEqual(['{"n":1}', '{"n":2}', "one", "two"])
    expect([one?.[1], two?.[1]]).toEqual([first?.[1], second?.[1]])
    if (route !== flash) expect(first?.[1]).not.toBe(second?.[1])
  })

  it("two results of one call are one, with both texts in order", () => {
    const messages = [
      user,
      calls(call("x", "f", "{}"), call("y", "g", "{}")),
      result("x", '{"a":1}'),
      result("y", "other"),
      result("x", "more")
    ]
    const { adjusted, body } = asked(route, { messages })
    expect(adjusted).toContain("messages.tool_call_id:repeated->joined")
    expect(
      exchanged(body)
        .filter(([kind]) => kind === "result")
        .map(([, , text]) => text)
    ).toEqual(['{"a":1}\n\nmore', "other"])
  })

  it.each([
    ["that no call has", [user, calls(call("x", "f", "{}")), result("x", "1"), result("y", "2")], 3, "y"],
    ["without any call", [user, result("x", "1")], 1, "x"],
    [
      "of a call that is over",
      [user, calls(call("x", "f", "{}")), result("x", "1"), { role: "assistant", content: "done" }, result("x", "2")],
      4,
      "x"
    ]
  ])("a result %s is 400 and named", (_, messages, at, id) => {
    expect(refusal(route, { messages }).message).toBe(
      `messages[${at}].tool_call_id: the assistant message before it has no tool call with the ID "${id}"`
    )
  })

  it("a result that comes after the user has said something stands behind its call", () => {
    const messages = [
      user,
      calls(call("a", "f", "{}"), call("b", "f", "{}")),
      result("a", "one"),
      { role: "user", content: "wait" },
      { role: "system", content: "Be brief." },
      result("b", "two")
    ]
    const { adjusted, body } = asked(route, { messages })
    expect(adjusted).toContain("messages.tool_call_id:late->after-call")
    expect(exchanged(body).map(([kind, , text]) => [kind, text])).toEqual([
      ["call", "{}"],
      ["call", "{}"],
      ["result", "one"],
      ["result", "two"]
    ])
    const said = JSON.stringify(body.messages ?? body.contents ?? body.input)
    expect(said.indexOf("wait")).toBeGreaterThan(said.indexOf("two"))
  })

  it("what is said between a call and its result is said before the result", () => {
    const aside = { role: "assistant", content: "A moment." }
    const said = { role: "assistant", content: "I look.", tool_calls: [call("x", "f", "{}")] }
    const { adjusted, body } = asked(route, { messages: [user, said, aside, result("x", "one")] })
    expect(adjusted.filter((name) => name.startsWith("messages."))).toEqual([])
    const text = JSON.stringify(body.messages ?? body.contents ?? body.input)
    const places = ["I look.", "A moment.", "one"].map((word) => text.indexOf(word))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places).not.toContain(-1)
    if (route === azure || route === oss) {
      expect(arrayOf(body.messages).map((message) => objectOf(message).role)).toEqual(["user", "assistant", "tool"])
    }
  })

  it("calls of two messages in a row are one turn", () => {
    const messages = [
      user,
      calls(call("x", "f", '{"n":1}')),
      calls(call("y", "g", '{"n":2}')),
      result("y", "two"),
      result("x", "one")
    ]
    const { adjusted, body } = asked(route, { messages })
    expect(adjusted.filter((name) => name.startsWith("messages."))).toEqual([])
    // Of items there are no messages.
    const turns = arrayOf(body.messages ?? body.contents).filter((turn) =>
      /assistant|model/.test(`${objectOf(turn).role}`)
    )
    expect(turns.length).toBe(route === terra ? 0 : 1)
    const said = exchanged(body)
    expect(said.slice(0, 2).map(([, , text]) => text)).toEqual(['{"n":1}', '{"n":2}'])
    expect(new Set(said.slice(2).map(([, , text]) => text))).toEqual(new Set(["one", "two"]))
  })

  it("a usual history is named nowhere, and its IDs stay", () => {
    const messages = [user, calls(call("x", "f", '{"a":1}')), result("x", "1"), user]
    const { adjusted, body } = asked(route, { messages })
    expect(adjusted.filter((name) => name.startsWith("messages."))).toEqual([])
    expect(exchanged(body)[0]?.[1]).toBe(route === flash ? undefined : "x")
  })
})

/** Nested too deep for a recursive printer. */
const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`

describe("arguments that are no object", () => {
  const history = (args: string) => ({ messages: [user, calls(call("x", "f", args)), result("x", "1")] })
  const texts = ['{"a": "hel', "{", "[]", "1", "null", '"x"', "not JSON", deep]

  it.each(families.filter(([, { model }]) => model.family !== "gpt"))("stand under one key on %s", (_, route) => {
    for (const text of texts) {
      const { adjusted, body } = asked(route, history(text))
      expect(exchanged(body)[0]?.[2]).toBe(JSON.stringify({ arguments: text }))
      expect(adjusted).toContain("messages.tool_calls.function.arguments:text->object")
    }
    for (const text of ["", " \n"]) {
      const { adjusted, body } = asked(route, history(text))
      expect(exchanged(body)[0]?.[2]).toBe("{}")
      expect(adjusted).not.toContain("messages.tool_calls.function.arguments:text->object")
    }
  })

  it.each(families.filter(([, { model }]) => model.family === "gpt"))("stay as they are on %s", (_, route) => {
    for (const text of texts) expect(exchanged(asked(route, history(text)).body)[0]?.[2]).toBe(text)
  })

  it("are named once", () => {
    const messages = [user, calls(call("x", "f", "["), call("y", "f", "[")), result("x", "1"), result("y", "1")]
    const named = asked(sonnet, { messages }).adjusted.filter((name) => name.includes("arguments"))
    expect(arrayOf(named)).toHaveLength(1)
  })
})
