/** What guards do with streams, over real sockets. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { type Rule, usual } from "../support/detector.ts"
import { recordOf } from "../support/gateway.ts"
import { guardedCases, makeGuarded, saying, streamedText, withoutIds } from "../support/guarded.ts"
import { eventsIn, open, post } from "../support/http.ts"
import { sharedDetector } from "../support/shared.ts"

const detector = sharedDetector()
const guarded: ReturnType<typeof makeGuarded> = (guards, ...more) =>
  makeGuarded(detector)(
    guards.map((guard) => ({ when: "after", ...guard })),
    ...more
  )

const slowly = async (milliseconds: number, ...asked: Parameters<Rule>) => {
  await sleep(milliseconds)
  return usual(...asked)
}

/** Reads a stream, and says how much of it had come whenever it is asked. */
const reading = async (url: string, body: object) => {
  let text = ""
  const response = await open(url, body)
  const done = (async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString("utf8")
  })()
  return { soFar: () => text, done }
}

/** What a stream says of guards, which it says once. */
const actionsIn = (text: string): unknown => {
  const said = eventsIn(text).flatMap(({ json }) => {
    const actions = json?.x_gateway_guards ?? json?.response?.x_gateway_guards
    return actions === undefined ? [] : [actions]
  })
  assert.isAtMost(said.length, 1)
  return said[0]
}

/** Everything that a stream says, whole texts and flags among it. */
const story = "First sentence here. His number is 123-45-6789, he said. Then it goes on! And ends without a stop"
const redacted = story.replace("123-45-6789", "[ssn]")

