/** What calls tools is scanned, whatever JSON stands where a call has its input (docs/api.md#tool-call-scan). */
import { assert, describe, it } from "@effect/vitest"
import {
  blockStart,
  blockStop,
  messageDelta,
  messageStart,
  messageStop,
  sseFrame,
  wholeMessage
} from "../../support/claude.ts"
import { reply, streaming } from "../../support/fakeUpstream.ts"
import { open } from "../../support/http.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream()

const url = "https://a.example/x"
const messages = {
  path: "/v1/messages",
  body: { model: "claude-sonnet-4-5:il2", max_tokens: 100, messages: [{ role: "user", content: "hi" }] },
  whole: (input: unknown) => wholeMessage([{ type: "tool_use", id: "c", name: "f", input }], {}),
  streamed: (input: unknown) =>
    [
      messageStart(),
      blockStart(0, { type: "tool_use", id: "c", name: "f", input }),
      blockStop(0),
      messageDelta("tool_use"),
      messageStop
    ].map(sseFrame)
}
const responses = (type: string, field: string) => {
  const itemOf = (input: unknown) => ({ type, id: "i", call_id: "c", name: "f", [field]: input })
  const response = { id: "r", object: "response", status: "completed", model: "m", usage: null }
  return {
    path: "/v1/responses",
    body: { model: "gpt-5.1:il5", input: "hi" },
    whole: (input: unknown): object => ({ ...response, output: [itemOf(input)] }),
    streamed: (input: unknown) =>
      [
        { type: "response.output_item.added", output_index: 0, item: itemOf(input) },
        { type: "response.output_item.done", output_index: 0, item: itemOf(input) },
        { type: "response.completed", response: { ...response, output: [] } }
      ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  }
}

describe.each([
  ["messages", messages],
  ["functions", responses("function_call", "arguments")],
  ["custom tools", responses("custom_tool_call", "input")]
] as const)("calls of %s", (_, { body, path, streamed, whole }) => {
  it.each([[url], [[url]], [{ to: url }], [{ [url]: 1 }]])("with the input %j are flagged", async (input) => {
    for (const stream of [false, true]) {
      upstream.use(
        stream
          ? streaming(streamed(input))
          : (socket) => void socket.write(reply("200 OK", JSON.stringify(whole(input))))
      )
      const got = await (await open(`${gateway.url}${path}`, { ...body, stream })).text()
      assert.include(got, '"reason":"external_destination"', `stream: ${stream}`)
    }
  })
})
