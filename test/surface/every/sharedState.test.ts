/** What outlives a request, and that no caller changes another's by it (docs/architecture.md#state-that-outlives-a-request). */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { keepParsed, parsedObject } from "../../../src/vendors/toolCalls.ts"
import { keysFileWith } from "../../operation/keysFile.ts"
import { bedrockFrame, message, saying, sseFrame, wholeMessage } from "../../support/claude.ts"
import {
  chunk,
  type FakeUpstream,
  fakeUpstream,
  frameHead,
  lastChunk,
  reply,
  sseHead
} from "../../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../../support/gateway.ts"
import { eventsIn, open, post } from "../../support/http.ts"

const root = resolve(import.meta.dirname, "../../..")

describe("the table of what outlives a request", () => {
  const [, table = ""] = readFileSync(join(root, "docs/architecture.md"), "utf8").split(
    "## State that outlives a request"
  )
  const rows = (table.split("\n## ")[0] ?? "")
    .split("\n")
    .filter((line) => line.startsWith("| ") && line.includes("src/"))

  it("names a test in each row", () => {
    assert.isAbove(rows.length, 10)
    for (const row of rows) assert.match(row.split("|").at(-2) ?? "", /\]\(\.\.\/test\/[\w./]+\.test\.ts\)/, row)
  })

  it("names every module that has such state of its own", () => {
    const state =
      /^(?:export )?(?:let |const \w+(?:: (?!Readonly)[^=]+)? = (?:new (?:WeakMap|(?:Map|Set)(?:<[^(]*>)?\(\)|\w*Writer)|Buffer\.alloc\w*\((?!0)))/m
    // They serve no callers, or end with their command.
    const apart = /^src\/(?:sandbox|cli|client|doctor|usage)\//
    const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .map((name) => `src/${name}`)
      .filter((name) => name.endsWith(".ts") && !apart.test(name) && state.test(readFileSync(join(root, name), "utf8")))
    assert.include(files, "src/wire/slices.ts")
    assert.deepStrictEqual(
      files.filter((name) => !table.includes(name)),
      []
    )
  })
})

describe("two keys", () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-shared-"))
  const { file, secrets } = keysFileWith(directory, {
    a: {},
    b: {},
    rated: { requestsPerMinute: 1 },
    spent: { monthlyTokens: 300 },
    busy: { streams: 1 }
  })
  let upstream: FakeUpstream
  let gateway: Gateway
  /** The body of the last call. */
  let received = ""
  beforeAll(async () => {
    /** Does what the message says, or says it again. */
    upstream = await fakeUpstream(async (socket, { body, path }) => {
      received = body
      const { messages } = JSON.parse(body)
      const { content } = messages[0] as { readonly content: string | readonly [{ readonly text: string }] }
      const text = typeof content === "string" ? content : content[0].text
      const [status] = /^[45]\d\d/.exec(text) ?? []
      if (status !== undefined) return socket.write(reply(`${status} X`, JSON.stringify({ error: { message: "no" } })))
      if (text === "hang") return undefined
      if (!/stream/i.test(path))
        return socket.write(reply("200 OK", JSON.stringify(wholeMessage([{ type: "text", text }]))))
      const [head, frame] = path.includes("/model/") ? [frameHead, bedrockFrame] : [sseHead, sseFrame]
      socket.write(head)
      for (const event of saying(...text.split(/(?<= )/))) {
        socket.write(chunk(frame(event)))
        await sleep(1)
        if (text.startsWith("cut") && event.type === "content_block_delta") return socket.destroy()
      }
      return socket.write(lastChunk)
    })
    gateway = await startGateway({ settings: { ...cloudsAt(upstream.url), GATEWAY_KEYS_FILE: file } })
  })
  afterAll(async () => {
    await gateway.stop()
    await upstream.stop()
    rmSync(directory, { recursive: true })
  })
  type Key = keyof typeof secrets
  const models = ["claude-haiku-4-5:il2", "claude-haiku-4-5:il5"] as const
  const ask = (key: Key, text: string, model: string, path = "/v1/messages", stream = false) =>
    post(`${gateway.url}${path}`, message(model, text, { stream }), { "x-api-key": secrets[key] })
  const isServed = async (key: Key, model: string) => {
    const { json, status } = await ask(key, "hello", model)
    assert.strictEqual(status, 200)
    assert.strictEqual(json.content[0].text, "hello")
  }

  for (const model of models) {
    for (const status of [400, 401, 403, 404, 413, 429, 500, 504, 529]) {
      it(`${model}: what the cloud refuses of one with ${status} does not close it to the other`, async () => {
        const all = await Promise.all(Array.from({ length: 12 }, () => ask("a", `${status}`, model)))
        for (const got of all) assert.isAtLeast(got.status, 400)
        await isServed("b", model)
      })
    }

    it(`${model}: calls that one gives up do not close it to the other`, async () => {
      const before = upstream.received.length
      const aborting = new AbortController()
      const calls = Array.from({ length: 12 }, () =>
        open(
          `${gateway.url}/v1/messages`,
          message(model, "hang"),
          { "x-api-key": secrets.a },
          { signal: aborting.signal }
        ).catch(() => undefined)
      )
      while (upstream.received.length < before + calls.length) await sleep(5)
      aborting.abort()
      await Promise.all(calls)
      await isServed("b", model)
    })

    it(`${model}: each stream is its caller's own, beside those that break off`, async () => {
      const textOf = (at: number) => Array.from({ length: 20 }, (_, n) => `${at}-${n}-é${"x".repeat(at)}`).join(" ")
      const said = (text: string): string =>
        eventsIn(text)
          .map(({ json }) => json?.delta?.text ?? json?.choices?.[0]?.delta?.content ?? "")
          .join("")
      await Promise.all(
        Array.from({ length: 16 }, async (_, at) => {
          const path = at % 2 === 0 ? "/v1/messages" : "/v1/chat/completions"
          const [cut, whole] = await Promise.all([
            ask("a", `cut ${textOf(at)}`, model, path, true),
            ask("b", textOf(at), model, path, true)
          ])
          assert.notInclude(said(cut.text), "19")
          assert.strictEqual(said(whole.text), textOf(at))
        })
      )
    })
  }

  it("the names in one's schema are not read as those of the other's", async () => {
    const [model] = models
    const send = async (key: Key, property: string) => {
      const tools = [{ name: "t", input_schema: { type: "object", properties: { same: {}, [property]: {} } } }]
      await post(`${gateway.url}/v1/messages`, message(model, "hello", { tools }), { "x-api-key": secrets[key] })
      assert.include(received, JSON.stringify({ same: {}, [property]: {} }))
    }
    await send("a", "\n")
    await send("b", "\\")
    await send("a", "\n")
  })

  it("the limits of one are not the other's", async () => {
    const [model] = models
    assert.strictEqual((await ask("rated", "hello", model)).status, 200)
    assert.strictEqual((await ask("rated", "hello", model)).status, 429)
    assert.strictEqual((await ask("spent", "x".repeat(4_000), model)).status, 429)
    const running = await open(`${gateway.url}/v1/messages`, message(model, "long ".repeat(2_000), { stream: true }), {
      "x-api-key": secrets.busy
    })
    assert.strictEqual((await ask("busy", "hello", model, "/v1/messages", true)).status, 429)
    await running.body?.cancel()
    for (const key of ["a", "b"] as const) await isServed(key, model)
  })
})

describe("what was made before is found again", () => {
  it("by the request's own object, not by one that is equal", () => {
    const [mine, yours] = [{ content: "{}" }, { content: "{}" }]
    keepParsed(mine, { a: 1 })
    assert.deepStrictEqual(parsedObject(mine, "{}"), { a: 1 })
    assert.deepStrictEqual(parsedObject(yours, "{}"), {})
  })
})
