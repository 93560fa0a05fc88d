import { createHash } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, beforeAll, describe, it, vi } from "@effect/vitest"
import { Effect, Result } from "effect"
import { HttpServerRequest } from "effect/http"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { clouds } from "../../src/catalog/clouds.ts"
import { bestSites } from "../../src/catalog/Partition.ts"
import { makeIndex } from "../../src/catalog/Resolver.ts"
import { usageNotice } from "../../src/contract/usageNotice.ts"
import { version } from "../../src/contract/version.ts"
import { makeReference } from "../../src/http/reference.ts"
import { paths } from "../catalog/paths.ts"
import { cloudsAt, startGateway } from "../support/gateway.ts"
import { type Got, get, type parsed, post, raw } from "../support/http.ts"
import { sharedGateway } from "../support/shared.ts"

const gateway = sharedGateway({ docs: true })
let document: ReturnType<typeof parsed>
beforeAll(async () => {
  document = (await get(`${gateway.url}/openapi.json`)).json
})

const policyOf = ({ headers }: Got) => headers.get("content-security-policy") ?? ""
const inline = ({ text }: Got, tag: "script" | "style") =>
  [...text.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, "g"))].map(([, content]) => content ?? "")
const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

describe("/", () => {
  it("shows the usage notice, what is active, and where to go", async () => {
    const page = await get(gateway.url)
    assert.strictEqual(page.status, 200)
    assert.match(page.headers.get("content-type") ?? "", /^text\/html; charset=utf-8$/)
    for (const part of [usageNotice, version, "Google Vertex AI", "Amazon Bedrock", "Azure OpenAI", "il5+itar"]) {
      assert.include(page.text, part)
    }
    for (const link of ["/docs", "/openapi.json", "/health"]) {
      assert.include(page.text, `href="${link}"`)
      assert.strictEqual((await get(gateway.url + link)).status, 200, link)
    }
    assert.include(page.text, "prefers-color-scheme: dark")
    assert.include(page.text, `${gateway.url}/v1/chat/completions`)
  })

  it("loads nothing, runs nothing, and its policy says so", async () => {
    const page = await get(gateway.url)
    assert.notMatch(page.text, /<(script|img|link|iframe|form)\b|\bsrc=|\son\w+=|@import|url\(/)
    const policy = policyOf(page)
    assert.match(policy, /^default-src 'none'; style-src 'sha256-/)
    for (const style of inline(page, "style")) assert.include(policy, hash(style))
    assert.notInclude(policy, "unsafe")
    assert.include(policy, "frame-ancestors 'none'")
  })

  it("and the documents are served to GET, and say so to other methods", async () => {
    for (const path of ["/", "/docs", "/openapi.json"]) {
      assert.strictEqual((await get(gateway.url + path, {}, "HEAD")).status, 200, path)
      const { headers, status } = await get(gateway.url + path, {}, "DELETE")
      assert.deepStrictEqual([status, headers.get("allow")], [405, "GET, HEAD"], path)
    }
  })

  it("is JSON for a program", async () => {
    const { json, headers } = await get(gateway.url, { accept: "application/json" })
    assert.deepInclude(json, { version, notice: usageNotice, sandbox: true, service: "government-model-gateway" })
    assert.deepInclude(json.clouds[0], { cloud: "vertex" })
    assert.include(json.clouds[1].levels, "il5")
    const models = await get(`${gateway.url}/v1/models`, { "x-api-key": "sandbox-key" })
    assert.strictEqual(json.models, models.json.data.length)
    assert.strictEqual(headers.get("vary"), "accept")
    const browser = await get(gateway.url, { accept: "text/html,application/xhtml+xml,application/json;q=0.9" })
    assert.match(browser.text, /^<!doctype html>/)
  })

  it("repeats no host that is none", async () => {
    const caller = raw(gateway.port)
    caller.write(`GET / HTTP/1.1\r\nhost: <script>alert(1)</script>\r\nconnection: close\r\n\r\n`)
    const text = await caller.closed()
    caller.socket.destroy()
    assert.notInclude(text, "alert(1)")
  })
})

describe("without public documents", () => {
  it("/ still shows the usage notice that every reply links to, and nothing of what is active", async () => {
    const closed = await startGateway()
    try {
      const page = await get(closed.url)
      assert.strictEqual(page.status, 200)
      assert.include(page.text, usageNotice)
      assert.notMatch(page.text, /Vertex|Bedrock|Azure|il5|sandbox-key|href="\/(docs|openapi)/)
      for (const style of inline(page, "style")) assert.include(policyOf(page), hash(style))
      const { json } = await get(closed.url, { accept: "application/json" })
      const links = { health: "/health" }
      assert.strictEqual(page.headers.get("cache-control"), "no-cache")
      assert.strictEqual((await get(`${closed.url}/docs`)).headers.get("cache-control"), "no-store")
      assert.deepStrictEqual(json, { service: "government-model-gateway", version, notice: usageNotice, links })
    } finally {
      await closed.stop()
    }
  })
})

describe("/docs", () => {
  it("is whole in one page whose policy lets it talk to the gateway only", async () => {
    const page = await get(`${gateway.url}/docs`)
    assert.strictEqual(page.status, 200)
    const policy = policyOf(page)
    const scripts = inline(page, "script")
    assert.strictEqual(scripts.length, 2)
    for (const script of scripts) assert.include(policy, hash(script))
    assert.match(policy, /default-src 'none';.*connect-src 'self';/)
    assert.notMatch(policy, /https?:|\*|unsafe-eval|script-src[^;]*unsafe/)
    assert.notMatch(page.text.replace(/<script>[\s\S]*?<\/script>/g, ""), /\b(src|href)=/)
  })

  it("takes a bounded amount of memory for callers that do not read it, and none of what requests may take", async () => {
    const callers = Array.from({ length: 6 }, () => raw(gateway.port, { paused: true }))
    for (const { write } of callers) write("GET /docs HTTP/1.1\r\nhost: x\r\n\r\n".repeat(12))
    const status = async (path: string) => (await get(gateway.url + path, {}, "HEAD")).status
    await vi.waitUntil(async () => (await status("/docs")) === 503, 5_000)
    assert.strictEqual(await status("/"), 200)
    const content = "x".repeat(300_000)
    const asked = { model: "gpt-5.1:il5", messages: [{ role: "user", content }] }
    assert.strictEqual((await post(`${gateway.url}/v1/chat/completions`, asked)).status, 200)
    for (const { socket } of callers) socket.destroy()
    await vi.waitUntil(async () => (await status("/docs")) === 200, 5_000)
  })

  it.effect("is made once, and all replies share its bytes", () =>
    Effect.gen(function* () {
      const index = makeIndex(Result.getOrThrow(shippedCatalog), bestSites(clouds), paths)
      const made = yield* makeReference(() => index, true)
      for (const path of ["/docs", "/openapi.json"] as const) {
        const asked = HttpServerRequest.fromWeb(new Request(`http://a.example${path}`))
        const [first, second] = yield* Effect.provideService(
          Effect.all([made[path], made[path]]),
          HttpServerRequest.HttpServerRequest,
          asked
        )
        assert.strictEqual(first, second)
        assert.strictEqual(first.body._tag === "Uint8Array" ? first.body.text : "", undefined)
      }
    })
  )

  it("shows the usage notice, and asks for no fonts, proxy or telemetry", async () => {
    const settings = inline(await get(`${gateway.url}/docs`), "script")[1] ?? ""
    assert.include(settings, usageNotice)
    assert.include(settings, `"withDefaultFonts":false`)
    assert.include(settings, `"telemetry":false`)
    assert.notInclude(settings, "proxyUrl")
  })

  it("fills in the sandbox's key in the sandbox only", async () => {
    const settings = inline(await get(`${gateway.url}/docs`), "script")[1] ?? ""
    assert.include(settings, `"securitySchemes":{"apiKey":{"value":"sandbox-key"}}`)
    const real = await startGateway({
      docs: true,
      settings: { ...cloudsAt("http://127.0.0.1:1"), GATEWAY_KEYS_FILE: join(tmpdir(), crypto.randomUUID()) }
    })
    for (const path of ["/", "/docs"]) assert.notInclude((await get(real.url + path)).text, "sandbox-key", path)
    assert.include((await get(real.url)).text, "The operator of this gateway issues it")
    await real.stop()
  })

  it("has examples that the sandbox answers, and tells of every header that comes", async () => {
    const others = ["content-type", "content-length", "date", "connection", "keep-alive", "transfer-encoding"]
    others.push("cache-control", "x-accel-buffering", "x-content-type-options")
    let tried = 0
    for (const [path, { post: operation }] of Object.entries<ReturnType<typeof parsed>>(document.paths)) {
      const media = operation?.requestBody?.content["application/json"]
      for (const { value, summary } of Object.values<ReturnType<typeof parsed>>(media?.examples ?? {})) {
        const got = await post(`${gateway.url}${path}`, value)
        assert.strictEqual(got.status, 200, `${path} ${summary}: ${got.text}`)
        const known = [...Object.keys(operation.responses["200"].headers), ...others]
        assert.deepEqual(
          [...got.headers.keys()].filter((header) => !known.includes(header)),
          [],
          path
        )
        tried++
      }
    }
    assert.isAtLeast(tried, 9)
  })

  it("names the models that this gateway serves, each where it is served", async () => {
    const azure = await startGateway({
      docs: true,
      settings: {
        AZURE_OPENAI_ENDPOINT: "http://127.0.0.1:1",
        AZURE_OPENAI_API_KEY: "k",
        AZURE_OPENAI_BOUNDARY: "il5",
        GATEWAY_KEYS_FILE: join(tmpdir(), crypto.randomUUID())
      }
    })
    const { components, paths } = (await get(`${azure.url}/openapi.json`)).json
    assert.include(components.schemas.ChatRequest.properties.model.examples, "gpt-5.1:il5")
    for (const { value } of Object.values<{ value: { model: string } }>(
      paths["/v1/chat/completions"].post.requestBody.content["application/json"].examples
    )) {
      assert.include(components.schemas.ChatRequest.properties.model.examples, value.model)
    }
    const [{ schema }] = paths["/v1/models/{id}"].get.parameters
    assert.sameMembers(schema.examples, components.schemas.ChatRequest.properties.model.examples)
    assert.include((await get(`${azure.url}/docs`)).text, JSON.stringify(paths["/v1/responses"]).slice(0, 60))
    await azure.stop()
    const served = (name: string) => document.components.schemas[name].properties.model.examples
    assert.include(served("MessagesRequest"), "claude-sonnet-4-5:il5")
    assert.notInclude(served("MessagesRequest"), "gpt-5.1:il5")
    assert.include(served("EmbeddingsRequest"), "titan-embed-text-v2:il5")
    assert.notInclude(served("CountTokensRequest"), "claude-sonnet-5:il5")
  })
})

describe("without documents", () => {
  it("none of them is there", async () => {
    const quiet = await startGateway()
    for (const path of ["/docs", "/openapi.json"]) {
      const { status, json } = await get(quiet.url + path)
      assert.strictEqual(status, 404, path)
      assert.strictEqual(json.error.type, "not_found_error")
      assert.strictEqual((await get(quiet.url + path, {}, "DELETE")).status, 404, path)
    }
    await quiet.stop()
  })
})