describe.each(guardedCases)("streams of $surface", ({ ask, path, surface, withheld }) => {
  const streamed = (text: string, more = {}) => ask(saying(text), { stream: true, ...more })

  it("pass as they come where guards flag, and say so at the end", () =>
    guarded([{ name: "pii", action: "flag" }], async (gateway) => {
      const got = await post(gateway.url + path, streamed(story))
      assert.strictEqual(streamedText(surface, got.text), story)
      assert.deepStrictEqual(actionsIn(got.text), [{ guard: "pii", action: "flag", categories: ["ssn"] }])
      const plain = await post(gateway.url + path, streamed("Nothing. At all."))
      assert.isUndefined(actionsIn(plain.text))
    }))

  it("do not wait for a guard that flags before their end", () =>
    guarded(
      [{ name: "pii", action: "flag" }],
      async (gateway) => {
        const { done, soFar } = await reading(gateway.url + path, streamed(story))
        for (let tries = 0; tries < 100 && streamedText(surface, soFar()) !== story; tries++) await sleep(5)
        assert.strictEqual(streamedText(surface, soFar()), story)
        assert.isUndefined(actionsIn(soFar()))
        await done
        assert.isDefined(actionsIn(soFar()))
      },
      { pace: 1, rule: (asked, response) => slowly(700, asked, response) }
    ))

  it.each(["sentence", "whole"])("are redacted where the words stand, wherever frames cut them (hold: %s)", (hold) =>
    guarded([{ name: "pii", action: "redact", hold }], async (gateway) => {
      const before = detector.asked.length
      const got = await post(gateway.url + path, streamed(story))
      assert.strictEqual(got.status, 200)
      assert.strictEqual(streamedText(surface, got.text), redacted)
      assert.notInclude(withoutIds(got.text), "6789")
      assert.deepStrictEqual(actionsIn(got.text), [{ guard: "pii", action: "redact", categories: ["ssn"] }])
      const texts = detector.asked.slice(before).flatMap((asked) => asked.texts)
      assert.strictEqual(texts.join(""), story, "each word is asked about once")
      if (hold === "whole") assert.lengthOf(texts, 1)
      const numbers = eventsIn(got.text).flatMap(({ json }) => json?.sequence_number ?? [])
      assert.deepStrictEqual(
        numbers,
        numbers.map((_, at) => at)
      )
    })
  )

  it("show no word that the guard has not seen", () => {
    let soFar = () => ""
    const early: Array<string> = []
    const rule: Rule = async (asked, response) => {
      await sleep(30)
      const shown = streamedText(surface, soFar())
      for (const text of asked.texts) if (text.trim() !== "" && shown.endsWith(text)) early.push(text)
      return usual(asked, response)
    }
    return guarded(
      [{ name: "pii", action: "block" }],
      async (gateway) => {
        const text = "One two three. Four five six. Seven eight nine. Ten"
        const stream = await reading(gateway.url + path, streamed(text))
        soFar = stream.soFar
        await stream.done
        assert.strictEqual(streamedText(surface, stream.soFar()), text)
        assert.isEmpty(early)
      },
      { pace: 5, rule }
    )
  })

  it("end as the surface's own filter ends them where they are blocked, and the call to the cloud is ended", () =>
    guarded(
      [{ name: "words", action: "block" }],
      async (gateway) => {
        const got = await post(
          gateway.url + path,
          streamed(`Before it. I say BLOCKME today. ${"And on it goes. ".repeat(50)}`)
        )
        assert.strictEqual(got.status, 200)
        assert.strictEqual(streamedText(surface, got.text), "Before it. ")
        for (const word of ["BLOCKME", "today"]) assert.notInclude(got.text, word)
        const events = eventsIn(got.text)
        const count = (type: string) => events.filter(({ json }) => json?.type === type).length
        assert.strictEqual(count("content_block_stop"), count("content_block_start"))
        if (surface === "chat") assert.strictEqual(events.at(-3)?.json?.choices[0].delta.content, "")
        const ends = events.map(({ json }) =>
          surface === "chat"
            ? json?.choices?.[0]?.finish_reason
            : surface === "messages"
              ? json?.delta?.stop_reason
              : json?.response?.incomplete_details?.reason
        )
        assert.strictEqual(
          ends.findLast((end) => typeof end === "string"),
          withheld
        )
        assert.deepStrictEqual(actionsIn(got.text), [
          { guard: "words", action: "block", categories: ["forbidden-word"] }
        ])
        for (let tries = 0; tries < 200 && gateway.calls().at(-1)?.aborted !== true; tries++) await sleep(5)
        assert.isTrue(gateway.calls().at(-1)?.aborted)
        assert.strictEqual((await recordOf(gateway, got.headers.get("x-request-id"))).outcome, "filtered")
      },
      { pace: 5 }
    ))

  it.runIf(surface === "chat")("have usage in their final chunk where they are blocked and it was asked for", () =>
    guarded([{ name: "words", action: "block" }], async (gateway) => {
      const text = `Before it. I say BLOCKME today. ${"And on it goes. ".repeat(50)}`
      const usageIn = async (more: object) =>
        eventsIn((await post(gateway.url + path, streamed(text, more))).text).flatMap(({ json }) =>
          json?.choices?.[0]?.finish_reason === "content_filter" ? [json.usage] : []
        )
      assert.deepStrictEqual(await usageIn({}), [undefined])
      const [usage] = await usageIn({ stream_options: { include_usage: true } })
      assert.isAbove(usage.prompt_tokens, 0)
      assert.isAbove(usage.completion_tokens, 0)
      assert.strictEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
    })
  )

  it("say with the error that ends them what guards did", () =>
    guarded(
      [{ name: "pii", action: "redact" }],
      async (gateway) => {
        const got = await post(
          gateway.url + path,
          streamed(`His number is 123-45-6789. ${"And on it goes. ".repeat(9)}`)
        )
        assert.include(got.text, "the guard pii, which has to see this text, did not answer")
        assert.deepStrictEqual(actionsIn(got.text), [{ guard: "pii", action: "redact", categories: ["ssn"] }])
      },
      {
        pace: 5,
        rule: (asked, response) =>
          asked.texts.some((text) => text.includes("on it goes")) ? {} : usual(asked, response)
      }
    ))

  it("are kept alive while a guard is asked", () =>
    guarded(
      [{ name: "pii", action: "redact" }],
      async (gateway) => {
        const response = await open(gateway.url + path, streamed("One two three."))
        const text = await response.text()
        assert.match(text, /: keep-alive\n[\s\S]*three\./)
        assert.strictEqual(streamedText(surface, text), "One two three.")
      },
      {
        settings: { GATEWAY_HEARTBEAT: "60 millis" },
        rule: (asked, response) => slowly(400, asked, response)
      }
    ))

  it("end with an error where a guard that has to see them fails, without a word of theirs", () =>
    guarded(
      [{ name: "pii", action: "redact" }],
      async (gateway) => {
        const response = await open(gateway.url + path, streamed("One two three. Four."))
        const text = await response.text()
        assert.include(text, "the guard pii")
        assert.notInclude(text, "three")
      },
      { rule: (_, response) => void response.writeHead(500).end() }
    ))

  it("let go of the guard and the cloud when the caller leaves", () =>
    guarded(
      [{ name: "pii", action: "redact" }],
      async (gateway) => {
        const [left, asked] = [detector.left(), detector.asked.length]
        const leaving = new AbortController()
        const response = open(gateway.url + path, streamed("One two three. Four."), {}, { signal: leaving.signal })
        response.then((got) => got.text()).catch(() => {})
        for (let tries = 0; tries < 400 && detector.asked.length === asked; tries++) await sleep(5)
        leaving.abort()
        for (let tries = 0; tries < 400 && detector.left() === left; tries++) await sleep(5)
        assert.strictEqual(detector.left(), left + 1)
      },
      { rule: () => new Promise(() => {}) }
    ))
})

