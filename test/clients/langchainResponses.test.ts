/** LangChain's client over the responses surface, as `useResponsesApi` makes it. */
import { assert, describe, it } from "@effect/vitest"
import { HumanMessage, ToolMessage } from "@langchain/core/messages"
import { ChatOpenAI } from "@langchain/openai"
import { sharedGateway } from "../support/shared.ts"

const gateway = sharedGateway()

const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  }
} as const

describe.each([false, true])("ChatOpenAI with useResponsesApi, streaming: %s", (streaming) => {
  const model = () =>
    new ChatOpenAI({
      model: "gpt-5.1:il5",
      apiKey: "unused",
      useResponsesApi: true,
      streaming,
      maxRetries: 0,
      configuration: { baseURL: `${gateway.url}/v1`, defaultHeaders: { "x-api-key": "sandbox-key" } }
    })

  it("answers", async () => {
    const { text } = await model().invoke("What is a fjord?")
    assert.match(text, /^You asked about a fjord\./)
  })

  it("calls a tool, and goes on from its result", async () => {
    const bound = model().bindTools([weather])
    const question = new HumanMessage("What is the weather in Oslo?")
    const called = await bound.invoke([question])
    const [call] = called.tool_calls ?? []
    assert.deepInclude(call, { name: "get_weather", args: { city: "Oslo" } })
    const result = new ToolMessage({ tool_call_id: call?.id ?? "none", content: "rain" })
    const { text } = await bound.invoke([question, called, result])
    assert.match(text, /get_weather answered: rain/)
  })

  it("rejects with the gateway's message", async () => {
    const call = model().invoke("[sandbox: status=400]")
    assert.match(await call.then(String, String), /400/)
  })
})
