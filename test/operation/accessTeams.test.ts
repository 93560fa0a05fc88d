import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Option, Result } from "effect"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { costOf } from "../../src/catalog/Tokens.ts"
import { spentIn } from "../../src/limits/store.ts"
import { listKeys, listTeams } from "../../src/operators/keys/listCommands.ts"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { until } from "./child.ts"
import { keysFileWith } from "./keysFile.ts"
import { ask, inference } from "./surfaces.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-teams-"))
const stateDir = join(directory, "state")
const prices = { currency: "USD", date: "2026-11-01", input: 1.25, output: 10, cacheRead: 0.125 }
/** GPT models have prices, others have none. */
const catalog = {
  models: Result.getOrThrow(shippedCatalog).models.map((model) =>
    model.family === "gpt"
      ? { ...model, deployments: model.deployments.map((deployment) => ({ ...deployment, prices })) }
      : model
  )
}
const { file, secrets } = keysFileWith(
  directory,
  {
    free: {},
    rich: { team: "rich" },
    one: { team: "small", monthlyTokens: 100_000 },
    two: { team: "small" },
    rated: { team: "rated" },
    daily: { dailyTokens: 100 }
  },
  [
    { name: "rich", monthlyCost: 5 },
    { name: "small", monthlyTokens: 5000 },
    { name: "rated", requestsPerMinute: 1 }
  ]
)
let gateway: Gateway

beforeAll(async () => {
  const catalogFile = join(directory, "catalog.json")
  writeFileSync(catalogFile, JSON.stringify(catalog))
  gateway = await startGateway({
    settings: { GATEWAY_KEYS_FILE: file, GATEWAY_STATE_DIR: stateDir, GATEWAY_CATALOG_FILE: catalogFile }
  })
})
afterAll(async () => {
  await gateway.stop()
  rmSync(directory, { recursive: true, force: true })
})

const recordsOf = async (key: string, count: number) => {
  const found = () => gateway.records().filter(({ key_id }) => key_id === key)
  await until(() => found().length === count, `${count} records of ${key}`)
  return found()
}
const spent = spentIn({ redisUrl: Option.none(), stateDir })
const listed = async (list: typeof listKeys) =>
  JSON.parse(await Effect.runPromise(Effect.provide(list(file, { json: true, spent }), NodeServices.layer)))

describe("teams and prices", () => {
  it("a request that has a price has its cost in the record, and others none", async () => {
    for (const surface of inference) await ask(gateway.url, secrets.free, surface, "hello")
    for (const { surface, tokens, cost } of await recordsOf("free", 4)) {
      const counted = tokens as { readonly input: number; readonly output: number; readonly cached?: number }
      if (surface === "chat" || surface === "responses") assert.strictEqual(cost, costOf(prices, counted))
      else assert.isUndefined(cost)
    }
  })

  it("a limit on the cost is counted in the store, and refuses what has no price", async () => {
    const served = await ask(gateway.url, secrets.rich, "chat", "hello")
    assert.deepStrictEqual([served.status, served.headers.get("x-ratelimit-limit-tokens")], [200, null])
    const unpriced = await ask(gateway.url, secrets.rich, "messages", "hello")
    assert.deepStrictEqual([unpriced.status, unpriced.json.error.type], [403, "permission_error"])
    assert.match(unpriced.json.error.message, /The team rich has a limit on its cost, and this model has no price/)
    const [record] = await recordsOf("rich", 2)
    await until(async () => {
      const { teams } = await listed(listTeams)
      return teams[0].use.monthlyCost === record?.cost
    }, "the cost in the store")
  })

  it("the limits of a team hold for its keys together, and the error says whose limit it was", async () => {
    for (const key of [secrets.one, secrets.two]) {
      const { headers, status } = await ask(gateway.url, key, "chat", "hello", { maxTokens: 2000 })
      assert.deepStrictEqual([status, headers.get("x-ratelimit-limit-tokens")], [200, "5000"])
    }
    const long = await ask(gateway.url, secrets.two, "chat", "x".repeat(30_000))
    assert.strictEqual(long.status, 429)
    assert.match(long.json.error.message, /more than all of the team small's 5000 tokens of this month/)
    assert.strictEqual((await ask(gateway.url, secrets.rated, "embeddings", "hi")).status, 200)
    const rated = await ask(gateway.url, secrets.rated, "embeddings", "hi")
    assert.match(rated.json.error.message, /^The team rated may send 1 request a minute/)
    const daily = await ask(gateway.url, secrets.daily, "messages", "x".repeat(4000))
    assert.match(daily.json.error.message, /of this API key's 100 tokens of today/)
  })

  it("keys without limits are counted too, within seconds", async () => {
    const used = (await recordsOf("free", 4)).reduce((sum, { tokens }) => {
      const { input, output } = tokens as { readonly input: number; readonly output: number }
      return sum + input + output
    }, 0)
    await until(async () => {
      const { keys } = await listed(listKeys)
      return keys.find(({ id }: { readonly id: string }) => id === "free").use.monthlyTokens === used
    }, "the use in the store")
  })
})
