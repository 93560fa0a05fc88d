/** The running gateway and its document agree: each status of each path is provoked, and each reply is judged by the document. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { internal } from "../../../src/catalog/GatewayError.ts"
import { errorReply } from "../../../src/http/requestMiddleware.ts"
import { keysFileWith } from "../../operation/keysFile.ts"
import { breaches, contract } from "../../support/contract.ts"
import { eventsIn, type Got, get, post, raw } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-contract-"))
const { file, secrets } = keysFileWith(directory, {
  free: {},
  bounded: { levels: ["il2"] },
  counted: { requestsPerMinute: 1000, monthlyTokens: 100_000_000 },
  spent: { requestsPerMinute: 1 }
})
const settings = { GATEWAY_KEYS_FILE: file, GATEWAY_MAX_BODY_BYTES: "100000" }
const gateway = sharedGateway({ settings })
/** Limits of time and place that a busy machine would reach, too, so those whom they do not concern are not held to them. */
const ofBodies = sharedGateway({ settings: { ...settings, GATEWAY_BODY_TIMEOUT: "100 millis" } })
const ofReplies = sharedGateway({ settings: { ...settings, GATEWAY_REQUEST_CEILING: "300 millis" } })
const ofOne = sharedGateway({ settings: { ...settings, GATEWAY_MAX_IN_FLIGHT: "1" } })
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** What each path takes; `said` is where a directive for the sandbox goes. */
const bodies: Readonly<Record<string, (said: string) => Readonly<Record<string, unknown>>>> = {
  "/v1/chat/completions": (said) => ({ model: "gpt-5.1:il5", messages: [{ role: "user", content: said }] }),
  "/v1/messages": (said) => ({
    model: "claude-sonnet-4-5:il5",
    max_tokens: 3000,
    messages: [{ role: "user", content: said }]
  }),
  "/v1/messages/count_tokens": (said) => ({
    model: "claude-sonnet-4-5:il5",
    messages: [{ role: "user", content: said }]
  }),
  "/v1/responses": (said) => ({ model: "gpt-5.1:il5", input: said }),
  "/v1/embeddings": (said) => ({ model: "titan-embed-text-v2:il5", input: said })
}
const bodyOf = (path: string, said = "Hi") => bodies[path]?.(said) ?? {}
const key = (id: keyof typeof secrets) => ({ "x-api-key": secrets[id] })
const url = (path: string, at = gateway) => at.url + path.replace("{id}", "gpt-5.1:il5")

/** A reply off a bare connection, in the shape of the others. */
const bare = async (bytes: string, at = gateway): Promise<Got> => {
  const caller = raw(at.port)
  caller.write(bytes)
  const text = await caller.closed()
  caller.socket.destroy()
  const [head = "", ...body] = text.split("\r\n\r\n")
  const [line = "", ...fields] = head.split("\r\n")
  const headers = new Headers(
    fields.map((field) => [field.slice(0, field.indexOf(":")), field.slice(field.indexOf(":") + 2)])
  )
  return { status: Number(line.split(" ")[1]), headers, text: body.join("\r\n\r\n"), json: undefined }
}
const head = (path: string, more: string) =>
  `${path in bodies ? "POST" : "GET"} ${path} HTTP/1.1\r\nhost: g\r\ncontent-type: application/json\r\nx-api-key: ${secrets.free}\r\n${more}`

const ask = (path: string, headers: Readonly<Record<string, string>> = key("free"), said?: string, at = gateway) =>
  path in bodies ? post(url(path, at), bodyOf(path, said), headers) : get(url(path, at), headers)

/** What is asked while another request holds the gateway's only place. */
const crowded = async (path: string): Promise<Got> => {
  for (let tries = 0; ; tries++) {
    const holder = ask("/v1/chat/completions", key("free"), "[sandbox: delay=500ms]", ofOne)
    const asked = sleep(50).then(() => ask(path, key("free"), undefined, ofOne))
    const [got] = await Promise.all([asked, holder])
    if (got.status === 503 || tries === 10) return got
  }
}

