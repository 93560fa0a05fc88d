/** The sandbox plays every region that the catalog names: an overlay with several can be tried in it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { open } from "../support/http.ts"
import { message } from "../telemetry/support.ts"

let gateway: Gateway
const folder = mkdtempSync(join(tmpdir(), "gateway-regions-"))
beforeAll(async () => {
  const overlay = join(folder, "overlay.json")
  const places = {
    bedrock: { regions: ["us-gov-west-1", "us-gov-east-1"] },
    vertex: { regions: ["us-east5", "us-central1"] }
  }
  writeFileSync(overlay, JSON.stringify({ models: { "claude-sonnet-4-5": places } }))
  gateway = await startGateway({ settings: { GATEWAY_CATALOG_OVERLAY: overlay } })
}, 40_000)
afterAll(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true })
})

describe("a deployment with two regions, in the sandbox", () => {
  it.each(["il5", "il2"])("is answered by either at %s", async (level) => {
    const status = async (text: string) => {
      const reply = await open(`${gateway.url}/v1/messages`, message(text, { model: `claude-sonnet-4-5:${level}` }))
      await reply.text()
      return reply.status
    }
    assert.strictEqual(await status("Hello"), 200)
    // Both are at their limit: the second is asked, and takes the credentials.
    assert.strictEqual(await status("[sandbox: status=429]"), 429)
    // The first has said that it is at its limit: the other is asked.
    assert.strictEqual(await status("Hello"), 200)
  })
})
