import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { exampleIn, jsonAsked, wantsFence } from "../../src/sandbox/jsonAsked.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { processorTime } from "../support/processorTime.ts"
import { body, SONNET, user } from "./claudeRequests.ts"
import { claude, openai, post } from "./support.ts"

const schema = { type: "object", properties: { name: { type: "string" }, age: { type: "integer" } } }
const text = JSON.stringify(schema, null, 2)

describe("JSON asked for in words", () => {
  it.each<[string, object | "json" | undefined]>([
    [`Be brief.\n\nAnswer with one JSON value that conforms to this JSON Schema:\n${text}`, schema],
    [
      `provide the parsed objects in json that match the following json_schema:\n\n${text}\n\nan instance of it.`,
      schema
    ],
    [
      `a JSON instance that conforms to the JSON schema below.\nAs an example, for the schema {"type":"array"}\nthe object {"foo": "a}"} is well-formatted.\n{"broken\nHere is the output schema:\n\`\`\`\n${text}\n\`\`\``,
      schema
    ],
    [`Always respond with a JSON object that's compatible with this schema:\n\n${text}`, schema],
    [`Here's a JSON schema to follow:\n${text}`, schema],
    ["Answer with one JSON object and nothing else.", "json"],
    ["Extract the people. Return ONLY valid JSON, no text.", "json"],
    ["Who? JSON only.", "json"],
    ["Tell me a joke. Return JSON with keys setup and punchline.", "json"],
    ["It conforms to this JSON Schema: {broken", undefined],
    ['It matches the schema of {"name":"Bob"}.', undefined],
    ['Tools take JSON Schema, such as {"type":"object"}.', undefined],
    ["The tool only accepts JSON.", undefined],
    ["Add an endpoint that accepts only JSON bodies, or make it accept only JSON.", undefined],
    ["The service returns JSON only.", undefined],
    ["Mend it. Return JSON from the endpoint. Output JSON lines.", undefined],
    ["", undefined]
  ])("%j", (words, read) => assert.deepStrictEqual(jsonAsked(words), read))

  it("stands in a block of code where one is asked for", () => {
    assert.isTrue(wantsFence("Return the correct JSON response within a ```json codeblock."))
    assert.isFalse(wantsFence("JSON only, no Markdown fences such as ```json"))
    assert.isFalse(wantsFence("Return JSON."))
  })

  it("is read in linear time", () => {
    for (const part of ["{", '{"', "{}", "{x}", "match"])
      assert.isBelow(
        processorTime(() => jsonAsked(`conform to this schema ${part.repeat(500_000)}`)),
        300
      )
  })
})

it("an example says which kinds of values an answer has", () => {
  const shown = 'An input: {"id": 7}. Output: {"memory": [{"kind": "user", "text": "It rains", "n": 1, "ok": true}]}.'
  const item = {
    type: "object",
    properties: { kind: { const: "user" }, text: { type: "string" }, n: { type: "integer" }, ok: { const: true } },
    required: ["kind", "text", "n", "ok"]
  }
  const memory = { type: "array", items: item }
  const asked = { type: "object", properties: { memory }, required: ["memory"] }
  assert.deepStrictEqual(exampleIn(`${shown} Or {"memory": []}`), asked)
  assert.isUndefined(exampleIn("None: {}, {x}"))
})

layer(Sandbox.layer({ pace: 0 }))("an answer in JSON", (it) => {
  const answer = (more: object, ...messages: ReadonlyArray<readonly [role: string, content: string]>) =>
    post(openai("chat/completions"), {
      model: "gpt-5.1",
      messages: messages.map(([role, content]) => ({ role, content })),
      ...more
    }).pipe(Effect.map((got): string => JSON.parse(got.text).choices[0].message.content))
  const asked = `Give JSON that matches the following schema: ${text}`

  it.effect("has the schema that is given in words", () =>
    Effect.gen(function* () {
      for (const more of [{}, { response_format: { type: "json_object" } }]) {
        const json = yield* answer(more, ["system", asked], ["user", "Yesterday Ann Lee was 41."])
        assert.deepStrictEqual(JSON.parse(json), { name: "Ann Lee", age: 41 })
      }
      const shown = yield* answer({ response_format: { type: "json_object" } }, ["user", `Ann is 41. As JSON: ${text}`])
      assert.strictEqual(JSON.parse(shown).age, 41)
      const fenced = yield* answer({}, ["system", asked], ["user", "Ann is 41. Use a ```json code block."])
      assert.match(fenced, /^```json\n\{"name":.+\}\n```$/)
    })
  )

  it.effect("goes on with what was begun, where the cloud's does", () =>
    Effect.gen(function* () {
      for (const begun of ["{", 'Here it is:\n{"name":', "```json\n{"]) {
        const messages = [user(`${asked} Yesterday Ann Lee was 41.`), { role: "assistant", content: begun }]
        const { text: continued } = (yield* post(claude(SONNET), body({ messages }))).json.content[0]
        const [json = ""] = /\{.+\}/s.exec(begun + continued) ?? []
        assert.deepStrictEqual(JSON.parse(json), { name: "Ann Lee", age: 41 })
        assert.strictEqual(continued.endsWith("```"), begun.startsWith("```"))
      }
      for (const begun of ["Well,", "function run() {"]) {
        const prose = [user("Hi"), { role: "assistant", content: begun }]
        assert.match((yield* post(claude(SONNET), body({ messages: prose }))).json.content[0].text, /^You asked about/)
      }
    })
  )

  it.effect("is like the example that is shown", () =>
    Effect.gen(function* () {
      const shown = 'Answer in JSON as {"facts": [{"kind": "user", "fact": "Likes rain"}], "sure": 0.5}'
      const format = { response_format: { type: "json_object" } }
      const json = yield* answer(format, ["system", shown], ["user", "I moved to Oslo 3 years ago"])
      assert.deepStrictEqual(JSON.parse(json), { facts: [{ kind: "user", fact: "Oslo" }], sure: 3 })
    })
  )
})
