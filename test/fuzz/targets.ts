/**
 * What is fuzzed, and what must hold whatever comes: no crash, no 5xx for bad input, a reply that is what the contract says, one end
 * of a stream and no success after a cut, and nothing of the operator's in any output.
 */
import assert from "node:assert/strict"
import { connect } from "node:net"
import { Cause, Effect, Exit, Result } from "effect"
import fc from "fast-check"
import catalogJson from "../../src/catalog/catalog.json" with { type: "json" }
import { checkCatalog } from "../../src/catalog/checkCatalog.ts"
import { parseBook } from "../../src/limits/KeyFile.ts"
import { OperatorError } from "../../src/wire/OperatorError.ts"
import { type Kind, kinds, type Said } from "../support/chatKinds.ts"
import { chunk, fakeUpstream, lastChunk } from "../support/fakeUpstream.ts"
import { cloudsAt, startGateway } from "../support/gateway.ts"
import { eventsIn, type Got, open, post } from "../support/http.ts"
import { changes, edited, edits, mutated } from "./mutate.ts"

export interface Runs {
  readonly seed: number
  readonly runs: number
}

export interface Target {
  readonly name: string
  /** Throws with the smallest input that breaks a promise. */
  readonly run: (runs: Runs) => Promise<void>
}

const check = <A>(arbitrary: fc.Arbitrary<A>, { seed, runs }: Runs, promise: (input: A) => unknown): Promise<void> =>
  fc.assert(
    fc.asyncProperty(arbitrary, async (input) => {
      await promise(input)
    }),
    { seed, numRuns: runs, interruptAfterTimeLimit: 600_000 }
  )

/** Settings that no caller may ever see. */
const secrets = /secret-project|ya29\.|bedrock-api-key-secret|azure-secret-key|127\.0\.0\.1|node_modules|\.ts:\d+/

