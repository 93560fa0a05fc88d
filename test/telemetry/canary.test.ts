import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { keysFileWith } from "../operation/keysFile.ts"
import {
  blockStart,
  blockStop,
  jsonDelta,
  messageDelta,
  messageStart,
  messageStop,
  textDelta,
  wholeMessage
} from "../support/claude.ts"
import { type FakeUpstream, fakeUpstream, reply, streaming } from "../support/fakeUpstream.ts"
import { cloudsAt } from "../support/gateway.ts"
import { open as post } from "../support/http.ts"
import { type Receiver, startReceiver } from "./receiver.ts"
import { caller, exportTo, type GatewayProcess, message, startProcess } from "./support.ts"

const canary = "CANARY-7f3a9"

let directory: string
let secret: string
let receiver: Receiver
let upstream: FakeUpstream
let gateway: GatewayProcess
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "gateway-canary-"))
  const { file, secrets } = keysFileWith(directory, { t: {} })
  secret = secrets.t
  receiver = await startReceiver()
  upstream = await fakeUpstream(() => {})
  gateway = await startProcess({
    ...exportTo(receiver.url),
    ...cloudsAt(upstream.url),
    VERTEX_ACCESS_TOKEN: `${canary}-vertex-token`,
    AWS_BEARER_TOKEN_BEDROCK: `${canary}-bedrock-key`,
    AZURE_OPENAI_API_KEY: `${canary}-azure-key`,
    GATEWAY_KEYS_FILE: file,
    GATEWAY_STATE_DIR: join(directory, "state"),
    GATEWAY_USAGE_LOG: join(directory, "usage.jsonl"),
    GATEWAY_AUDIT_LOG: join(directory, "audit.jsonl"),
    GATEWAY_METRICS_PORT: "0",
    GATEWAY_LOG_LEVEL: "trace"
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.stop()
  await receiver?.stop()
  rmSync(directory, { recursive: true, force: true })
})

const sse = (events: ReadonlyArray<Readonly<Record<string, unknown>>>) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

const toolCall = [
  messageStart(),
  blockStart(0, { type: "text", text: "" }),
  textDelta(0, `${canary}-completion`),
  blockStop(0),
  blockStart(1, { type: "tool_use", id: "toolu_1", name: `${canary}-tool`, input: {} }),
  jsonDelta(1, `{"url":"https://${canary}.example/x"}`),
  blockStop(1)
]

const whole = wholeMessage([{ type: "text", text: `${canary}-completion` }])

/** What the cloud does, and what the caller gets for it. */
const replies = [
  { name: "a reply", status: 200, bytes: reply("200 OK", JSON.stringify(whole)) },
  {
    name: "a refusal that quotes the prompt",
    status: 400,
    bytes: reply("400 Bad Request", JSON.stringify({ error: { message: `${canary}-prompt is bad` } }))
  },
  {
    name: "a refusal that quotes the credential",
    status: 502,
    bytes: reply("401 Unauthorized", JSON.stringify({ error: { message: `token ${canary}-vertex-token` } }))
  },
  { name: "an outage in words", status: 502, bytes: reply("500 Oops", `<html>${canary}-html</html>`) },
  { name: "what is no JSON", status: 502, bytes: reply("200 OK", `${canary}-text`) },
  { name: "what is no message", status: 502, bytes: reply("200 OK", JSON.stringify({ [`${canary}-key`]: 1 })) },
  {
    name: "a content type that promises nothing",
    status: 502,
    bytes: reply("200 OK", "x", { "content-type": `text/${canary}` })
  }
]

const pdf = `data:application/pdf;base64,${Buffer.from(`%PDF-1.4 ${canary}`).toString("base64")}`
const part = { type: "file", file: { filename: `${canary}-file.pdf`, file_data: pdf } }

