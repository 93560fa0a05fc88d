import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { post } from "../support/http.ts"
import { start, until } from "./child.ts"
import { keysFileWith } from "./keysFile.ts"
import { ask, inference, openSurface, readUntil, requestOf, type Surface, streaming, usageIn } from "./surfaces.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-quota-"))
const stateDir = join(directory, "state")
const plenty = { monthlyTokens: 10_000_000 }
const racing = "[sandbox: delay=400ms]"
/** What one racing request reserves: a quarter of its bytes, and 100 tokens of output. */
const racingTokens = Math.ceil(Buffer.byteLength(JSON.stringify(requestOf("messages", racing)[1])) / 4) + 100
const raceLimit = 20 * racingTokens
/** 40 KB, of which a quarter is charged at least. */
const longPrompt = `[sandbox: delay=20s] ${"x".repeat(40_000)}`
const { file, secrets } = keysFileWith(directory, {
  ok: plenty,
  extra: plenty,
  refused: plenty,
  errors: plenty,
  cancelled: plenty,
  cut: plenty,
  batch: plenty,
  first: { monthlyTokens: 30_000 },
  small: { monthlyTokens: 2000, streams: 1 },
  race: { monthlyTokens: raceLimit }
})
let gateway: Gateway
let database: DatabaseSync

beforeAll(async () => {
  gateway = await startGateway({
    settings: {
      GATEWAY_KEYS_FILE: file,
      GATEWAY_STATE_DIR: stateDir,
      GATEWAY_MAX_BODY_BYTES: "60000",
      GATEWAY_EMBEDDINGS_CONCURRENCY: "1"
    },
    pace: 1
  })
  database = new DatabaseSync(join(stateDir, "quota.sqlite"), { readOnly: true })
})
afterAll(async () => {
  database.close()
  await gateway.stop()
  rmSync(directory, { recursive: true, force: true })
})

const sum = (query: string, key: string) => Number(database.prepare(query).get(`${key}:____-__`)?.tokens ?? 0)
/** Tokens in the store: charged this month, and held by running requests. */
const spent = (key: string) => sum("SELECT sum(spent) AS tokens FROM account WHERE name LIKE ?", key)
const held = (key: string) => sum("SELECT sum(amount) AS tokens FROM hold WHERE account LIKE ?", key)

interface Charge {
  readonly surface: string
  readonly outcome: string
  readonly quota: { readonly reserved: number; readonly charged: number } | null
}
/** The records of a key, once there are so many; nothing is held any more then, and the charges are in the store. */
const settled = async (key: string, count: number): Promise<ReadonlyArray<Charge>> => {
  const records = () => gateway.records().filter(({ key_id }) => key_id === key) as unknown as ReadonlyArray<Charge>
  await until(() => records().length === count, `${count} records of ${key}`)
  await until(() => held(key) === 0, `the release of ${key}`)
  assert.strictEqual(
    spent(key),
    records().reduce((total, { quota }) => total + (quota?.charged ?? 0), 0)
  )
  return records()
}

