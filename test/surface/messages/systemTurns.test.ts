import { describe, expect, it } from "@effect/vitest"
import { foldSystem } from "../../../src/surfaces/messageTurns.ts"
import { Adjusted } from "../../../src/vendors/adjustments.ts"
import type { Json, JsonObject } from "../../../src/wire/json.ts"
import { superlinear, type Work } from "../../support/growth.ts"

const user = (content: Json) => ({ role: "user", content })
const assistant = (content: Json) => ({ role: "assistant", content })
const system = (content: Json) => ({ role: "system", content })
const text = (text: string) => ({ type: "text", text })
const reminder = (words: string) => text(`<system-reminder>\n${words}\n</system-reminder>`)
const result = { type: "tool_result", tool_use_id: "t", content: "x" }

const fold = (given: JsonObject, keeps: boolean) => {
  const adjusted = new Adjusted()
  const body = foldSystem(given, keeps, adjusted)
  return { body, folded: adjusted.has("messages.role:system->user") }
}

describe("system messages among the others", () => {
  it.each<[string, ReadonlyArray<Json>, ReadonlyArray<Json>]>([
    ["between two of the user's", [user("a"), system("s"), user("b")], [user("a"), user([reminder("s"), text("b")])]],
    [
      "before the user",
      [user("a"), assistant("b"), system("s"), user("c")],
      [user("a"), assistant("b"), user([reminder("s"), text("c")])]
    ],
    [
      "after results of tools",
      [user("a"), assistant("b"), system("s"), user([result, text("c")])],
      [user("a"), assistant("b"), user([result, reminder("s"), text("c")])]
    ],
    [
      "before the assistant",
      [user("a"), system("s"), assistant("b")],
      [user([text("a"), reminder("s")]), assistant("b")]
    ],
    ["last", [user([text("a")]), system([text("s"), text("t")])], [user([text("a"), reminder("s"), reminder("t")])]],
    ["marked already", [user("a"), system([reminder("s")])], [user([text("a"), reminder("s")])]],
    [
      "several",
      [user("a"), assistant("b"), system("s"), system("t"), user("c")],
      [user("a"), assistant("b"), user([reminder("s"), reminder("t"), text("c")])]
    ],
    [
      "behind the assistant",
      [user("a"), assistant("b"), system("s")],
      [user("a"), assistant("b"), user([reminder("s")])]
    ]
  ])("%s", (_, messages, expected) => {
    const before = structuredClone(messages)
    expect(fold({ messages }, false)).toEqual({ body: { messages: expected }, folded: true })
    expect(messages).toEqual(before)
  })

  it.each<[string, ReadonlyArray<Json>, ReadonlyArray<Json>]>([
    ["after the user, before the assistant", [user("a"), system("s"), assistant("b")], []],
    ["after the user, last", [user("a"), system("s"), system("t")], []],
    ["between two of the user's", [user("a"), system("s"), user("b")], [user("a"), user([reminder("s"), text("b")])]],
    [
      "behind the assistant",
      [user("a"), assistant("b"), system("s")],
      [user("a"), assistant("b"), user([reminder("s")])]
    ]
  ])("where the model takes some: %s", (_, messages, expected) => {
    const folded = expected.length > 0
    expect(fold({ messages }, true)).toEqual({ body: { messages: folded ? expected : messages }, folded })
  })

  it("at the beginning become part of the system text, also where others are taken", () => {
    const messages = [system("s"), user("a"), system("t")]
    const begun = { system: [text("x"), text("s")], messages: [user("a"), system("t")] }
    const adjusted = new Adjusted()
    expect(foldSystem({ system: "x", messages }, true, adjusted)).toEqual(begun)
    expect([...adjusted]).toEqual(["messages:system-first"])
    const folded = { system: [text("s")], messages: [user([text("a"), reminder("t")])] }
    expect(fold({ messages }, false)).toEqual({ body: folded, folded: true })
  })

  it("are the user's where there is nothing else", () => {
    const messages = [user([text("s")])]
    expect(fold({ messages: [system("s")] }, false)).toEqual({ body: { messages, system: [] }, folded: true })
  })

  it.each<[string, ReadonlyArray<Json>]>([
    ["behind the assistant", [user("a"), assistant("b"), system("")]],
    ["before the assistant", [user("a"), system([]), assistant("b")]],
    ["between two of the assistant's", [user("a"), assistant("b"), system(""), assistant("c")]]
  ])("that say nothing make no turn without content: %s", (_, messages) => {
    const { body } = fold({ messages }, false)
    expect(body.messages).toEqual(messages.filter((message) => !JSON.stringify(message).includes("system")))
  })

  it("none change nothing", () => {
    const body = { messages: [user("a")] }
    expect(fold(body, false)).toEqual({ body, folded: false })
    const kept = { messages: [user("a"), system("s")] }
    expect(fold(kept, true)).toEqual({ body: kept, folded: false })
  })

  it.each([
    ["before the user", (many: ReadonlyArray<Json>) => [assistant("b"), ...many, user("c")]],
    ["behind the user", (many: ReadonlyArray<Json>) => [user("a"), ...many]],
    ["behind the assistant", (many: ReadonlyArray<Json>) => [user("a"), assistant("b"), ...many]],
    ["at the beginning", (many: ReadonlyArray<Json>) => [...many, user("c")]]
  ])("many take time in proportion: %s", async (_, among) => {
    const folding =
      (size: number): Work =>
      (step) => {
        const messages = among(Array.from({ length: size }, () => system("y")))
        step("fold", () => fold({ messages }, false))
      }
    expect(await superlinear(folding, 2000)).toEqual([])
  })
})
