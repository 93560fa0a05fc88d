import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { rotateKey } from "../../src/operators/keys/keysCommand.ts"
import { secretIn } from "../limits/support.ts"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { eventsIn, get, post } from "../support/http.ts"
import { until } from "./child.ts"
import { keysFileWith } from "./keysFile.ts"
import { ask, inference, openSurface, requestOf, streaming } from "./surfaces.ts"

const rotated = { name: "rotated" }
const initial = {
  messages: { requestsPerMinute: 2 },
  count_tokens: { requestsPerMinute: 2 },
  chat: { requestsPerMinute: 2 },
  responses: { requestsPerMinute: 2 },
  embeddings: { requestsPerMinute: 2 },
  quota: { monthlyTokens: 1_000_000 },
  tokens: { tokensPerMinute: 600 },
  streams: { streams: 2 },
  narrow: { models: ["claude-*"], levels: ["il5"] },
  levels: { levels: ["il2"] },
  free: {},
  revoked: {},
  removed: {},
  expiring: {},
  rotated,
  graceless: {}
}

const directory = mkdtempSync(join(tmpdir(), "gateway-access-"))
const { file, secrets, write } = keysFileWith(directory, initial)
let gateway: Gateway

beforeAll(async () => {
  gateway = await startGateway({ settings: { GATEWAY_KEYS_FILE: file }, sandbox: true })
})
afterAll(async () => {
  await gateway.stop()
  rmSync(directory, { recursive: true, force: true })
})

const models = (secret: string) => get(`${gateway.url}/v1/models`, { "x-api-key": secret })
/** How long it took, in milliseconds, until the key was refused. */
const refusedAfter = async (secret: string) => {
  const startedAt = Date.now()
  await until(async () => (await models(secret)).status === 403, "the end of the key", 6000)
  return Date.now() - startedAt
}
const errorOf = (surface: string, json: ReturnType<typeof JSON.parse>) => {
  if (surface === "messages" || surface === "count_tokens") assert.strictEqual(json.type, "error")
  else assert.notProperty(json, "type")
  return json.error
}

it("the sandbox's key works beside the operator's, and has no limits", async () => {
  for (const secret of ["sandbox-key", secrets.free]) assert.strictEqual((await models(secret)).status, 200)
  assert.strictEqual((await models("sandbox-key-")).status, 403)
  const { status, headers } = await ask(gateway.url, "sandbox-key", "messages", "Hello")
  assert.deepStrictEqual([status, headers.get("x-ratelimit-limit-requests")], [200, null])
})

describe("requests a minute", () => {
  for (const surface of [...inference, "count_tokens"] as const) {
    it.concurrent(`${surface}: the reply says what is left, and 429 when to come back`, async () => {
      const replies = []
      for (let n = 0; n < 3; n++) replies.push(await ask(gateway.url, secrets[surface], surface, "hello"))
      assert.deepStrictEqual(
        replies.map(({ status }) => status),
        [200, 200, 429]
      )
      assert.deepStrictEqual(
        replies.map(({ headers }) => [
          headers.get("x-ratelimit-limit-requests"),
          headers.get("x-ratelimit-remaining-requests")
        ]),
        [
          ["2", "1"],
          ["2", "0"],
          ["2", "0"]
        ]
      )
      for (const { headers } of replies) assert.match(headers.get("x-ratelimit-reset-requests") ?? "", /^(1m)?\d+s$/)
      const last = replies[2]
      const wait = Number(last?.headers.get("retry-after"))
      assert.isTrue(wait >= 1 && wait <= 60, String(wait))
      const error = errorOf(surface, last?.json)
      assert.strictEqual(error.type, "rate_limit_error")
      assert.include(error.message, "2 requests a minute")
    })
  }

  it.concurrent("the quota's headers are on every reply that draws on it", async () => {
    for (const surface of inference) {
      const { headers, status } = await ask(gateway.url, secrets.quota, surface, "hello")
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("x-ratelimit-limit-tokens"), "1000000")
      assert.isBelow(Number(headers.get("x-ratelimit-remaining-tokens")), 1_000_000)
      assert.match(headers.get("x-ratelimit-reset-tokens") ?? "", /^\d+h\d+m\d+s$|^(\d+m)?\d+s$/)
      assert.isNull(headers.get("x-ratelimit-limit-requests"))
    }
    const stream = await ask(gateway.url, secrets.quota, "chat", "hello", { stream: true })
    assert.strictEqual(stream.headers.get("x-ratelimit-limit-tokens"), "1000000")
  })
})

