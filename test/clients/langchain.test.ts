/**
 * LangChain's OpenAI chat model against every kind of upstream. `ChatOpenAI` itself sends models whose names look new to
 * `/v1/responses`, so that its chat-completions half is what a caller of several vendors wants.
 */
import { assert, describe, it } from "@effect/vitest"
import { AIMessageChunk, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages"
import { tool } from "@langchain/core/tools"
import { ChatOpenAICompletions } from "@langchain/openai"
import { dataUri } from "../support/chat.ts"
import { sixModels } from "../support/chatKinds.ts"
import { sharedGateway } from "../support/shared.ts"

const gateway = sharedGateway()

const modelOf = (model: string, fields: ConstructorParameters<typeof ChatOpenAICompletions>[0] = {}) =>
  new ChatOpenAICompletions({
    model,
    apiKey: "anything",
    maxRetries: 0,
    configuration: { baseURL: `${gateway.url}/v1`, defaultHeaders: { "x-api-key": "sandbox-key" } },
    ...fields
  })
const tokens = (message: BaseMessage | undefined, kind: string): number =>
  Number(Reflect.get(Object(Reflect.get(Object(message), "usage_metadata")), kind))
const two = '[sandbox: tool=get_weather args={"city":"Oslo"}] [sandbox: tool=get_weather args={"city":"Rome"}]'
const rain = (city: unknown) => `rain in ${city}`
const weather = tool(({ city }: { city: string }) => rain(city), {
  name: "get_weather",
  description: "The weather of a city",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false }
})

for (const id of sixModels) {
  describe(id, () => {
    it("invoke", async () => {
      const done = await modelOf(id).invoke([new SystemMessage("Be brief."), new HumanMessage("What is a fjord?")])
      assert.match(String(done.content), /fjord/)
      assert.isAbove(tokens(done, "input_tokens"), 0)
      assert.strictEqual(done.response_metadata.finish_reason, "stop")
    })

    it("stream", async () => {
      let text = ""
      let last: AIMessageChunk | undefined
      for await (const chunk of await modelOf(id).stream("[sandbox: events=20]")) {
        text += String(chunk.content)
        last = last === undefined ? chunk : last.concat(chunk)
      }
      assert.match(text, /^worda .*wordt/)
      assert.isAbove(tokens(last, "output_tokens"), 0)
    })

    for (const stream of [false, true]) {
      it(`bindTools: parallel calls, three turns${stream ? ", streamed" : ""}`, async () => {
        const model = modelOf(id, { reasoning: { effort: "medium" } }).bindTools([weather])
        const messages: Array<BaseMessage> = [new SystemMessage("Be brief.")]
        const ask = async () => {
          if (!stream) return model.invoke(messages)
          let whole: AIMessageChunk | undefined
          for await (const chunk of await model.stream(messages))
            whole = whole === undefined ? chunk : whole.concat(chunk)
          return whole ?? new AIMessageChunk("")
        }
        for (let turn = 0; turn < 3; turn++) {
          messages.push(new HumanMessage(two))
          const called = await ask()
          assert.deepStrictEqual(
            called.tool_calls?.map(({ args }) => args),
            [{ city: "Oslo" }, { city: "Rome" }]
          )
          messages.push(called)
          for (const call of called.tool_calls ?? []) {
            messages.push(
              new ToolMessage({
                tool_call_id: call.id ?? "",
                content: rain(call.args.city)
              })
            )
          }
          const answered = await ask()
          assert.match(String(answered.content), /rain in Oslo/)
          messages.push(answered)
        }
      })
    }

    it("structured output by a tool", async () => {
      const schema = { title: "plan", type: "object", properties: { city: { type: "string" } }, required: ["city"] }
      const model = modelOf(id, { reasoning: { effort: "none" } }).withStructuredOutput(schema, {
        method: "functionCalling"
      })
      // Gemini takes no forced choice (docs/api.md#reasoning, rule 7): there it must be asked.
      const plan = await model.invoke(
        id.startsWith("gemini") ? '[sandbox: tool=plan args={"city":"Oslo"}]' : "A plan for a city"
      )
      assert.hasAllKeys(plan, ["city"])
    })

    it("structured output by a JSON schema", async () => {
      const schema = {
        title: "plan",
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false
      }
      const model = modelOf(id).withStructuredOutput(schema, { method: "jsonSchema", strict: true })
      assert.hasAllKeys(await model.invoke("A plan for a city"), ["city"])
    })

    it("images and PDFs where the model takes them", async () => {
      const content = [
        { type: "text", text: "What is this?" },
        ...(id.startsWith("gpt-oss") ? [] : [{ type: "image_url", image_url: { url: dataUri("image/png") } }]),
        ...(/^(claude|gemini)/.test(id)
          ? [{ type: "file", file: { filename: "a.pdf", file_data: dataUri("application/pdf") } }]
          : [])
      ]
      const done = await modelOf(id).invoke([new HumanMessage({ content })])
      if (content.length > 1) assert.match(String(done.content), /I see/)
    })

    it("errors", async () => {
      for (const [directive, status] of [
        ["[sandbox: status=400]", 400],
        ["[sandbox: status=429 retry-after=7]", 429],
        ["[sandbox: status=503]", 502]
      ] as const) {
        const error = await modelOf(id)
          .invoke(directive)
          .catch((thrown: unknown) => thrown)
        assert.instanceOf(error, Error)
        assert.strictEqual(Reflect.get(error, "status"), status)
      }
      const broken = async () => {
        for await (const _ of await modelOf(id).stream("[sandbox: events=60] [sandbox: cut after=40]")) {
        }
      }
      assert.instanceOf(await broken().catch((thrown: unknown) => thrown), Error)
    })
  })
}
