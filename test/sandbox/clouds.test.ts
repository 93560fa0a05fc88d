import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import type { Call } from "../../src/sandbox/http.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { bedrock, claude, gemini, messageIn, open, openai, post, type Target } from "./support.ts"

const SONNET = "claude-sonnet-4-5@20250929"
const GOV_SONNET = "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"
const messages = (text: string, over: object = {}) => ({
  max_tokens: 4000,
  messages: [{ role: "user", content: text }],
  ...over
})

/** Every stream that the clouds make, asked to say a text. */
const streams: ReadonlyArray<readonly [string, (text: string) => readonly [Target, object]]> = [
  [
    "Claude on Vertex",
    (text) => [
      claude(SONNET, "streamRawPredict"),
      messages(text, { stream: true, anthropic_version: "vertex-2023-10-16" })
    ]
  ],
  [
    "Claude on Bedrock",
    (text) => [
      bedrock(GOV_SONNET, "invoke-with-response-stream"),
      messages(text, { anthropic_version: "bedrock-2023-05-31" })
    ]
  ],
  ["Gemini", (text) => [gemini("streamGenerateContent?alt=sse"), { contents: [{ role: "user", parts: [{ text }] }] }]],
  [
    "gpt-oss",
    (text) => [
      openai("chat/completions", "bedrock"),
      { model: "openai.gpt-oss-120b-1:0", stream: true, messages: [{ role: "user", content: text }] }
    ]
  ],
  [
    "GPT chat",
    (text) => [
      openai("chat/completions"),
      { model: "gpt-5.1", stream: true, messages: [{ role: "user", content: text }] }
    ]
  ],
  ["Responses", (text) => [openai("responses"), { model: "gpt-5.1", stream: true, input: text }]]
]

const terminal = /message_stop|bWVzc2FnZV9zdG9w|"finishReason"|\[DONE\]|response\.completed/

/** Waits for what happens on another socket; fails after five seconds. */
const until = (holds: () => boolean) =>
  Effect.promise(async () => {
    for (let waited = 0; !holds(); waited += 5) {
      if (waited > 5000) throw new Error("it did not happen")
      await sleep(5)
    }
  })