describe("tokens a minute", () => {
  it.concurrent("a request that uses too many makes the next one wait, on every surface", async () => {
    const first = await ask(gateway.url, secrets.tokens, "chat", "[sandbox: events=400]", { maxTokens: 500 })
    assert.strictEqual(first.status, 200)
    assert.strictEqual(first.headers.get("x-ratelimit-limit-tokens"), "600")
    for (const surface of streaming) {
      const { headers, json, status } = await ask(gateway.url, secrets.tokens, surface, "hello", { maxTokens: 500 })
      assert.strictEqual(status, 429)
      assert.strictEqual(errorOf(surface, json).type, "rate_limit_error")
      assert.match(errorOf(surface, json).message, /600 tokens a minute\..* Try again in \d+ s\./)
      const wait = Number(headers.get("retry-after"))
      assert.isTrue(wait >= 1 && wait <= 60, String(wait))
      assert.strictEqual(headers.get("x-should-retry"), "true")
      assert.strictEqual(headers.get("x-ratelimit-limit-tokens"), "600")
      assert.match(headers.get("x-ratelimit-reset-tokens") ?? "", /^\d+s$/)
    }
  })
})

describe("streams at a time", () => {
  it.concurrent("one too many gets 429 and gets its turn when another has ended; unstreamed requests do not count", async () => {
    const hang = (surface: (typeof streaming)[number]) =>
      openSurface(gateway.url, secrets.streams, surface, "[sandbox: stall after=2]", { stream: true })
    const [one, two] = await Promise.all([hang("messages"), hang("responses")])
    for (const surface of streaming) {
      const refused = await ask(gateway.url, secrets.streams, surface, "hi", { stream: true })
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.headers.get("retry-after"), "1")
      assert.strictEqual(errorOf(surface, refused.json).type, "rate_limit_error")
    }
    assert.strictEqual((await ask(gateway.url, secrets.streams, "chat", "hi")).status, 200)
    await one.body?.cancel()
    await until(
      async () => (await ask(gateway.url, secrets.streams, "messages", "hi", { stream: true })).status === 200,
      "a free stream"
    )
    await two.body?.cancel()
  })
})

describe("what a key may use", () => {
  it.concurrent("403 permission_error names what it may, on every surface; the list shows only that", async () => {
    const allowed = await ask(gateway.url, secrets.narrow, "messages", "hi")
    assert.strictEqual(allowed.status, 200)
    for (const surface of ["chat", "responses", "embeddings"] as const) {
      const { json, status } = await ask(gateway.url, secrets.narrow, surface, "hi")
      assert.strictEqual(status, 403)
      assert.strictEqual(errorOf(surface, json).type, "permission_error")
      assert.include(json.error.message, "claude-*")
    }
    for (const surface of ["messages", "count_tokens"] as const) {
      const { json, status } = await ask(gateway.url, secrets.levels, surface, "hi")
      assert.strictEqual(status, 403)
      assert.strictEqual(errorOf(surface, json).type, "permission_error")
      assert.include(json.error.message, "il2")
    }
    const ids = (await models(secrets.narrow)).json.data.map(({ id }: { readonly id: string }) => id)
    assert.isAbove(ids.length, 3)
    for (const id of ids) assert.match(id, /^claude-[^:]+:il5$/)
    assert.isAbove((await models(secrets.free)).json.data.length, ids.length)
    const refusedAt = () =>
      gateway
        .records()
        .flatMap(({ deployment, level, outcome }) => (outcome === "forbidden" ? [{ deployment, level }] : []))
    await until(() => refusedAt().length >= 5, "the records of the refusals")
    for (const refusal of refusedAt()) assert.deepStrictEqual(refusal, { deployment: null, level: "il5" })
  })

  it.concurrent("an error about a model names only IDs of the key's list, on chat and messages, streamed or not", async () => {
    const listOf = async (secret: string) =>
      new Set((await models(secret)).json.data.map(({ id }: { readonly id: string }) => id))
    const lists = { narrow: await listOf(secrets.narrow), levels: await listOf(secrets.levels) }
    const asked = [
      "claude-sonnet-4.5:il4",
      "gemini-3:il5",
      "claude-opus-4-8",
      "gpt-5.1:il9",
      "claude-opus-4-8:il5",
      "zzz"
    ]
    for (const surface of ["chat", "messages"] as const) {
      for (const stream of [true, false]) {
        const [path, body] = requestOf(surface, "hi", { stream })
        for (const key of ["narrow", "levels"] as const) {
          for (const model of asked) {
            const headers = { "x-api-key": secrets[key] }
            const { json, status } = await post(`${gateway.url}${path}`, { ...body, model }, headers)
            assert.deepStrictEqual([status, errorOf(surface, json).type], [400, "invalid_request_error"])
            const { message } = json.error
            assert.include(message, `model "${model}" `)
            const named = message.replace(`"${model}"`, "").match(/[a-z0-9.-]+:[a-z0-9+-]+/g) ?? []
            if (model !== "zzz" && model !== "gemini-3:il5") assert.isNotEmpty(named, message)
            for (const id of named) assert.isTrue(lists[key].has(id), `${key} is told of ${id}: ${message}`)
          }
        }
      }
    }
  })
})

