import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { callerId } from "../../src/identity/rules.ts"
import { makeKey, tokenOf } from "../identity/issuer.ts"
import { hasOwnRedis, startRedis, type TestRedis } from "../limits/redis.ts"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { get } from "../support/http.ts"
import { until } from "./child.ts"
import { sharedCommands } from "./commands.ts"
import { keysFileWith } from "./keysFile.ts"
import { ask, openSurface, requestOf } from "./surfaces.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-redis-access-"))
const command = sharedCommands()
const racing = "[sandbox: delay=200ms]"
const reserved = Math.ceil(Buffer.byteLength(JSON.stringify(requestOf("chat", racing)[1])) / 4) + 100
const { file, secrets } = keysFileWith(directory, {
  rate: { requestsPerMinute: 5 },
  streams: { streams: 1 },
  race: { monthlyTokens: 10 * reserved },
  quota: { monthlyTokens: 100_000 },
  local: { requestsPerMinute: 2 },
  free: {},
  leaked: {},
  paused: {},
  rotated: {},
  restored: { monthlyTokens: 100_000 }
})
let redis: TestRedis
let gateways: readonly [Gateway, Gateway]

describe.skipIf(!hasOwnRedis)("two gateways on one Redis", () => {
  beforeAll(async () => {
    redis = await startRedis()
    const settings = { GATEWAY_KEYS_FILE: file, GATEWAY_REDIS_URL: redis.url }
    gateways = await Promise.all([startGateway({ settings }), startGateway({ settings })])
  })
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()))
    await redis.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  const either = (n: number) => gateways[n % 2 === 0 ? 0 : 1].url

  it("share requests a minute, streams and the quota", async () => {
    const rated = await Promise.all(
      Array.from({ length: 20 }, (_, n) => ask(either(n), secrets.rate, "embeddings", "hi"))
    )
    assert.strictEqual(rated.filter(({ status }) => status === 200).length, 5)

    const running = await openSurface(either(0), secrets.streams, "messages", "[sandbox: stall after=2]", {
      stream: true
    })
    assert.strictEqual((await ask(either(1), secrets.streams, "chat", "hi", { stream: true })).status, 429)
    await running.body?.cancel()
    await until(
      async () => (await ask(either(1), secrets.streams, "chat", "hi", { stream: true })).status === 200,
      "a free stream"
    )

    const raced = await Promise.all(Array.from({ length: 100 }, (_, n) => ask(either(n), secrets.race, "chat", racing)))
    const passed = raced.filter(({ status }) => status === 200).length
    assert.isTrue(passed >= 10 && passed < 100, String(passed))
    const records = () =>
      gateways
        .flatMap((gateway) => gateway.records())
        .filter(({ key_id }) => key_id === "race") as unknown as ReadonlyArray<{
        readonly quota: { readonly charged: number } | null
      }>
    await until(() => records().length === 100, "100 records")
    const charged = records().reduce((total, { quota }) => total + (quota?.charged ?? 0), 0)
    assert.isAtMost(charged, 10 * reserved)
    // What one gateway charged, the other sees.
    const [first, second] = [
      await ask(either(0), secrets.quota, "chat", "hello"),
      await ask(either(1), secrets.quota, "chat", "hello")
    ]
    assert.strictEqual(
      Number(first.headers.get("x-ratelimit-remaining-tokens")) -
        Number(second.headers.get("x-ratelimit-remaining-tokens")),
      first.json.usage.total_tokens
    )
  })

  it("what is revoked is refused by every replica within two seconds, and its streams end", async () => {
    // The other replica has a copy of the key file, which does not change.
    const copy = join(directory, "copy.json")
    writeFileSync(copy, readFileSync(file))
    const signing = await makeKey("ES256", "one")
    writeFileSync(join(directory, "jwks.json"), JSON.stringify({ keys: [signing.jwk] }))
    const identity = join(directory, "identity.json")
    writeFileSync(
      identity,
      JSON.stringify({
        version: 1,
        issuers: [{ issuer: "https://id", audience: "gateway", jwks: "jwks.json" }],
        rules: [{ issuer: "https://id", claims: { sub: "*" } }]
      })
    )
    const other = await startGateway({
      settings: { GATEWAY_KEYS_FILE: copy, GATEWAY_REDIS_URL: redis.url, GATEWAY_IDENTITY_FILE: identity }
    })
    const run = async (...args: ReadonlyArray<string>) => {
      const { stdout } = await command(["keys", ...args], { GATEWAY_KEYS_FILE: file, GATEWAY_REDIS_URL: redis.url })
      assert.include(stdout, "Replicas that share the Redis were notified.")
    }
    const refused = async (secret: string) =>
      (await get(`${other.url}/v1/models`, { "x-api-key": secret })).status === 403
    try {
      const running = await openSurface(other.url, secrets.leaked, "chat", "[sandbox: stall after=2]", { stream: true })
      await run("revoke", "leaked")
      const toldAt = performance.now()
      await until(() => refused(secrets.leaked), "the refusal", 5000)
      assert.match(await running.text(), /authentication_error.*no longer gives access/)
      // A second more for a machine that does other things.
      assert.isBelow(performance.now() - toldAt, 3000)
      await run("disable", "paused")
      await until(() => refused(secrets.paused), "the refusal", 5000)
      // By a shell that does not know the Redis, which its gateway counts in.
      writeFileSync(join(directory, "counts-in-redis"), "epoch")
      const unknowing = { GATEWAY_KEYS_FILE: file, GATEWAY_STATE_DIR: directory }
      const { stdout } = await command(["keys", "enable", "paused"], unknowing)
      assert.include(stdout, "may refuse it on")
      await run("enable", "paused")
      await until(async () => !(await refused(secrets.paused)), "the key")

      const rotating = await openSurface(other.url, secrets.rotated, "chat", "[sandbox: stall after=2]", {
        stream: true
      })
      await run("rotate", "rotated", "--overlap", "0")
      await until(() => refused(secrets.rotated), "the refusal", 5000)
      assert.match(await rotating.text(), /authentication_error.*no longer gives access/)

      const bearer = { authorization: `Bearer ${await tokenOf("https://id", signing)}` }
      const statusOf = async () => (await get(`${other.url}/v1/models`, bearer)).status
      const streaming = await fetch(`${other.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", ...bearer },
        body: JSON.stringify({ ...requestOf("chat", "[sandbox: stall after=2]")[1], stream: true })
      })
      assert.strictEqual(streaming.status, 200)
      const caller = callerId("jwt", "https://id", "job-1")
      await run("disable", caller)
      await until(async () => (await statusOf()) === 403, "the refusal", 5000)
      assert.match(await streaming.text(), /no longer gives access/)
      await run("enable", caller)
      await until(async () => (await statusOf()) === 200, "the caller")
    } finally {
      await other.stop()
    }
  }, 60_000)

  it("gets back this month's counts from the usage records by a command, where it was lost", async () => {
    let own = await startRedis()
    const usage = join(directory, "usage.jsonl")
    const state = join(directory, "state")
    const settings = {
      GATEWAY_KEYS_FILE: file,
      GATEWAY_REDIS_URL: own.url,
      GATEWAY_USAGE_LOG: usage,
      GATEWAY_STATE_DIR: state
    }
    const remaining = async () => {
      const gateway = await startGateway({ settings })
      try {
        const { headers, json } = await ask(gateway.url, secrets.restored, "chat", "hello")
        await until(() => gateway.records().some(({ request_id }) => request_id === headers.get("x-request-id")), "it")
        return { left: Number(headers.get("x-ratelimit-remaining-tokens")), used: Number(json.usage.total_tokens) }
      } finally {
        await gateway.stop()
      }
    }
    const listed = async () => {
      const { stdout } = await command(["keys", "list", "--json"], settings)
      const { keys } = JSON.parse(stdout)
      return keys.find(({ id }: { readonly id: string }) => id === "restored").use.monthlyTokens
    }
    try {
      const first = await remaining()
      assert.strictEqual(await listed(), first.used)
      await own.stop()
      own = await startRedis(Number(new URL(own.url).port))
      assert.strictEqual(await listed(), 0)
      const { code, stderr, stdout } = await command(["usage", "restore", usage], settings)
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.match(
        stdout,
        /^\d+ counts of this month and of today are now at least what 1 records say\. None was lowered\.$/m
      )
      assert.strictEqual(await listed(), first.used)
      assert.isAtMost((await remaining()).left, first.left - first.used)
    } finally {
      await own.stop()
    }
  }, 60_000)

  it("without it keys still work, requests are counted locally, quotas are refused; both are logged, and over when it is back", async () => {
    const [gateway] = gateways
    const port = Number(new URL(redis.url).port)
    await redis.stop()
    const models = (secret: string) => get(`${gateway.url}/v1/models`, { "x-api-key": secret })
    assert.strictEqual((await models(secrets.free)).status, 200)
    assert.strictEqual((await models("wrong")).status, 403)
    assert.strictEqual((await ask(gateway.url, secrets.free, "chat", "hi")).status, 200)

    const local = []
    for (let n = 0; n < 3; n++) local.push((await ask(gateway.url, secrets.local, "messages", "hi")).status)
    assert.deepStrictEqual(local, [200, 200, 429])
    const closed = await ask(gateway.url, secrets.quota, "chat", "hi")
    assert.strictEqual(closed.status, 503)
    assert.strictEqual(closed.headers.get("retry-after"), "5")
    assert.strictEqual(closed.json.error.type, "api_error")
    for (const use of ["rate-limit", "quota"]) {
      const lines = gateway.logs.filter((line) => line.includes("is lost") && line.includes(`"use":"${use}"`))
      assert.lengthOf(lines, 1, use)
      assert.match(lines[0] ?? "", /^Error/)
    }

    redis = await startRedis(port)
    await until(async () => (await ask(gateway.url, secrets.quota, "chat", "hi")).status === 200, "the quota")
    assert.isTrue(gateway.logs.some((line) => line.includes("is back")))
  })
})
