/** What tests of the AI SDK offer, ask for and expect, whichever provider they use. */
import { assert } from "@effect/vitest"
import { APICallError, generateText, jsonSchema, type LanguageModel, Output, streamText, tool } from "ai"

export const tools = {
  get_weather: tool({
    description: "The weather of a city",
    inputSchema: jsonSchema<{ city: string }>({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false
    }),
    execute: async ({ city }) => ({ weather: `rain in ${city}` })
  })
}

/** Makes the sandbox call the tool twice at once. */
export const two = '[sandbox: tool=get_weather args={"city":"Oslo"}] [sandbox: tool=get_weather args={"city":"Rome"}]'

export const trip = Output.object({
  schema: jsonSchema<{ city: string; days: number }>({
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
    required: ["city", "days"],
    additionalProperties: false
  })
})

/** What the SDK makes of each refusal, and of a stream that breaks off. */
export const meetsErrors = async (
  model: LanguageModel,
  providerOptions: Parameters<typeof generateText>[0]["providerOptions"] = {}
) => {
  for (const [directive, status, text, retryable] of [
    ["[sandbox: status=400]", 400, /./, false],
    ["[sandbox: status=429 retry-after=7]", 429, /limiting/, true],
    ["[sandbox: status=503]", 502, /failed/, true]
  ] as const) {
    const error = await generateText({ providerOptions, model, prompt: directive, maxRetries: 0 }).catch(
      (thrown: unknown) => thrown
    )
    assert(APICallError.isInstance(error), String(error))
    assert.strictEqual(error.statusCode, status)
    assert.strictEqual(error.isRetryable, retryable)
    assert.match(error.message, text)
    assert.match(error.responseHeaders?.["x-request-id"] ?? "", /^[0-9a-f-]{36}$/)
  }
  const errors: Array<unknown> = []
  const broken = streamText({
    providerOptions,
    model,
    prompt: "[sandbox: events=60] [sandbox: cut after=40]",
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error)
  })
  let text = ""
  for await (const piece of broken.textStream) text += piece
  assert.match(text, /^worda/)
  assert.isAtLeast(errors.length, 1)
}
