/** The AI SDK with the vendors' own providers: Anthropic's on the messages surface, OpenAI's on the responses surface. */
import { pathToFileURL } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { APICallError, generateText, type LanguageModel, stepCountIs, streamText } from "ai"
import { dataUri } from "../support/chat.ts"
import { sharedGateway } from "../support/shared.ts"
import { haveTools, toolFile } from "../tools/tools.ts"
import { meetsErrors, tools, trip, two } from "./aiSdkTools.ts"

const gateway = sharedGateway()

type Provider = (settings: {
  readonly baseURL: string
  readonly apiKey: string
  readonly headers?: Readonly<Record<string, string>>
}) => (model: string) => LanguageModel

interface Vendor {
  readonly module: string
  readonly factory: string
  /** Models, each with the options that make it think. */
  readonly models: ReadonlyArray<readonly [id: string, thinking: Parameters<typeof generateText>[0]["providerOptions"]]>
  /** Options of every request. */
  readonly always: Parameters<typeof generateText>[0]["providerOptions"]
  readonly settings: (key: string) => { readonly apiKey: string; readonly headers?: Readonly<Record<string, string>> }
  readonly files: ReadonlyArray<"image/png" | "application/pdf">
}

const budget = { anthropic: { thinking: { type: "enabled", budgetTokens: 2000 } } }

const vendors: ReadonlyArray<Vendor> = [
  {
    module: "@ai-sdk/anthropic",
    factory: "createAnthropic",
    models: [
      ["claude-sonnet-4-5:il2", budget],
      ["claude-sonnet-4-5:il5", budget],
      ["claude-opus-4-7:il5", { anthropic: { thinking: { type: "adaptive", display: "summarized" }, effort: "high" } }]
    ],
    always: {},
    settings: (apiKey) => ({ apiKey }),
    files: ["image/png", "application/pdf"]
  },
  {
    module: "@ai-sdk/openai",
    factory: "createOpenAI",
    // It knows reasoning models by OpenAI's own names only (docs/clients.md#ai-sdk).
    models: [
      [
        "gpt-5.1:il5",
        { openai: { store: false, forceReasoning: true, reasoningEffort: "medium", reasoningSummary: "auto" } }
      ]
    ],
    // Nothing is stored, so no item can be named by its ID.
    always: { openai: { store: false } },
    settings: (key) => ({ apiKey: "not-read", headers: { "x-api-key": key } }),
    files: ["image/png"]
  }
]

describe.skipIf(!haveTools()).each(vendors)("$module", ({ module, factory, models, always, settings, files }) => {
  let create: Provider
  beforeAll(async () => {
    // It would warn that reasoning without its encrypted content is not sent back, which is so.
    Reflect.set(globalThis, "AI_SDK_LOG_WARNINGS", false)
    create = (await import(pathToFileURL(toolFile(module, "dist", "index.js")).href))[factory]
  })
  afterAll(() => void Reflect.deleteProperty(globalThis, "AI_SDK_LOG_WARNINGS"))
  const modelOf = (id: string, key = "sandbox-key") => create({ baseURL: `${gateway.url}/v1`, ...settings(key) })(id)
  const once = (id: string, prompt: string) => ({
    model: modelOf(id),
    prompt,
    maxRetries: 0,
    providerOptions: always ?? {}
  })

  describe.each(models)("%s", (id, thinking) => {
    it("says the same whole and streamed", async () => {
      const whole = await generateText({ ...once(id, "What is a fjord?"), system: "Be brief." })
      assert.match(whole.text, /fjord/)
      assert.strictEqual(whole.finishReason, "stop")
      const streamed = streamText({ ...once(id, "What is a fjord?"), system: "Be brief." })
      let text = ""
      for await (const piece of streamed.textStream) text += piece
      assert.strictEqual(text, whole.text)
      assert.strictEqual(await streamed.finishReason, "stop")
      for (const usage of [whole.usage, await streamed.usage]) {
        assert.isAbove(usage.inputTokens ?? 0, 0)
        assert.isAbove(usage.outputTokens ?? 0, 0)
      }
    })

    it.each([true, false])("runs a caller's tools and goes on with their results (thinking: %s)", async (thinks) => {
      for (const stream of [false, true]) {
        const options = {
          ...once(id, two),
          tools,
          stopWhen: stepCountIs(3),
          providerOptions: (thinks ? thinking : always) ?? {}
        }
        const done = stream ? streamText(options) : await generateText(options)
        assert.match(await done.text, /rain in Oslo/)
        const steps = await done.steps
        assert.deepStrictEqual(
          steps.map(({ finishReason }) => finishReason),
          ["tool-calls", "stop"]
        )
        assert.deepStrictEqual(
          steps[0]?.toolCalls.map(({ input }) => input),
          [{ city: "Oslo" }, { city: "Rome" }]
        )
        assert.strictEqual((steps[0]?.reasoningText ?? "") !== "", thinks)
      }
    })

    it("answers in a JSON schema", async () => {
      const whole = await generateText({ ...once(id, "Plan a trip"), output: trip })
      assert.hasAllKeys(whole.output, ["city", "days"])
      const streamed = streamText({ ...once(id, "Plan a trip"), output: trip })
      let last: unknown
      for await (const partial of streamed.partialOutputStream) last = partial
      assert.deepStrictEqual(last, whole.output)
    })

    it("takes files", async () => {
      const content = [
        { type: "text" as const, text: "What is this?" },
        ...files.map((mediaType) => ({
          type: "file" as const,
          data: Buffer.from(dataUri(mediaType).split(",")[1] ?? "", "base64"),
          mediaType,
          filename: "a"
        }))
      ]
      const done = await generateText({ model: modelOf(id), messages: [{ role: "user", content }], maxRetries: 0 })
      assert.match(done.text, /I see/)
    })

    it("understands errors", () => meetsErrors(modelOf(id), always))
  })

  it("is refused with a wrong key", async () => {
    const error = await generateText({
      model: modelOf(models[0]?.[0] ?? "", "wrong"),
      prompt: "hi",
      maxRetries: 0
    }).catch((thrown: unknown) => thrown)
    assert(APICallError.isInstance(error), String(error))
    assert.include([401, 403], error.statusCode)
    assert.isFalse(error.isRetryable)
  })
})