describe("the end of a key", () => {
  it.concurrent("revoked, removed or expired, it is refused within 5 s and its streams end in-band within 30 s", async () => {
    const ends = ["revoked", "removed", "expiring"] as const
    const running = await Promise.all(
      ends.flatMap((key) =>
        streaming.map(async (surface) => ({
          surface,
          response: await openSurface(gateway.url, secrets[key], surface, "[sandbox: stall after=3]", { stream: true })
        }))
      )
    )
    for (const { response } of running) assert.strictEqual(response.status, 200)
    const { removed: _, ...rest } = initial
    write({
      ...rest,
      rotated,
      revoked: { revoked: new Date().toISOString() },
      expiring: { expires: new Date(Date.now() + 1500).toISOString() }
    })
    assert.strictEqual((await models(secrets.expiring)).status, 200)
    for (const time of await Promise.all(ends.map((key) => refusedAfter(secrets[key])))) assert.isBelow(time, 5000)
    const messages = await ask(gateway.url, secrets.revoked, "messages", "hi")
    assert.strictEqual(messages.status, 401)
    assert.strictEqual(messages.json.error.type, "authentication_error")

    const startedAt = Date.now()
    for (const { surface, response } of running) {
      const last = eventsIn(await response.text()).at(-1)
      if (surface === "messages") assert.strictEqual(last?.event, "error")
      if (surface === "responses") assert.strictEqual(last?.json.type, "error")
      assert.match(JSON.stringify(last?.json), /authentication_error.*no longer gives access/)
    }
    assert.isBelow(Date.now() - startedAt, 5000)
    await until(() => gateway.records().filter(({ outcome }) => outcome === "revoked").length === 9, "nine records")
    // Others go on.
    assert.strictEqual((await models(secrets.free)).status, 200)

    const rotate = async (id: string, grace: "1 day" | "1 second") =>
      secretIn((await Effect.runPromise(Effect.provide(rotateKey(file, id, grace), NodeServices.layer))).text)
    const renewed = [await rotate("rotated", "1 day"), await rotate("graceless", "1 second")]
    for (const secret of renewed) {
      await until(async () => (await models(secret)).status === 200, "the new secret")
    }
    await refusedAfter(secrets.graceless)
    assert.strictEqual((await models(secrets.rotated)).status, 200)
  })
})

it("a request that waits for the cloud's quota is not sent when its key is removed", async () => {
  const own = mkdtempSync(join(directory, "own-"))
  const { file, secrets, write } = keysFileWith(own, { first: {}, waiting: {} })
  const overlay = join(own, "overlay.json")
  writeFileSync(overlay, JSON.stringify({ models: { "claude-sonnet-4-5": { bedrock: { quota: { requests: 1 } } } } }))
  const limited = await startGateway({
    settings: { GATEWAY_KEYS_FILE: file, GATEWAY_CATALOG_OVERLAY: overlay, GATEWAY_QUEUE_WAIT: "2 minutes" },
    sandbox: true
  })
  assert.strictEqual((await ask(limited.url, secrets.first, "messages", "hello")).status, 200)
  const waiting = ask(limited.url, secrets.waiting, "messages", "hello")
  write({ first: {} })
  const { headers, json, status } = await waiting
  assert.deepStrictEqual([status, headers.get("x-gateway-served-by")], [401, null])
  assert.include(json.error.message, "no longer gives access")
  assert.lengthOf(limited.calls(), 1)
  await limited.stop()
})

it("what was not sent, or not taken, is given back to the cloud's quota", async () => {
  const overlay = join(directory, "given-back.json")
  const models = {
    "claude-sonnet-4-5": { bedrock: { quota: { tokens: 5_000 } } },
    "titan-embed-text-v2": { bedrock: { quota: { requests: 20 } } }
  }
  writeFileSync(overlay, JSON.stringify({ models }))
  const limited = await startGateway({ settings: { GATEWAY_CATALOG_OVERLAY: overlay }, sandbox: true })
  try {
    const ask = async (text: string) => {
      const body = { model: "claude-sonnet-4-5:il5", max_tokens: 4_000, messages: [{ role: "user", content: text }] }
      return (await post(`${limited.url}/v1/messages`, body)).status
    }
    assert.deepStrictEqual([await ask("[sandbox: status=400]"), await ask("hello")], [400, 200])

    const embed = async (first: string) => {
      const input = [first, ...Array.from({ length: 11 }, () => "short")]
      return (await post(`${limited.url}/v1/embeddings`, { model: "titan-embed-text-v2:il5", input })).status
    }
    assert.deepStrictEqual([await embed("x".repeat(50_001)), await embed("short")], [400, 200])
  } finally {
    await limited.stop()
  }
})

describe("counting tokens", () => {
  it.concurrent("costs nothing and leaves no record", async () => {
    const counted = await ask(gateway.url, secrets.quota, "count_tokens", "hello")
    assert.strictEqual(counted.status, 200)
    assert.isNull(counted.headers.get("x-ratelimit-limit-tokens"))
    const refused = await ask(gateway.url, secrets.levels, "count_tokens", "hello")
    assert.strictEqual(refused.status, 403)
    await until(
      () => gateway.records().some((record) => record.surface === "count_tokens" && record.outcome === "forbidden"),
      "the record of the refusal"
    )
    assert.isFalse(gateway.records().some((record) => record.surface === "count_tokens" && record.outcome === "ok"))
  })
})
