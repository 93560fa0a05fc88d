import { assert, layer } from "@effect/vitest"
import { ApiError, type Content, GoogleGenAI } from "@google/genai"
import { Effect } from "effect"
import { OAuth2Client } from "google-auth-library"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"

const MODEL = "gemini-3-flash-preview"

type Options = NonNullable<ConstructorParameters<typeof GoogleGenAI>[0]>

/** Google's own client, pointed at the sandbox. */
const connect = Effect.map(Sandbox, ({ environment, urls }) => {
  const authClient = new OAuth2Client()
  authClient.setCredentials({ access_token: environment.VERTEX_ACCESS_TOKEN ?? "" })
  return new GoogleGenAI({
    vertexai: true,
    project: environment.VERTEX_PROJECT ?? "",
    location: environment.VERTEX_LOCATION ?? "",
    apiVersion: "v1",
    // The client may bring its own copy of the library, whose classes have private members.
    googleAuthOptions: { authClient } as unknown as NonNullable<Options["googleAuthOptions"]>,
    httpOptions: { baseUrl: urls.vertex }
  })
})

const functionDeclarations = [
  {
    name: "get_time",
    description: "The time in a city",
    parametersJsonSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  }
]

layer(Sandbox.layer({ pace: 0 }))("Vertex Gemini, with Google's client", (it) => {
  it.effect("answers, and streams alike", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const contents = "What is a comet?"
      const whole = yield* Effect.promise(() => client.models.generateContent({ model: MODEL, contents }))
      assert.match(whole.text ?? "", /comet/)
      const text = yield* Effect.promise(async () => {
        let joined = ""
        for await (const chunk of await client.models.generateContentStream({ model: MODEL, contents }))
          joined += chunk.text ?? ""
        return joined
      })
      assert.strictEqual(text, whole.text)
    })
  )

  it.effect("carries parallel calls through their loop", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const config = { tools: [{ functionDeclarations }] }
      const question: Content = {
        role: "user",
        parts: [
          {
            text: 'Both times. [sandbox: tool=get_time args={"city":"Lima"}] [sandbox: tool=get_time args={"city":"Quito"}]'
          }
        ]
      }
      const asked = yield* Effect.promise(() =>
        client.models.generateContent({ model: MODEL, contents: [question], config })
      )
      const calls = asked.functionCalls ?? []
      assert.deepStrictEqual(
        calls.map((call) => call.args),
        [{ city: "Lima" }, { city: "Quito" }]
      )
      const turn = asked.candidates?.[0]?.content ?? {}
      const results = calls.map((call) => ({
        functionResponse: { name: call.name ?? "", response: { output: `noon in ${String(call.args?.city)}` } }
      }))
      const send = (model: Content, parts: Content["parts"]) =>
        Effect.tryPromise({
          try: () =>
            client.models.generateContent({
              model: MODEL,
              contents: [question, model, { role: "user", parts: parts ?? [] }],
              config
            }),
          catch: (error) => error
        })
      const answered = yield* send(turn, results)
      assert.match(answered.text ?? "", /noon in Lima.*noon in Quito/)

      const fewer = yield* Effect.flip(send(turn, results.slice(0, 1)))
      assert.match(String(fewer), /number of function response parts is equal/)
      const bare = { role: "model", parts: calls.map((call) => ({ functionCall: call })) }
      assert.match(String(yield* Effect.flip(send(bare, results))), /missing a thought_signature/)
      const [first, ...others] = bare.parts
      const skipped = {
        role: "model",
        parts: [{ ...first, thoughtSignature: "skip_thought_signature_validator" }, ...others]
      }
      assert.isDefined((yield* send(skipped, results)).text)
    })
  )

  it.effect("follows a schema, blocks a prompt, reports errors", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const shaped = yield* Effect.promise(() =>
        client.models.generateContent({
          model: MODEL,
          contents: "Rate it 4",
          config: {
            responseMimeType: "application/json",
            responseJsonSchema: { type: "object", properties: { stars: { type: "integer" } }, required: ["stars"] }
          }
        })
      )
      assert.deepStrictEqual(JSON.parse(shaped.text ?? ""), { stars: 4 })
      const blocked = yield* Effect.promise(() =>
        client.models.generateContent({ model: MODEL, contents: "[sandbox: filter-prompt]" })
      )
      assert.strictEqual(blocked.promptFeedback?.blockReason, "PROHIBITED_CONTENT")
      const error = yield* Effect.flip(
        Effect.tryPromise({
          try: () => client.models.generateContent({ model: MODEL, contents: "[sandbox: status=403]" }),
          catch: (cause) => cause
        })
      )
      assert.instanceOf(error, ApiError)
      assert.match(error.message, /PERMISSION_DENIED/)
    })
  )
})
