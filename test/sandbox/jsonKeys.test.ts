import { assert, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { keysIn } from "../../src/sandbox/jsonKeys.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { processorTime } from "../support/processorTime.ts"
import { openai, post } from "./support.ts"

it.each<[string, ReadonlyArray<string>]>([
  ['Answer as {"answer": "…", "why": 1}.', ["answer", "why"]],
  ["Return JSON with keys name and age.", ["name", "age"]],
  ['Return JSON with the keys "city" and "days", please.', ["city", "days"]],
  ["Give me JSON with fields: title, year and author of the book.", ["title", "year", "author"]],
  ["A JSON object that has the properties called score, reason", ["score", "reason"]],
  ['Answer as JSON with the keys name, age and "city".', ["name", "age", "city"]],
  ["Use keys `first_name`, `last_name`, `first_name`.", ["first_name", "last_name"]],
  ['Reply in JSON with a "verdict".', ["verdict"]],
  ["A trip, as JSON", []],
  ["", []]
])("%j names %j", (prompt, keys) => assert.deepStrictEqual(keysIn(prompt), keys))

it("is read in linear time, and has no more keys than a person names", () => {
  const many = Array.from({ length: 50_000 }, (_, n) => `k${n}`).join(", ")
  assert.lengthOf(keysIn(`keys ${many}`), 16)
  for (const text of ['"', "keys ", "keys the ", "a ", '"a"']) assert.isAtMost(keysIn(text.repeat(100_000)).length, 16)
  for (const blank of [" ", "\t", "\r", "\u2028"])
    assert.isBelow(
      processorTime(() => keysIn(`keys: a${blank.repeat(60_000)}b`)),
      300
    )
})

layer(Sandbox.layer({ pace: 0 }))("JSON without a schema", (it) => {
  it.effect("has the keys that the prompt names, or else the instructions", () =>
    Effect.gen(function* () {
      const json = (...messages: ReadonlyArray<readonly [role: string, content: string]>) =>
        post(openai("chat/completions"), {
          model: "gpt-5.1",
          messages: messages.map(([role, content]) => ({ role, content })),
          response_format: { type: "json_object" }
        }).pipe(Effect.map((got): object => JSON.parse(JSON.parse(got.text).choices[0].message.content)))
      assert.hasAllKeys(yield* json(["user", 'Who are you? JSON with the keys "name" and "role"']), ["name", "role"])
      const instructed = json(["system", "Answer in JSON with keys color, hex."], ["user", "What is the sky?"])
      assert.hasAllKeys(yield* instructed, ["color", "hex"])
      assert.hasAllKeys(yield* json(["user", "A trip, as JSON"]), ["answer"])
    })
  )
})
