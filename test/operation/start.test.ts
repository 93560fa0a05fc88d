import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
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
    says: () => [broken, "not a key file"]
  },
  {
    what: "a choice is none",
    environment: () => ({ GATEWAY_SANDBOX: "maybe" }),
    says: () => ["GATEWAY_SANDBOX must be one of auto, on, off"]
  },
  {
    what: "a time is none",
    environment: () => ({ GATEWAY_DRAIN_DELAY: "soon" }),
    says: () => ["GATEWAY_DRAIN_DELAY must be a time such as", "30 seconds"]
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
