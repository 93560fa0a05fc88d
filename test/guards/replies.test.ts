/** What guards do with whole replies. */
import { assert, describe, it } from "@effect/vitest"
import { chatAccumulator, messagesAccumulator } from "../../src/client/accumulate.ts"
import { type Gateway, recordOf } from "../support/gateway.ts"
import { guardedCases, makeGuarded, saying } from "../support/guarded.ts"
import { eventsIn, post } from "../support/http.ts"
import { sharedDetector } from "../support/shared.ts"

const detector = sharedDetector()
const guarded = (guard: object, use: (gateway: Gateway) => Promise<unknown>) => makeGuarded(detector)([guard], use)

describe.each(guardedCases)("whole replies of $surface", ({ ask, ended, path, said, surface, withheld }) => {
  it("are redacted before they are sent", () =>
    guarded({ name: "pii", when: "after", action: "redact" }, async (gateway) => {
      const got = await post(gateway.url + path, ask(saying("It is 123-45-6789, he said.")))
      assert.strictEqual(got.status, 200, got.text)
      assert.strictEqual(said(got), "It is [ssn], he said.")
      assert.notInclude(got.text, "45-6789")
      assert.deepStrictEqual(got.json.x_gateway_guards, [{ guard: "pii", action: "redact", categories: ["ssn"] }])
      assert.strictEqual(detector.asked.at(-1)?.input_type, "response")
    }))

  it("end as the surface's own filter ends them where they are blocked", () =>
    guarded({ name: "words", when: "after", action: "block" }, async (gateway) => {
      const got = await post(gateway.url + path, ask(saying("I say BLOCKME today.")))
      assert.strictEqual(got.status, 200)
      assert.strictEqual(said(got), "")
      assert.strictEqual(ended(got), withheld)
      // So that the message can be given back.
      if (surface === "chat") assert.strictEqual(got.json.choices[0].message.content, "")
      assert.strictEqual((await recordOf(gateway, got.headers.get("x-request-id"))).outcome, "filtered")
      assert.notInclude(got.text, "today")
      assert.deepStrictEqual(got.json.x_gateway_guards, [
        { guard: "words", action: "block", categories: ["forbidden-word"] }
      ])
    }))

  it("pass as they are where nothing is found, and where it is only flagged", () =>
    guarded({ name: "pii", when: "after", action: "flag" }, async (gateway) => {
      const plain = await post(gateway.url + path, ask(saying("Nothing here.")))
      assert.isUndefined(plain.json.x_gateway_guards)
      const flagged = await post(gateway.url + path, ask(saying("It is 123-45-6789.")))
      assert.strictEqual(said(flagged), "It is 123-45-6789.")
      assert.deepStrictEqual(flagged.json.x_gateway_guards, [{ guard: "pii", action: "flag", categories: ["ssn"] }])
    }))

  it("are not sent where the guard fails", () =>
    guarded({ name: "pii", when: "after", action: "flag", deadline: "100 millis" }, async (gateway) => {
      detector.use(() => new Promise(() => {}))
      const got = await post(gateway.url + path, ask(saying("It is late.")))
      assert.strictEqual(got.status, 503)
      assert.notInclude(got.text, "late")
    }))
})

describe("calls of whole replies", () => {
  const tool = { name: "mail", schema: { type: "object", properties: { to: { type: "string" } } } }
  const call = '[sandbox: tool=mail args={"to":"mailto:123-45-6789@example.mil"}]'

  it.each([
    [
      "/v1/chat/completions",
      {
        ...guardedCases[0]?.ask(call),
        tools: [{ type: "function", function: { name: tool.name, parameters: tool.schema } }]
      }
    ],
    ["/v1/messages", { ...guardedCases[1]?.ask(call), tools: [{ name: tool.name, input_schema: tool.schema }] }],
    [
      "/v1/responses",
      { ...guardedCases[2]?.ask(call), tools: [{ type: "function", name: tool.name, parameters: tool.schema }] }
    ]
  ])("%s: are shown whole, and redacted with the flags that quote them", (path, body) =>
    guarded({ name: "pii", when: "after", action: "redact" }, async (gateway) => {
      const got = await post(gateway.url + path, body)
      assert.strictEqual(got.status, 200, got.text)
      assert.strictEqual(detector.asked.at(-1)?.tool_calls?.[0]?.function.name, "mail")
      assert.include(detector.asked.at(-1)?.tool_calls?.[0]?.function.arguments ?? "", "123-45-6789")
      assert.notInclude(got.text, "45-6789")
      assert.include(got.text, "mailto:[ssn]@example.mil")
      assert.deepStrictEqual(got.json.x_gateway_governance.flags[0].destinations, ["mailto:[ssn]@example.mil"])
    })
  )
})

describe.each([
  ["a budget", "claude-sonnet-4-5:il5", { type: "enabled", budget_tokens: 2000 }],
  ["adaptive thinking", "claude-opus-4-7:il5", { type: "adaptive", display: "summarized" }]
])("a loop of tools of a model with %s goes on where one thought of several was redacted", (_, model, thinking) => {
  const content = "[sandbox: interleaved] [sandbox: tool=mail args={}] 123-45-6789"
  const question = { role: "user", content }
  type Made = ReturnType<typeof JSON.parse>
  const kinds = [
    {
      path: "/v1/messages",
      body: { model, thinking, max_tokens: 6000, tools: [{ name: "mail", input_schema: { type: "object" } }] },
      accumulator: messagesAccumulator,
      turnOf: (reply: Made) => [
        { role: "assistant", content: reply.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: reply.content.at(-1).id, content: "done" }] }
      ]
    },
    {
      path: "/v1/chat/completions",
      body: { model, reasoning_effort: "low", tools: [{ type: "function", function: { name: "mail" } }] },
      accumulator: chatAccumulator,
      turnOf: ({ choices: [{ message }] }: Made) => [
        message,
        { role: "tool", tool_call_id: message.tool_calls[0].id, content: "done" }
      ]
    }
  ]
  for (const { accumulator, body, path, turnOf } of kinds) {
    it.each(["streamed", "whole"])(`${path}, %s`, (kind) =>
      guarded({ name: "pii", when: "after", action: "redact" }, async (gateway) => {
        const first = await post(gateway.url + path, { ...body, messages: [question], stream: kind === "streamed" })
        const { add, final } = accumulator()
        if (kind === "streamed") for (const { json } of eventsIn(first.text)) if (json !== undefined) add(json)
        const reply = kind === "streamed" ? final() : first.json
        // What an adaptive model thinks is not shown on chat.
        const isRedacted = path === "/v1/messages" || "budget_tokens" in thinking
        if (path === "/v1/messages") {
          const signed = reply.content.map(({ signature }: Made) => signature).slice(0, 2)
          assert.deepStrictEqual([signed[0], typeof signed[1], signed[1] === ""], ["", "string", false])
        }
        const next = await post(gateway.url + path, { ...body, messages: [question, ...turnOf(reply)] })
        assert.strictEqual(next.status, 200, next.text)
        assert.strictEqual(/thinking(_blocks)?:removed/.test(next.headers.get("x-gateway-adjusted") ?? ""), isRedacted)
      })
    )
  }
})