describe("the monthly quota", () => {
  it.concurrent("is reserved before the call and charged by what the cloud counted, streamed or not", async () => {
    for (const surface of inference) {
      const before = spent("ok")
      const hanging = ask(gateway.url, secrets.ok, surface, "[sandbox: delay=300ms] hello")
      await until(() => held("ok") > 0, "a hold")
      const whole = await hanging
      assert.strictEqual(whole.status, 200)
      await until(() => held("ok") === 0, "the release")
      assert.strictEqual(spent("ok") - before, usageIn(whole.json))
    }
    for (const surface of streaming) await ask(gateway.url, secrets.ok, surface, "hello", { stream: true })
    for (const { outcome, quota } of await settled("ok", 7)) {
      assert.strictEqual(outcome, "ok")
      assert.isAbove(quota?.charged ?? 0, 0)
      assert.isAbove(quota?.reserved ?? 0, quota?.charged ?? 0)
    }
    const listed = await start(["keys", "list"], { GATEWAY_KEYS_FILE: file, GATEWAY_STATE_DIR: stateDir }).ended
    assert.match(listed.stdout, new RegExp(`^ok .* 10000000 +${spent("ok")} +0.00 +\\d{4}-`, "m"))
  })

  it.concurrent("is reserved by the limit that the cloud's API has, and by no other that stands beside it", async () => {
    const limits = { max_tokens: 1, max_output_tokens: 1, generationConfig: { maxOutputTokens: 1 } }
    for (const [path, body, extra] of [
      ["/v1/chat/completions", { messages: [{ role: "user", content: "hi" }] }, { ...limits, max_tokens: undefined }],
      ["/v1/responses", { input: "hi", max_output_tokens: 4096 }, { ...limits, max_output_tokens: 4096 }]
    ] as const) {
      await post(`${gateway.url}${path}`, { model: "gpt-5.1:il5", ...body, ...extra }, { "x-api-key": secrets.extra })
    }
    for (const { quota } of await settled("extra", 2)) assert.isAbove(quota?.reserved ?? 0, 4096)
  })

  it.concurrent("a refused request costs nothing", async () => {
    const refuse = async (surface: Surface, extra: Readonly<Record<string, unknown>>) => {
      const [path, body] = requestOf(surface, "hi")
      const response = await fetch(`${gateway.url}${path}`, {
        method: "POST",
        headers: { "x-api-key": secrets.refused, "content-type": "application/json" },
        body: JSON.stringify({ ...body, ...extra })
      })
      assert.isAtLeast(response.status, 400)
      await response.text()
    }
    for (const surface of inference) {
      await refuse(surface, { model: "no-such-model:il5" })
      await refuse(surface, { padding: "x".repeat(60_000) })
    }
    for (const { quota } of await settled("refused", 8)) assert.isNull(quota)
  })

  it.concurrent("a cloud's error costs nothing, before the stream and without one", async () => {
    for (const surface of inference) {
      const failed = await ask(gateway.url, secrets.errors, surface, "[sandbox: status=500]")
      assert.strictEqual(failed.status, 502)
    }
    for (const surface of streaming) {
      const failed = await ask(gateway.url, secrets.errors, surface, "[sandbox: status=429 retry-after=7]", {
        stream: true
      })
      assert.strictEqual(failed.status, 429)
      assert.strictEqual(failed.headers.get("retry-after"), "7")
    }
    for (const { outcome, quota } of await settled("errors", 7)) {
      assert.strictEqual(outcome, "upstream_error")
      assert.strictEqual(quota?.charged, 0)
    }
  })

  it.concurrent("of a stream that its caller left, what came is charged; before the first byte the input", async () => {
    for (const surface of streaming) {
      const response = await openSurface(gateway.url, secrets.cancelled, surface, "[sandbox: events=5000]", {
        stream: true,
        maxTokens: 6000
      })
      await readUntil(response, "wordz")
      await until(() => held("cancelled") === 0, "the release")
    }
    for (const surface of inference) {
      const early = new AbortController()
      const asked = openSurface(gateway.url, secrets.cancelled, surface, `${longPrompt} ${surface}`, {
        stream: surface !== "embeddings",
        signal: early.signal
      })
      await until(() => gateway.calls().some(({ body }) => body.includes(`xx ${surface}`)), "the cloud to be asked")
      early.abort()
      await asked.catch(() => undefined)
      await until(() => held("cancelled") === 0, "the release")
    }
    const charges = await settled("cancelled", 7)
    for (const [n, { outcome, quota, surface }] of charges.entries()) {
      assert.strictEqual(outcome, "cancelled")
      if (n < 3) assert.isAtLeast(quota?.charged ?? 0, 26, surface)
      if (n < 3) assert.isBelow(quota?.charged ?? 0, 5000, surface)
      else assert.isTrue((quota?.charged ?? 0) >= 10_000 && (quota?.charged ?? 0) < 11_000, surface)
    }
  })

  it.concurrent("of a stream that broke off, what came is charged", async () => {
    for (const surface of streaming) {
      const { text } = await ask(gateway.url, secrets.cut, surface, "[sandbox: events=100] [sandbox: cut after=40]", {
        stream: true
      })
      assert.match(text, /error/)
    }
    for (const { outcome, quota, surface } of await settled("cut", 3)) {
      assert.strictEqual(outcome, "cut")
      assert.isAtLeast(quota?.charged ?? 0, 30, surface)
      assert.isBelow(quota?.charged ?? 0, 200, surface)
    }
  })

  it.concurrent("of a batch of embeddings that failed half way, what was embedded is charged", async () => {
    const alone = await ask(gateway.url, secrets.batch, "embeddings", "one two three")
    const body = { ...requestOf("embeddings", "")[1], input: ["one two three", "[sandbox: status=500]"] }
    const failed = await post(`${gateway.url}/v1/embeddings`, body, { "x-api-key": secrets.batch })
    assert.strictEqual(failed.status, 502)
    const [, record] = await settled("batch", 2)
    assert.strictEqual(record?.quota?.charged, usageIn(alone.json))
  })

  it.concurrent("reserves the output that is asked of the cloud, the gateway's own limit too, or 4,096", async () => {
    const text = "a first question"
    const chat = (model: string, extra: Readonly<Record<string, unknown>> = {}) => ({
      model,
      messages: [{ role: "user", content: text }],
      ...extra
    })
    const bodies = [
      chat("gpt-5.1:il5"),
      chat("gpt-5.1:il5", { max_tokens: 500 }),
      chat("claude-sonnet-4-5:il5"),
      chat("gemini-3-flash:il2", { max_completion_tokens: 300 })
    ]
    for (const body of bodies) {
      const { status } = await post(`${gateway.url}/v1/chat/completions`, body, { "x-api-key": secrets.first })
      assert.strictEqual(status, 200)
    }
    const claude = gateway.calls().find(({ body }) => body.includes(text) && body.includes("anthropic_version"))
    const own = Number(JSON.parse(claude?.body ?? "{}").max_tokens)
    assert.isAbove(own, 1000)
    const output = [4096, 500, own, 300]
    for (const [n, { quota }] of (await settled("first", 4)).entries()) {
      const input = Math.ceil(Buffer.byteLength(JSON.stringify(bodies[n])) / 4)
      assert.strictEqual(quota?.reserved, input + (output[n] ?? 0))
    }
  })

  it.concurrent("what does not fit is refused with 429 that says so, and holds neither tokens nor a stream", async () => {
    for (const surface of streaming) {
      const refused = await ask(gateway.url, secrets.small, surface, "x".repeat(8000), { stream: true })
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.json.error.type, "rate_limit_error")
      assert.match(refused.json.error.message, /at least 2\d\d\d tokens, more than all of this API key's 2000 tokens/)
      assert.isNull(refused.headers.get("retry-after"))
      assert.strictEqual(refused.headers.get("x-should-retry"), "false")
      assert.strictEqual(refused.headers.get("x-ratelimit-remaining-tokens"), "2000")
    }
    const fits = await ask(gateway.url, secrets.small, "messages", "hi", { stream: true, maxTokens: 50 })
    assert.strictEqual(fits.status, 200)
    for (const [n, { outcome, quota }] of (await settled("small", 4)).entries()) {
      assert.strictEqual(outcome, n < 3 ? "quota" : "ok")
      if (n < 3) assert.isNull(quota)
    }
    const counted = await ask(gateway.url, secrets.small, "count_tokens", "x".repeat(3000))
    assert.strictEqual(counted.status, 200)
  })

  it.concurrent("200 racing requests never pass it", async () => {
    let most = 0
    let racingOn = true
    const watch = async () => {
      while (racingOn) {
        most = Math.max(most, spent("race") + held("race"))
        await sleep(5)
      }
    }
    const watching = watch()
    const replies = await Promise.all(
      Array.from({ length: 200 }, () => ask(gateway.url, secrets.race, "messages", racing))
    )
    racingOn = false
    await watching
    const passed = replies.filter(({ status }) => status === 200).length
    assert.strictEqual(replies.filter(({ status }) => status === 429).length, 200 - passed)
    assert.isAtLeast(passed, 20)
    assert.isBelow(passed, 200)
    assert.isAtMost(most, raceLimit)
    assert.isAbove(most, raceLimit / 2)
    await settled("race", 200)
    assert.isAtMost(spent("race"), raceLimit)
  })
})
