/** A large reply is read as a small one is, with other requests served in between (docs/decisions.md#work-in-slices). */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isLargeReply, readLargeReply, readReplyObject } from "../../src/provider/largeReply.ts"

const lorem = "lorem \u00e9 \ud83d\ude00 \\n \\u00e9 ".repeat(100_000)
const texts: Readonly<Record<string, string>> = {
  text: `{"content":[{"type":"text","text":"${lorem}"}]}`,
  "numbers of a tool's input": `{"input":{"a":[1.0,1e3,-0,0.10,12345678901234567890,12,-1.5],"t":"${lorem}"}}`,
  "numbers elsewhere": `{"a":[1.0,1e3,-0,0.10,12345678901234567890,12,-1.5,1e999]}`,
  "many values": `{"a":[${"{},".repeat(200_000)}1]}`,
  "a long name": `{"${"n".repeat(3000)}":1,"input":1.0}`,
  "deep nesting": `{"a":${"[".repeat(600)}${"]".repeat(600)}}`,
  "an array": "[1]",
  "no JSON": '{"a":',
  nothing: ""
}

describe("the same object as at once", () => {
  for (const [name, text] of Object.entries(texts)) {
    it.live(name, () =>
      Effect.map(readLargeReply(Buffer.from(text)), (object) => {
        assert.strictEqual(JSON.stringify(object), JSON.stringify(readReplyObject(text)))
      })
    )
  }
})

it("is read in slices", async () => {
  const text = texts.text ?? ""
  assert.isTrue(isLargeReply(text.length))
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  const began = process.threadCpuUsage()
  await Effect.runPromise(readLargeReply(Buffer.from(text)))
  clearInterval(timer)
  const { user, system } = process.threadCpuUsage(began)
  assert.isAbove(turns, (user + system) / 1000 / 20, "a turn for every 20 ms of work")
})

describe("a vector", () => {
  const numbers = "[0.25,-1e-3,0.5]"
  const read = (text: string) => readReplyObject(text, true)

  it.each([
    ["said twice", `{"embedding":${numbers},"embeddingsByType":{"float":${numbers}},"inputTextTokenCount":3}`],
    [
      "said twice, the count between",
      `{"embedding":${numbers},"inputTextTokenCount":3,"embeddingsByType":{"float":${numbers}}}`
    ],
    ["said by type before", `{"embeddingsByType":{"float":${numbers}},"embedding":${numbers},"inputTextTokenCount":3}`],
    ["said once", `{"embedding":${numbers},"inputTextTokenCount":3}`],
    ["said otherwise by type", `{"embedding":${numbers},"embeddingsByType":{"float":[1]},"inputTextTokenCount":3}`]
  ])("%s is read", (_, text) => {
    const { embedding, inputTextTokenCount } = read(text) ?? {}
    assert.deepStrictEqual(
      { embedding, inputTextTokenCount },
      { embedding: [0.25, -0.001, 0.5], inputTextTokenCount: 3 }
    )
  })
  it.each([
    ["of lists", '{"embedding":[[1],[2]],"embeddingsByType":{"float":[[1],[2]]}}'],
    ["with brackets in words", '{"embedding":["]"],"embeddingsByType":{"float":["]"]}}']
  ])("%s is the object that it was", (_, text) => assert.deepStrictEqual(read(text), JSON.parse(text)))
  it.each([
    ["cut off", `{"embedding":${numbers},"embeddingsByType":{"float":${numbers}}`],
    ["of nothing", "{"],
    ["that does not end", '{"embedding":[0.25,"embeddingsByType":{"float":[0.25']
  ])("%s is none", (_, text) => assert.isUndefined(read(text)))
})
