/** Large bodies are parsed ahead, to the value that the engine would parse. */
import { assert, it } from "@effect/vitest"
import { parseAhead, parseBody } from "../../src/sandbox/json.ts"

const long = "lorem ipsum \\n é ".repeat(30_000)

it.each([
  ["text", `{"a":"${long}"}`],
  ["numbers", `{"a":[1e5,12345678901234567890,-0,1e999],"b":"${long}"}`],
  ["a long name", `{"${"n".repeat(2000)}":1,"b":"${long}"}`],
  ["no JSON", `{"a":"${long}"`],
  ["a small body", '{"a":1}']
])("%s", async (_, text) => {
  const body = Buffer.from(text)
  const expected = parseBody(body)
  await parseAhead(body)
  assert.deepStrictEqual(parseBody(body), expected)
})