const calls: Array<Call> = []
layer(Sandbox.layer({ pace: 0, onCall: (call) => calls.push(call) }))("faults on demand", (it) => {
  for (const [name, make] of streams) {
    it.effect(`${name}: status, delay, redirect, html`, () =>
      Effect.gen(function* () {
        const started = performance.now()
        const limited = yield* post(...make("[sandbox: status=429 retry-after=7] [sandbox: delay=60ms]"))
        assert.isAtLeast(performance.now() - started, 50)
        assert.deepStrictEqual([limited.status, limited.headers.get("retry-after")], [429, "7"])
        assert.strictEqual((yield* post(...make("[sandbox: status=503]"))).status, 503)
        assert.strictEqual((yield* post(...make("[sandbox: redirect]"))).status, 302)
        assert.match((yield* post(...make("[sandbox: html]"))).text, /^<!doctype html>/)
      })
    )

    it.effect(`${name}: cut, garbage, exception, no-terminal`, () =>
      Effect.gen(function* () {
        const cut = yield* Effect.exit(post(...make("[sandbox: events=50] [sandbox: cut after=5]")))
        assert.isTrue(Exit.isFailure(cut))
        assert.match((yield* post(...make("[sandbox: garbage after=2]"))).text, /\{not json|e25vdCBqc29u/)
        const failed = yield* post(...make("[sandbox: events=50] [sandbox: exception=throttlingException after=2]"))
        assert.strictEqual(failed.status, 200)
        assert.match(failed.text, /throttlingException/)
        assert.notMatch(failed.text, terminal)
        assert.notMatch((yield* post(...make("[sandbox: no-terminal]"))).text, terminal)
        assert.match((yield* post(...make("Hello"))).text, terminal)
      })
    )

    it.effect(`${name}: notices a client that leaves`, () =>
      Effect.gen(function* () {
        for (const directive of ["[sandbox: stall after=3]", "[sandbox: delay=60s]"]) {
          const leaving = new AbortController()
          const [target, body] = make(`${name} ${directive}`)
          const found = () => calls.findLast((call) => call.body.includes(`${name} ${directive}`))
          const reading = Effect.result(
            Effect.flatMap(open(target, body, { signal: leaving.signal }), (response) =>
              Effect.tryPromise(() => response.text())
            )
          )
          const left = until(() => found() !== undefined).pipe(Effect.andThen(Effect.sync(() => leaving.abort())))
          yield* Effect.all([reading, left], { concurrency: 2 })
          yield* until(() => found()?.aborted === true)
        }
        yield* post(...make("Hello"))
        assert.isFalse(calls.at(-1)?.aborted)
      })
    )
  }

  it.effect("unstreamed: cut and garbage", () =>
    Effect.gen(function* () {
      const send = (text: string) => post(claude(SONNET), messages(text, { anthropic_version: "vertex-2023-10-16" }))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(send("[sandbox: cut]"))))
      assert.isUndefined((yield* send("[sandbox: garbage]")).json)
    })
  )

  it.effect("status works for counts and embeddings, and an exception for embeddings", () =>
    Effect.gen(function* () {
      const { max_tokens: _, ...count } = messages("[sandbox: status=500]", {
        anthropic_version: "vertex-2023-10-16",
        model: SONNET
      })
      assert.strictEqual((yield* post(claude("count-tokens"), count)).status, 500)
      const body = Buffer.from(
        JSON.stringify(messages("[sandbox: status=429]", { anthropic_version: "bedrock-2023-05-31" }))
      ).toString("base64")
      const counted = yield* post(bedrock(GOV_SONNET.replace("us-gov.", ""), "count-tokens"), {
        input: { invokeModel: { body } }
      })
      assert.deepStrictEqual(
        [counted.status, counted.headers.get("x-amzn-errortype")?.split(":")[0]],
        [429, "ThrottlingException"]
      )
      for (const [directive, status] of [
        ["status=429", 429],
        ["exception=modelTimeoutException", 408]
      ]) {
        const embedded = yield* post(bedrock("amazon.titan-embed-text-v2:0"), { inputText: `[sandbox: ${directive}]` })
        assert.strictEqual(embedded.status, status)
      }
    })
  )

  it.effect("Titan refuses what is too long, too short or unknown", () =>
    Effect.gen(function* () {
      const embed = (body: object) => post(bedrock("amazon.titan-embed-text-v2:0"), body)
      assert.strictEqual((yield* embed({ inputText: "word ".repeat(8192) })).json.inputTextTokenCount, 8192)
      assert.match(
        messageIn(yield* embed({ inputText: "word ".repeat(8193) })),
        /Max input tokens: 8192, request input token count: 8193/
      )
      assert.strictEqual((yield* embed({ inputText: "a".repeat(50_000) })).status, 200)
      assert.match(
        messageIn(yield* embed({ inputText: "a".repeat(50_001) })),
        /expected maxLength: 50000, actual: 50001/
      )
      assert.match(messageIn(yield* embed({ inputText: "" })), /expected minLength: 1/)
      assert.match(messageIn(yield* embed({ inputText: "a", foo: 1 })), /extraneous key \[foo\]/)
      assert.deepStrictEqual((yield* embed({ inputText: "same" })).json, (yield* embed({ inputText: "same" })).json)
    })
  )

  it.effect("refuses foreign projects, locations, operations and bodies", () =>
    Effect.gen(function* () {
      const at = (path: string): Target => ({
        cloud: "vertex",
        path: claude(SONNET).path.replace(...(path.split("→") as [string, string]))
      })
      const body = messages("a", { anthropic_version: "vertex-2023-10-16" })
      assert.strictEqual((yield* post(at("sandbox-project→other"), body)).json.error.status, "PERMISSION_DENIED")
      assert.strictEqual((yield* post(at("us-east5→global"), body)).status, 404)
      assert.strictEqual(
        (yield* post(claude(SONNET), body, { authorization: "Bearer wrong" })).json.error.status,
        "UNAUTHENTICATED"
      )
      assert.strictEqual((yield* post(claude(SONNET), "{")).status, 400)
      const unknown = yield* post(claude(SONNET, "predict"), body)
      assert.deepStrictEqual([unknown.status, messageIn(unknown)], [404, "Method predict not found."])
      const missing = "Publisher Model `publishers/anthropic/models/claude-0` was not found"
      const strange = yield* post(claude("claude-0"), body)
      assert.deepStrictEqual([strange.status, messageIn(strange).slice(0, missing.length)], [404, missing])
      const coral = yield* post({ cloud: "bedrock", path: "/anthropic/v1/messages/count_tokens" }, {})
      assert.deepStrictEqual([coral.status, /UnknownOperationException/.test(coral.text)], [200, true])
      const unsigned = yield* post(bedrock(GOV_SONNET), {}, { authorization: "Bearer wrong" })
      assert.deepStrictEqual(
        [unsigned.status, unsigned.headers.get("x-amzn-errortype")?.split(":")[0]],
        [403, "IncompleteSignatureException"]
      )
    })
  )
})

describe("the layer", () => {
  it.live("stops its servers, also while a stream is open", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const sandbox = Context.get(yield* Layer.buildWithScope(Sandbox.layer({ pace: 0 }), scope), Sandbox)
      const [, make] = streams[0] ?? assert.fail()
      yield* open(...make("[sandbox: stall after=1]")).pipe(Effect.provideService(Sandbox, sandbox))
      yield* Scope.close(scope, Exit.void)
      const refused = yield* Effect.exit(Effect.tryPromise(() => fetch(sandbox.urls.vertex)))
      assert.isTrue(Exit.isFailure(refused))
    })
  )

  it.live("streams at the pace it is given", () =>
    Effect.gen(function* () {
      const [, make] = streams[0] ?? assert.fail()
      const started = performance.now()
      yield* post(...make("[sandbox: events=10]"))
      assert.isAtLeast(performance.now() - started, 90)
    }).pipe(Effect.provide(Sandbox.layer({ pace: 10 })))
  )
})
