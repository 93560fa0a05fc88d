/** A streamed reply ends with the event after which nothing follows, whatever becomes of the connection. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { createClient } from "../../src/Client.ts"
import { GatewayClient } from "../../src/EffectClient.ts"
import { events, type FakeGateway, fakeGateway } from "./fakeGateway.ts"

const frame = (data: object) => `data: ${JSON.stringify(data)}\n\n`
const chunk = {
  ...{ id: "c", object: "chat.completion.chunk", created: 1, model: "m:il2" },
  choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }]
}
const response = { id: "r", object: "response", created_at: 1, model: "m", status: "completed", output: [] }
const replies = {
  chat: `${frame(chunk)}data: [DONE]\n\n`,
  responses: `event: response.completed\n${frame({ type: "response.completed", response, sequence_number: 0 })}`
}
const asked = { model: "gpt-5.1:il5", messages: [{ role: "user", content: "Hello" }], input: "Hello" } as const

let fake: FakeGateway | undefined
afterEach(() => fake?.stop())

describe.each(["hang", "cut"] as const)("the connection does not end well: %s", (then) => {
  it.each(["chat", "responses"] as const)("%s, by the promise client", async (surface) => {
    fake = await fakeGateway(events(replies[surface], then))
    const client = createClient({ baseUrl: fake.url, apiKey: "k", retries: 0 })
    let count = 0
    for await (const _ of client[surface].stream(asked)) count++
    assert.strictEqual(count, 1)
  })

  it("chat, by the Effect client", async () => {
    fake = await fakeGateway(events(replies.chat, then))
    const read = Effect.gen(function* () {
      const { chat } = yield* GatewayClient
      const { body } = yield* chat.completions({ ...asked, stream: true })
      return yield* Stream.runCollect(body)
    }).pipe(
      Effect.provide(GatewayClient.layer({ baseUrl: fake.url, apiKey: "k", retries: 0 })),
      Effect.provide(FetchHttpClient.layer)
    )
    assert.lengthOf(await Effect.runPromise(read), 1)
  })
})

it("a caller whose onHeaders fails leaves no reply behind", async () => {
  const gateway = await fakeGateway(events(frame(chunk), "hang"))
  fake = gateway
  const client = createClient({ baseUrl: gateway.url, apiKey: "k", retries: 0 })
  const own = new Error("mine")
  const onHeaders = () => {
    throw own
  }
  const failed = await client.chat
    .stream(asked, { onHeaders })
    .finalMessage()
    .catch((cause: unknown) => cause)
  assert.strictEqual(failed, own)
  for (let tries = 0; tries < 200 && gateway.abandoned() === 0; tries++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  assert.strictEqual(gateway.abandoned(), 1)
})