const question = { role: "user", content: "Say hello" }
const weather = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
/** One right request for each surface, with much of what it takes. */
const requests: ReadonlyArray<readonly [path: string, body: object]> = [
  ...["claude-sonnet-4-5:il5", "gemini-3-flash:il2", "gpt-5.1:il5", "gpt-oss-120b:il5"].map(
    (model) =>
      [
        "/v1/chat/completions",
        {
          model,
          messages: [
            { role: "system", content: "Be short." },
            question,
            {
              role: "assistant",
              content: null,
              tool_calls: [
                { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Bonn"}' } }
              ]
            },
            { role: "tool", tool_call_id: "call_1", content: '{"degrees":4}' },
            { role: "user", content: [{ type: "text", text: "And tomorrow?" }] }
          ],
          tools: [{ type: "function", function: { name: "weather", description: "The weather", parameters: weather } }],
          tool_choice: "auto",
          max_tokens: 4096,
          temperature: 0.5,
          stop: ["END"],
          response_format: { type: "text" },
          reasoning_effort: "low"
        }
      ] as const
  ),
  ...["/v1/messages", "/v1/messages/count_tokens"].map(
    (path) =>
      [
        path,
        {
          model: "claude-sonnet-4-5:il2",
          max_tokens: 2048,
          system: [{ type: "text", text: "Be short.", cache_control: { type: "ephemeral" } }],
          messages: [
            question,
            {
              role: "assistant",
              content: [{ type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Bonn" } }]
            },
            { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "4 degrees" }] }
          ],
          tools: [{ name: "weather", description: "The weather", input_schema: weather }],
          tool_choice: { type: "auto" },
          metadata: { user_id: "u" }
        }
      ] as const
  ),
  [
    "/v1/responses",
    {
      model: "gpt-5.1:il5",
      instructions: "Be short.",
      input: [
        { role: "user", content: [{ type: "input_text", text: "Say hello" }] },
        { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Bonn"}' },
        { type: "function_call_output", call_id: "call_1", output: "4 degrees" }
      ],
      tools: [{ type: "function", name: "weather", parameters: weather, strict: false }],
      reasoning: { effort: "low" },
      max_output_tokens: 500
    }
  ],
  ["/v1/embeddings", { model: "titan-embed-text-v2:il5", input: ["one", "two"], dimensions: 256 }]
]

const refusedOrServed = (got: Got) => {
  assert.ok(got.status < 500, `${got.status}: ${got.text.slice(0, 500)}`)
  assert.doesNotMatch(got.text, secrets)
}

const bodies: Target = {
  name: "bodies",
  run: async (runs) => {
    const gateway = await startGateway()
    try {
      const cases = fc.record({
        request: fc.constantFrom(...requests),
        edits: edits(3),
        stream: fc.boolean(),
        bytes: fc.option(changes(2), { freq: 4 })
      })
      await check(cases, runs, async ({ bytes, edits: some, request: [path, body], stream }) => {
        const json = edited({ ...body, ...(stream ? { stream } : {}) }, some)
        const text = Buffer.from(JSON.stringify(json) ?? "")
        refusedOrServed(await post(gateway.url + path, bytes === null ? text : mutated(text, bytes)))
      })
    } finally {
      await gateway.stop()
    }
  }
}

/** Sends bytes and answers what came until nothing more does. */
const speak = (port: number, bytes: Buffer): Promise<string> =>
  new Promise((done) => {
    const socket = connect(port, "127.0.0.1")
    let text = ""
    const over = () => {
      socket.destroy()
      done(text)
    }
    let quiet = setTimeout(over, 150)
    socket.on("data", (data) => {
      text += data.toString("latin1")
      clearTimeout(quiet)
      quiet = setTimeout(over, 40)
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      clearTimeout(quiet)
      done(text)
    })
    socket.write(bytes)
  })

const http: Target = {
  name: "http",
  run: async (runs) => {
    const gateway = await startGateway()
    try {
      const whole = ([path, body]: (typeof requests)[number]) => {
        const text = JSON.stringify(body)
        return Buffer.from(
          `POST ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: sandbox-key\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
        )
      }
      const cases = fc.record({ request: fc.constantFrom(...requests), changes: changes(4) })
      await check(cases, runs, async ({ request, changes: some }) => {
        const text = await speak(gateway.port, mutated(whole(request), some))
        for (const [, status] of text.matchAll(/^HTTP\/1\.1 (\d{3})/gm))
          assert.ok(Number(status) < 500, text.slice(0, 400))
        assert.doesNotMatch(text, secrets)
        assert.equal((await fetch(`${gateway.url}/health`)).status, 200)
      })
    } finally {
      await gateway.stop()
    }
  }
}

const said: Said = {
  texts: ["Hello", " wörld 🌍 ", "and more"],
  calls: [{ id: "call_1", name: "weather", pieces: ['{"city":', '"Bonn"', "}"] }]
}

/** What a caller asks of this kind on each surface that it serves. */
const askedOf = ({ model, name }: Kind): ReadonlyArray<readonly [path: string, body: object]> => [
  [
    "/v1/chat/completions",
    {
      model,
      messages: [question],
      stream: true,
      tools: [{ type: "function", function: { name: "weather", parameters: weather } }]
    }
  ],
  ...(name.startsWith("Claude")
    ? ([["/v1/messages", { model, max_tokens: 2048, messages: [question], stream: true }]] as const)
    : [])
]

/** The stream's own last word, and an error in its place. */
const endsOf = (path: string, text: string) => {
  const events = eventsIn(text)
  const done =
    path === "/v1/messages"
      ? events.filter(({ event }) => event === "message_stop")
      : events.filter(({ data }) => data === "[DONE]")
  const errors = events.filter(({ event, json }) => event === "error" || json?.error !== undefined)
  return { done: done.length, errors: errors.length, last: events.at(-1) }
}

const streams: Target = {
  name: "streams",
  run: async (runs) => {
    let bytes: Buffer = Buffer.alloc(0)
    let head = ""
    let cuts: ReadonlyArray<number> = []
    const upstream = await fakeUpstream((socket) => {
      socket.write(head)
      const ends = [...new Set(cuts.map((cut) => Math.floor((cut / 10_000) * bytes.length)))].sort((a, b) => a - b)
      let from = 0
      for (const end of [...ends, bytes.length]) {
        if (end > from) socket.write(chunk(bytes.subarray(from, end)))
        from = end
      }
      socket.write(lastChunk)
    })
    const gateway = await startGateway({ settings: { ...cloudsAt(upstream.url), GATEWAY_LOG_LEVEL: "none" } })
    try {
      const asks = kinds.flatMap((kind) => askedOf(kind).map((ask) => [kind, ask] as const))
      const cases = fc.record({
        asked: fc.nat(asks.length - 1),
        changes: changes(3),
        cuts: fc.array(fc.nat(10_000), { maxLength: 8 })
      })
      await check(cases, runs, async ({ asked, changes: some, cuts: at }) => {
        const [kind, [path, body]] = asks[asked] ?? assert.fail()
        const right = Buffer.concat(kind.events(said).map((event) => Buffer.from(kind.frame(event))))
        bytes = mutated(right, some)
        head = kind.head
        cuts = at
        // Not judged by the contract: a cloud's broken words are passed on as they are.
        const response = await open(gateway.url + path, body)
        const got = { status: response.status, text: await response.text() }
        assert.doesNotMatch(got.text, secrets)
        if (got.status !== 200) {
          assert.ok(got.status >= 400 && got.status < 600)
          return
        }
        const { done, errors, last } = endsOf(path, got.text)
        assert.equal(done + errors, 1, `${done} ends and ${errors} errors: ${got.text}`)
        assert.ok(last?.data === "[DONE]" || last?.event === "message_stop" || errors === 1, got.text)
        // A reply that was only cut is never called whole: its terminal is in the last of its bytes.
        const onlyCut = some.length > 0 && some.every(({ kind: how }) => how === "cut")
        if (onlyCut && bytes.length < right.length - 200) assert.equal(done, 0, got.text)
        if (some.length === 0) assert.equal(done, 1, got.text)
      })
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  }
}

const catalogs: Target = {
  name: "catalogs",
  run: (runs) => {
    const few = { models: catalogJson.models.slice(0, 3) }
    const cases = fc.record({ edits: edits(4), bytes: fc.option(changes(2), { freq: 3 }) })
    return check(cases, runs, ({ bytes, edits: some }) => {
      const text = Buffer.from(JSON.stringify(edited(few, some)) ?? "")
      const result = checkCatalog((bytes === null ? text : mutated(text, bytes)).toString("utf8"))
      if (Result.isSuccess(result)) return
      assert.ok(result.failure.length > 0)
      for (const line of result.failure) assert.doesNotMatch(line, /\n|node_modules/)
    })
  }
}

const keyFiles: Target = {
  name: "key files",
  run: (runs) => {
    const key = {
      id: "a1",
      name: "A",
      digest: "0".repeat(64),
      created: "2026-01-01T00:00:00.000Z",
      acknowledged: "2026-01-01T00:00:00.000Z",
      models: ["claude-*"],
      levels: ["il5"],
      monthlyTokens: 5
    }
    const cases = fc.record({ edits: edits(3), bytes: fc.option(changes(2), { freq: 3 }) })
    return check(cases, runs, async ({ bytes, edits: some }) => {
      const text = Buffer.from(JSON.stringify(edited({ version: 1, keys: [key] }, some)) ?? "")
      const exit = await Effect.runPromiseExit(
        parseBook("keys.json", (bytes === null ? text : mutated(text, bytes)).toString("utf8"))
      )
      if (Exit.isFailure(exit)) assert.ok(Cause.squash(exit.cause) instanceof OperatorError, Cause.pretty(exit.cause))
    })
  }
}

export const targets: ReadonlyArray<Target> = [bodies, http, streams, catalogs, keyFiles]
