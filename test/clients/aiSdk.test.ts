/** The AI SDK with its OpenAI-compatible provider against every kind of upstream. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, describe, it } from "@effect/vitest"
import { APICallError, generateText, type ModelMessage, stepCountIs, streamText } from "ai"
import { dataUri } from "../support/chat.ts"
import { sixModels } from "../support/chatKinds.ts"
import { sharedGateway } from "../support/shared.ts"
import { meetsErrors, tools, trip, two } from "./aiSdkTools.ts"

const gateway = sharedGateway()

const modelOf = (id: string, headers: Record<string, string> = { "x-api-key": "sandbox-key" }) =>
  createOpenAICompatible({
    name: "gateway",
    baseURL: `${gateway.url}/v1`,
    apiKey: "anything",
    headers,
    includeUsage: true,
    supportsStructuredOutputs: true
  })(id)

const bytesOf = (uri: string) => Buffer.from(uri.slice(uri.indexOf(",") + 1), "base64")
const effort = (reasoningEffort: string) => ({ gateway: { reasoningEffort } })

for (const id of sixModels) {
  describe(id, () => {
    it("generateText", async () => {
      const done = await generateText({
        model: modelOf(id),
        system: "Be brief.",
        prompt: "What is a fjord?",
        maxRetries: 0
      })
      assert.match(done.text, /fjord/)
      assert.strictEqual(done.finishReason, "stop")
      assert.isAbove(done.usage.inputTokens ?? 0, 0)
      assert.isAbove(done.usage.outputTokens ?? 0, 0)
    })

    it("streamText", async () => {
      const done = streamText({ model: modelOf(id), prompt: "[sandbox: events=20]", maxRetries: 0 })
      let text = ""
      for await (const piece of done.textStream) text += piece
      assert.match(text, /^worda .*wordt/)
      assert.strictEqual(await done.finishReason, "stop")
      assert.isAbove((await done.usage).outputTokens ?? 0, 0)
    })

    it("parallel tools, and a loop of three turns with thinking on", async () => {
      for (const stream of [false, true]) {
        const messages: Array<ModelMessage> = []
        for (let turn = 0; turn < 3; turn++) {
          messages.push({ role: "user", content: two })
          const options = {
            model: modelOf(id),
            messages,
            tools,
            stopWhen: stepCountIs(3),
            maxRetries: 0,
            providerOptions: effort("medium")
          }
          const done = stream ? streamText(options) : await generateText(options)
          assert.match(await done.text, /rain in Oslo/)
          const steps = await done.steps
          assert.strictEqual(steps.length, 2)
          assert.strictEqual(steps[0]?.finishReason, "tool-calls")
          assert.deepStrictEqual(
            steps[0]?.toolCalls.map(({ input }) => input),
            [{ city: "Oslo" }, { city: "Rome" }]
          )
          messages.push(...(await done.response).messages)
        }
        // The SDK keeps Google's signatures, also in a stream.
        assert.notMatch(gateway.calls().at(-1)?.body ?? "", /skip_thought_signature_validator/)
      }
    })

    it("JSON of a schema", async () => {
      const done = await generateText({
        model: modelOf(id),
        // The sandbox's Claude is asked in words, which it does not read.
        prompt: id.startsWith("claude") ? '[sandbox: text={"city":"Oslo","days":3}]' : "Plan a trip, as JSON",
        output: trip,
        maxRetries: 0
      })
      assert.hasAllKeys(done.output, ["city", "days"])
    })

    it("images and PDFs where the model takes them", async () => {
      const files = [
        ...(id.startsWith("gpt-oss")
          ? []
          : [{ type: "file" as const, data: bytesOf(dataUri("image/png")), mediaType: "image/png" }]),
        ...(/^(claude|gemini)/.test(id)
          ? [
              {
                type: "file" as const,
                data: bytesOf(dataUri("application/pdf")),
                mediaType: "application/pdf",
                filename: "a.pdf"
              }
            ]
          : [])
      ]
      const content = [{ type: "text" as const, text: "What is this?" }, ...files]
      const done = await generateText({ model: modelOf(id), messages: [{ role: "user", content }], maxRetries: 0 })
      if (files.length > 0) assert.match(done.text, /I see/)
    })

    it("errors", () => meetsErrors(modelOf(id)))
  })
}

it("without the key it is 403", async () => {
  const error = await generateText({ model: modelOf("gpt-5.1:il5", {}), prompt: "hi", maxRetries: 0 }).catch(
    (thrown: unknown) => thrown
  )
  assert.isTrue(APICallError.isInstance(error) && error.statusCode === 403, String(error))
})
