import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { explainSetting } from "../../src/cli/explainSetting.ts"
import { load } from "../../src/Settings.ts"
import { start } from "./child.ts"

const server = createServer()
const directory = mkdtempSync(join(tmpdir(), "gateway-start-"))
const broken = join(directory, "broken.json")
let taken = ""

beforeAll(async () => {
  writeFileSync(broken, '{"version":1,"keys":[{"id":"k"}]}')
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  taken = String(typeof address === "object" && address !== null ? address.port : 0)
})
afterAll(() => {
  server.close()
  rmSync(directory, { recursive: true, force: true })
})

const cloud = { VERTEX_PROJECT: "p", VERTEX_ACCESS_TOKEN: "t" }

interface Case {
  readonly what: string
  readonly environment: () => Readonly<Record<string, string>>
  readonly says: () => ReadonlyArray<string>
}

const cases: ReadonlyArray<Case> = [
  {
    what: "the port is taken",
    environment: () => ({ GATEWAY_PORT: taken }),
    says: () => [`127.0.0.1:${taken}`, "taken", "GATEWAY_PORT"]
  },
  {
    what: "the port is taken, with workers",
    environment: () => ({ GATEWAY_PORT: taken, GATEWAY_WORKERS: "2" }),
    says: () => [`127.0.0.1:${taken}`, "taken", "GATEWAY_PORT"]
  },
  {
    what: "the metrics port is taken",
    environment: () => ({ GATEWAY_METRICS_PORT: taken }),
    says: () => ["GATEWAY_METRICS_PORT", taken]
  },
  {
    what: "there is no cloud and no sandbox",
    environment: () => ({ GATEWAY_SANDBOX: "off" }),
    says: () => ["VERTEX_PROJECT", "BEDROCK_REGION", "AZURE_OPENAI_ENDPOINT", "GATEWAY_SANDBOX"]
  },
  {
    what: "the keys file is broken",
    environment: () => ({ ...cloud, GATEWAY_KEYS_FILE: broken }),
    says: () => [broken, "not a key file", "GATEWAY_KEYS_FILE"]
  },
  {
    what: "the state directory cannot be made",
    environment: () => ({ ...cloud, GATEWAY_STATE_DIR: join(broken, "state") }),
    says: () => [broken, "GATEWAY_STATE_DIR", "GATEWAY_REDIS_URL"]
  },
  {
    what: "a setting is wrong",
    environment: () => ({ GATEWAY_SANDBOX: "maybe" }),
    says: () => ["GATEWAY_SANDBOX must be one of auto, on, off"]
  }
]

describe("serve refuses to start in one line that says what to do, and exits with 1, when", () => {
  for (const { what, environment, says } of cases) {
    it.concurrent(what, async () => {
      const { code, stderr, stdout } = await start(["serve"], environment()).ended
      assert.strictEqual(code, 1)
      assert.strictEqual(stdout, "")
      const lines = stderr.trimEnd().split("\n")
      assert.lengthOf(lines, 1, stderr)
      assert.match(stderr, /^gateway: /)
      for (const words of says()) assert.include(stderr, words)
    })
  }

  it.concurrent("the catalog is broken: a line for each problem", async () => {
    const { code, stderr, stdout } = await start(["serve"], { GATEWAY_CATALOG_FILE: broken }).ended
    assert.strictEqual(code, 1)
    assert.strictEqual(stdout, "")
    assert.match(stderr, /^gateway: .*broken\.json is not a usable catalog:\n( {2}.*\n)+$/)
  })
})

describe("a setting that is wrong", () => {
  const wrong: ReadonlyArray<readonly [environment: Readonly<Record<string, string>>, says: string]> = [
    [{ GATEWAY_SANDBOX: "maybe" }, "GATEWAY_SANDBOX must be one of auto, on, off"],
    [{ GATEWAY_LOG_LEVEL: "loud" }, "GATEWAY_LOG_LEVEL must be one of trace, debug, info, warn, error, none"],
    [
      { GATEWAY_DRAIN_DELAY: "soon" },
      'GATEWAY_DRAIN_DELAY must be a time such as "500 millis", "30 seconds" or "5 minutes"'
    ],
    [{ GATEWAY_PORT: "http" }, "GATEWAY_PORT must be a whole number"],
    [{ GATEWAY_PORT: "70000" }, "GATEWAY_PORT must be between 0 and 65535"],
    [{ GATEWAY_MAX_IN_FLIGHT: "0" }, "GATEWAY_MAX_IN_FLIGHT must be greater than 0"],
    [{ GATEWAY_WORKERS: "0" }, "GATEWAY_WORKERS must be auto (one a core), or a whole number from 1"],
    [{ GATEWAY_WORKERS: "all" }, "GATEWAY_WORKERS must be auto (one a core), or a whole number from 1"],
    [
      { GATEWAY_SCREEN_SURFACES: "all" },
      "GATEWAY_SCREEN_SURFACES must be a comma-separated list of chat, responses and messages"
    ],
    [
      { VERTEX_PROJECT: "p", VERTEX_LOCATION: "global" },
      "VERTEX_LOCATION must be a location inside the boundary, never global"
    ],
    [
      { GATEWAY_REDIS_URL: "redis.example:6379" },
      "GATEWAY_REDIS_URL must be a URL such as redis://host:6379, or rediss://:PASSWORD@host:6379 with TLS"
    ],
    [{ BEDROCK_REGION: "us-gov-west-1", BEDROCK_FIPS: "perhaps" }, "BEDROCK_FIPS must be true or false"],
    [
      { AZURE_OPENAI_ENDPOINT: "http://a.example" },
      "AZURE_OPENAI_ENDPOINT must be https (plain http is accepted only for a loopback address)"
    ]
  ]
  it.effect.each(wrong)("%o is named, with what would work", ([environment, says]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(load(environment))
      assert.strictEqual(explainSetting(error), says)
    })
  )
})