describe("calls in streams", () => {
  const schema = { type: "object", properties: { to: { type: "string" } } }
  const call = '[sandbox: tool=mail args={"to":"mailto:123-45-6789@example.mil"}]'
  const requests: ReadonlyArray<readonly [string, object]> = [
    [
      "/v1/chat/completions",
      { ...guardedCases[0]?.ask(call), tools: [{ type: "function", function: { name: "mail", parameters: schema } }] }
    ],
    ["/v1/messages", { ...guardedCases[1]?.ask(call), tools: [{ name: "mail", input_schema: schema }] }],
    [
      "/v1/responses",
      { ...guardedCases[2]?.ask(call), tools: [{ type: "function", name: "mail", parameters: schema }] }
    ]
  ]
  it.each(requests)("%s: are held whole and redacted, with what repeats them", (path, body) =>
    guarded([{ name: "pii", action: "redact" }], async (gateway) => {
      const before = detector.asked.length
      const got = await post(gateway.url + path, { ...body, stream: true })
      assert.notInclude(withoutIds(got.text), "6789")
      const args = eventsIn(got.text)
        .map(({ json }) =>
          path === "/v1/messages"
            ? (json?.delta?.partial_json ?? "")
            : path === "/v1/responses"
              ? json?.type === "response.function_call_arguments.delta"
                ? json.delta
                : ""
              : (json?.choices?.[0]?.delta?.tool_calls?.[0]?.function?.arguments ?? "")
        )
        .join("")
      assert.deepStrictEqual(JSON.parse(args), { to: "mailto:[ssn]@example.mil" })
      assert.isTrue(
        detector.asked.slice(before).some(({ texts }) => texts.includes('{"to":"mailto:123-45-6789@example.mil"}'))
      )
    })
  )
  it.each([
    ["redact", 0],
    ["flag", 1]
  ])("are quoted by no flag of an error where a guard may %s: %i", (action, flags) =>
    guarded(
      [{ name: "pii", action }],
      async (gateway) => {
        for (const [path, body] of requests) {
          const sent = JSON.stringify({ ...body, stream: true }).replace("mailto:", "https://out.example/")
          const got = await post(gateway.url + path, JSON.parse(sent))
          assert.include(got.text, "the guard pii, which has to see this text, did not answer")
          assert.strictEqual(got.text.split("external_destination").length - 1, flags, path)
        }
      },
      { pace: 20, rule: (_, response) => void response.writeHead(500).end() }
    )
  )
  it.each(requests)("%s: are not begun where they are blocked", (path, body) =>
    guarded(
      [{ name: "words", action: "block" }],
      async (gateway) => {
        const got = await post(gateway.url + path, { ...body, stream: true })
        assert.notInclude(withoutIds(got.text), "6789")
        assert.notMatch(got.text, /"name":"mail"[^}]*"arguments"|"tool_use"|function_call_arguments/)
      },
      { rule: () => ({ action: "BLOCKED", blocked_reason: "a sentence that may quote 123-45-6789" }) }
    )
  )
})

describe("what guards did with the request", () => {
  it.each(guardedCases)("is said at the end of a stream of $surface, too", ({ ask, path }) =>
    guarded([{ name: "pii", when: "before", action: "redact" }], async (gateway) => {
      const got = await post(gateway.url + path, ask("My number is 123-45-6789.", { stream: true }))
      assert.deepStrictEqual(actionsIn(got.text), [{ guard: "pii", action: "redact", categories: ["ssn"] }])
    })
  )
})