/** To the other surfaces, each of which the cloud refuses with what it was sent. */
const others = [
  ["chat/completions", { model: "claude-sonnet-4-5:il2", messages: [{ role: "user", content: [part] }] }],
  ["chat/completions", { model: "claude-sonnet-4-5:il2", messages: [{ role: `${canary}-role`, content: [part] }] }],
  ["responses", { model: "gpt-5.1:il5", input: `${canary}-input`, metadata: { a: `${canary}-metadata` } }],
  ["embeddings", { model: "titan-embed-text-v2:il5", input: [`${canary}-text`] }],
  ["messages/count_tokens", message(`${canary}-counted`, { model: "claude-sonnet-4-5:il2" })]
] as const

it("what callers, models and credentials say is in no span, metric, log, record or file", async () => {
  const headers = { "x-api-key": secret, baggage: `secret=${canary}-baggage`, tracestate: `v=${canary}` }
  const body = message(`${canary}-prompt`, { model: "claude-sonnet-4-5:il2", system: `${canary}-system` })
  const send = (more: Readonly<Record<string, unknown>>, extra: Readonly<Record<string, string>> = {}) =>
    post(
      `${gateway.url}/v1/messages?key=${canary}-query`,
      { ...body, ...more },
      { ...caller().headers, ...headers, ...extra }
    )

  for (const { name, status, bytes } of replies) {
    upstream.use((socket) => socket.write(bytes))
    assert.strictEqual((await send({})).status, status, name)
  }

  const done = [...toolCall, messageDelta("tool_use"), messageStop]
  upstream.use(streaming(sse(done)))
  assert.include(await (await send({ stream: true })).text(), "gateway_governance")
  upstream.use(streaming(sse(toolCall)))
  assert.include(await (await send({ stream: true })).text(), "event: error")
  upstream.use(streaming([...sse(toolCall), `event: content_block_start\ndata: ${canary}-not-json\n\n`]))
  assert.include(await (await send({ stream: true })).text(), "event: error")

  upstream.use((socket, { body }) =>
    socket.write(reply("400 Bad Request", JSON.stringify({ error: { message: body } })))
  )
  for (const [path, body] of others) {
    const { status } = await post(`${gateway.url}/v1/${path}`, body, headers)
    assert.include([400, 502], status, path)
  }

  assert.strictEqual((await send({}, { "x-api-key": `${canary}-wrong-key` })).status, 401)
  assert.strictEqual((await send({ [`${canary}-field`]: 1, messages: [] })).status, 400)
  const broken = { method: "POST", headers: { "x-api-key": secret, "content-type": "application/json" } }
  assert.strictEqual(
    (await fetch(`${gateway.url}/v1/messages`, { ...broken, body: `{"a": ${canary}-json}` })).status,
    400
  )
  await fetch(`${gateway.url}/v1/chat/completions`, {
    ...broken,
    headers: { ...broken.headers, authorization: `Bearer ${canary}-auth` },
    body: "{}"
  })

  const expected = replies.length + 3
  await receiver.until(() => (receiver.spans.filter(({ kind }) => kind === 3).length >= expected ? true : undefined))
  const metrics = await (await fetch(gateway.metrics())).text()
  assert.include(metrics, "gateway_governance_flags_total")
  const { stop, stdout, stderr } = gateway
  assert.strictEqual(await stop(), 0)

  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((found) => found.isFile())
  assert.includeMembers(
    files.map(({ name }) => name),
    ["usage.jsonl", "audit.jsonl", "quota.sqlite"]
  )
  const written = files.map(({ name, parentPath }) => [name, readFileSync(join(parentPath, name), "latin1")] as const)
  const shown = { ...Object.fromEntries(written), export: receiver.text(), metrics, stdout: stdout(), stderr: stderr() }
  for (const [where, text] of Object.entries(shown)) {
    assert.isAbove(text.length, 0, where)
    for (const word of [canary, secret, secret.slice(4)]) {
      const at = text.indexOf(word)
      assert.strictEqual(at, -1, `${where}: ${text.slice(Math.max(0, at - 200), at + 100)}`)
    }
  }

  // The canary did travel where it belongs, and the trace did not.
  assert.isTrue(
    upstream.received.some(({ body, headers }) => body.includes(canary) && headers.authorization?.includes(canary))
  )
  for (const { headers } of upstream.received) {
    for (const name of ["traceparent", "tracestate", "baggage", "b3"]) assert.notProperty(headers, name)
  }
})
