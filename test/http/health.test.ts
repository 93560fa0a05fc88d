import { assert, describe, it } from "@effect/vitest"
import { version } from "../../src/contract/version.ts"
import { cloudsAt, startGateway } from "../support/gateway.ts"
import { get } from "../support/http.ts"

describe("GET /health", () => {
  it("says nothing of loopback in the sandbox, whose replies name it", async () => {
    const gateway = await startGateway()
    try {
      const { json } = await get(`${gateway.url}/health`, { "x-api-key": "sandbox-key" })
      assert.deepStrictEqual(json.boundary, { declared: {}, loopback: {}, extra_certificates: false })
    } finally {
      await gateway.stop()
    }
  })

  it("says to who has a key what the boundary rests on, and names no host", async () => {
    const gateway = await startGateway({
      settings: {
        ...cloudsAt("http://127.0.0.1:9"),
        BEDROCK_BASE_URL: "https://proxy.agency.example",
        BEDROCK_BASE_URL_BOUNDARY: "itar,il4",
        AZURE_OPENAI_ENDPOINT: "https://ai.agency.example",
        AZURE_OPENAI_ENDPOINT_BOUNDARY: "il5"
      }
    })
    try {
      const plain = { status: "ok", service: "government-model-gateway", version }
      for (const headers of [{}, { "x-api-key": "wrong" }, { "x-api-key": "" }]) {
        const got = await get(`${gateway.url}/health`, headers)
        assert.deepStrictEqual([got.status, got.json], [200, plain])
        assert.strictEqual(got.headers.get("cache-control"), "no-store")
        assert.isNull(got.headers.get("strict-transport-security"))
      }
      const withKey = { "x-api-key": "sandbox-key" }
      const known = await get(`${gateway.url}/health`, withKey)
      assert.deepStrictEqual(known.json, {
        ...plain,
        boundary: {
          declared: { BEDROCK_BASE_URL: "il4,itar", AZURE_OPENAI_ENDPOINT: "il5" },
          loopback: { VERTEX_BASE_URL: "vertex/us-east5" },
          extra_certificates: false
        },
        crypto: { openssl: process.versions.openssl, fips: false }
      })
      assert.notInclude(known.text, "agency")
      gateway.drain()
      const draining = await get(`${gateway.url}/health`, withKey)
      assert.strictEqual(draining.status, 503)
      assert.deepStrictEqual(draining.json, { ...known.json, status: "draining" })
    } finally {
      await gateway.stop()
    }
  })
})