/** How each status is provoked. */
const provoke: Readonly<Record<string, (path: string) => Promise<Got>>> = {
  "200": (path) => ask(path, key("counted")),
  "400": (path) =>
    path in bodies
      ? post(url(path), {}, key("free"))
      : bare(`GET ${path} HTTP/1.1\r\nconnection: close\r\nx-api-key: ${secrets.free}\r\n\r\n`),
  "401": (path) => ask(path, { "x-api-key": "nobody's" }),
  "403": (path) => (path.startsWith("/v1/messages") ? ask(path, key("bounded")) : ask(path, { "x-api-key": "" })),
  "404": (path) => get(gateway.url + path, key("free")),
  "405": (path) => get(url(path), key("free"), "DELETE"),
  "408": (path) => bare(head(path, path in bodies ? "content-length: 10\r\n\r\n" : ""), ofBodies),
  "413": (path) => post(url(path), bodyOf(path, "a".repeat(100_000)), key("free")),
  "415": (path) => post(url(path), "hi", { ...key("free"), "content-type": "text/plain" }),
  "417": (path) => bare(head(path, "expect: the-unexpected\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")),
  "429": async (path) => {
    await ask(path, key("spent"))
    return ask(path, key("spent"))
  },
  "431": (path) => bare(head(path, `x-large: ${"a".repeat(40_000)}\r\n\r\n`)),
  "502": (path) => ask(path, key("counted"), "[sandbox: status=500]"),
  "503": (path) => crowded(path),
  "504": (path) => ask(path, key("counted"), "[sandbox: delay=2s]", ofReplies)
}

/** No request can provoke a bug, and one would be mended; slow headers take ten seconds, and have a test of their own. */
const unprovoked = (path: string, status: string) => status === "500" || (status === "408" && !(path in bodies))

describe("every path and status of the document", () => {
  const rows = Object.entries(contract.paths).flatMap(([path, item]) =>
    Object.values(item).flatMap(({ responses }) => Object.keys(responses).map((status) => [path, status] as const))
  )
  it.each(rows.filter(([path, status]) => !unprovoked(path, status) && !(path === "/health" && status === "503")))(
    "%s answers %s as it says",
    async (path, status) => {
      const got = await provoke[status]?.(path)
      assert.strictEqual(String(got?.status), status, got?.text)
      if (got !== undefined) assert.deepEqual(breaches(path, got), [])
    }
  )

  it.each(["/v1/chat/completions", "/v1/messages"])("a bug would be said in the shape of %s", (path) => {
    const { body, status } = errorReply(path, internal)
    const text = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
    const headers = new Headers({ "content-type": "application/json", "content-length": String(text.length) })
    assert.deepEqual(breaches(path, { status, headers, text }), [])
  })
})

describe("every stream", () => {
  const tool = { type: "object", properties: { url: { type: "string" } } }
  const tools: Readonly<Record<string, ReadonlyArray<unknown>>> = {
    "/v1/chat/completions": [{ type: "function", function: { name: "fetch", parameters: tool } }],
    "/v1/messages": [{ name: "fetch", input_schema: tool }],
    "/v1/responses": [{ type: "function", name: "fetch", parameters: tool }]
  }
  const said = [
    "Tell me a story.",
    '[sandbox: tool=fetch args={"url":"https://example.com/a"}]',
    "[sandbox: refuse]",
    "[sandbox: length]",
    "[sandbox: redacted]",
    "[sandbox: cut after=4]",
    "[sandbox: garbage after=3]",
    "[sandbox: exception=throttlingException after=3]"
  ]
  const models: Readonly<Record<string, ReadonlyArray<string>>> = {
    "/v1/chat/completions": ["claude-sonnet-4-5:il5", "gemini-3-flash:fedramp-high", "gpt-5.1:il5", "gpt-oss-120b:il5"],
    "/v1/messages": ["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5"],
    "/v1/responses": ["gpt-5.1:il5"]
  }
  const rows = Object.entries(models).flatMap(([path, names]) => names.map((model) => [path, model] as const))
  it.each(rows)("of %s with %s is as the document says", async (path, model) => {
    const seen = new Set<string>()
    for (const text of said) {
      const body = { ...bodyOf(path, text), model, tools: tools[path], stream: true }
      const thinking = path === "/v1/messages" ? { thinking: { type: "enabled", budget_tokens: 1024 } } : {}
      const got = await post(url(path), { ...body, ...thinking }, key("counted"))
      for (const { event, data } of got.status === 200 ? eventsIn(got.text) : []) {
        seen.add(event ?? (data.startsWith("[") ? data : ""))
      }
      const whole = await post(url(path), { ...body, ...thinking, stream: false }, key("counted"))
      assert.include([200, 400, 429, 502], whole.status)
    }
    assert.isAbove(seen.size, 1)
  })
})

describe("/health", () => {
  it("answers 503 while it drains", async () => {
    gateway.drain()
    assert.strictEqual((await get(url("/health"))).status, 503)
  })
})
