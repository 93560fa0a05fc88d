import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { UsageRecord } from "../../src/limits/UsageRecord.ts"
import { chunk, fakeUpstream, httpHead, reply, streaming as sending, sseHead } from "../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../support/gateway.ts"
import { get, open } from "../support/http.ts"
import { sharedGateway } from "../support/shared.ts"
import { until } from "./child.ts"
import { keysFileWith } from "./keysFile.ts"
import { ask, inference, openSurface, readUntil, requestOf, streaming, usageIn } from "./surfaces.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-records-"))
const { file, secrets } = keysFileWith(
  directory,
  {
    caller: { name: "A caller" },
    member: { team: "blue", tags: { project: "atlas" } },
    canary: {},
    crowd: {}
  },
  [{ name: "blue" }, { name: "poor", monthlyCost: 1 }]
)
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const decode = Schema.decodeUnknownSync(UsageRecord, { onExcessProperty: "error" })
const recordOf = async (gateway: Gateway, id: string | null): Promise<UsageRecord> => {
  const found = () => gateway.records().find((record) => record.request_id === id)
  await until(() => found() !== undefined, `the record of ${id}`)
  return decode(found())
}

const served = {
  messages: { cloud: "sandbox-bedrock", region: "us-gov-west-1", model: "claude-sonnet-4-5" },
  chat: { cloud: "sandbox-azure", region: "usgov", model: "gpt-5.1" },
  responses: { cloud: "sandbox-azure", region: "usgov", model: "gpt-5.1" },
  embeddings: { cloud: "sandbox-bedrock", region: "us-gov-west-1", model: "titan-embed-text-v2" }
} as const

describe("usage records", () => {
  const gateway = sharedGateway({ settings: { GATEWAY_KEYS_FILE: file } })
  const idOf = ({ headers }: { readonly headers: Headers }) => headers.get("x-request-id")

  for (const surface of inference) {
    it.concurrent(`${surface}: a success`, async () => {
      const got = await ask(gateway.url, secrets.caller, surface, "hello")
      const record = await recordOf(gateway, idOf(got))
      const body = JSON.stringify(requestOf(surface, "hello")[1])
      assert.deepInclude(record, {
        key_id: "caller",
        source: "127.0.0.1",
        surface,
        model: String(requestOf(surface, "")[1].model),
        level: "il5",
        status: 200,
        outcome: "ok",
        stream: false,
        stream_end: null,
        quota: null,
        bytes: { in: Buffer.byteLength(body), out: Buffer.byteLength(got.text) },
        counts: { tools: 0, images: 0, files: 0, flags: 0 }
      })
      assert.deepEqual(record.deployment, served[surface])
      assert.strictEqual((record.tokens?.input ?? 0) + (record.tokens?.output ?? 0), usageIn(got.json))
      assert.isAbove(Date.parse(record.time), Date.now() - 60_000)
      assert.isAtLeast(record.duration_ms, 0)
    })

    it.concurrent(`${surface}: a body that is refused names its model`, async () => {
      const [path, body] = requestOf(surface, "hello")
      const wrong = { ...body, stream: "yes", encoding_format: "yes" }
      const refused = await open(gateway.url + path, wrong, { "x-api-key": secrets.caller })
      assert.strictEqual(refused.status, 400, await refused.text())
      const { deployment, model, outcome } = await recordOf(gateway, idOf(refused))
      assert.deepEqual(
        { deployment, model, outcome },
        { deployment: null, model: String(body.model), outcome: "invalid" }
      )
    })

    it.concurrent(`${surface}: a cloud's error, and the caller's own`, async () => {
      const failed = await ask(gateway.url, secrets.caller, surface, "[sandbox: status=503]")
      assert.deepInclude(await recordOf(gateway, idOf(failed)), {
        key_id: "caller",
        status: 502,
        outcome: "upstream_error",
        tokens: null,
        level: "il5"
      })
      const unknown = await ask(gateway.url, "wrong", surface, "hello")
      assert.deepInclude(await recordOf(gateway, idOf(unknown)), {
        key_id: null,
        status: surface === "messages" ? 401 : 403,
        outcome: "unauthenticated",
        model: null,
        deployment: null
      })
    })
  }

  for (const surface of streaming) {
    it.concurrent(`${surface}: streams that end well, break off, or lose their caller`, async () => {
      const options = { stream: true, maxTokens: 6000 }
      const whole = await ask(gateway.url, secrets.caller, surface, "[sandbox: events=50]", options)
      const well = await recordOf(gateway, idOf(whole))
      assert.deepInclude(well, { status: 200, outcome: "ok", stream: true, stream_end: "complete" })
      assert.deepEqual(well.deployment, served[surface])
      assert.isAtLeast(well.tokens?.output ?? 0, 50)
      assert.strictEqual(well.bytes.out, Buffer.byteLength(whole.text))
      assert.isAtMost(well.first_event_ms ?? Number.POSITIVE_INFINITY, well.duration_ms)

      const cut = await ask(gateway.url, secrets.caller, surface, "[sandbox: cut after=4]", options)
      assert.deepInclude(await recordOf(gateway, idOf(cut)), {
        status: 200,
        outcome: "cut",
        stream: true,
        stream_end: "error"
      })
      const thrown = await ask(
        gateway.url,
        secrets.caller,
        surface,
        "[sandbox: exception=internalServerException after=4]",
        options
      )
      assert.deepInclude(await recordOf(gateway, idOf(thrown)), { outcome: "upstream_error", stream_end: "error" })

      const left = await openSurface(gateway.url, secrets.caller, surface, "[sandbox: stall after=4]", options)
      await readUntil(left, "data:")
      assert.deepInclude(await recordOf(gateway, idOf(left)), {
        status: 200,
        outcome: "cancelled",
        stream: true,
        stream_end: "cancelled"
      })
    })
  }

  it.concurrent("name the key, its team and tags", async () => {
    const alone = await recordOf(gateway, idOf(await ask(gateway.url, secrets.caller, "chat", "hello")))
    assert.deepInclude(alone, { key_id: "caller", key_name: "A caller" })
    assert.doesNotHaveAnyKeys(alone, ["team", "tags", "cost"])
    assert.deepInclude(await recordOf(gateway, idOf(await ask(gateway.url, secrets.member, "chat", "hello"))), {
      key_name: "member",
      team: "blue",
      tags: { project: "atlas" }
    })
  })

  it.concurrent("paths that serve no model leave none", async () => {
    const nowhere = await get(`${gateway.url}/v1/files`, { "x-api-key": secrets.caller })
    const models = await get(`${gateway.url}/v1/models`, { "x-api-key": secrets.caller })
    assert.deepInclude(await recordOf(gateway, idOf(models)), { surface: "models", outcome: "ok", model: null })
    assert.isFalse(gateway.records().some(({ request_id }) => request_id === idOf(nowhere)))
  })
})

describe("what is said", () => {
  it("is in no log line and no record, whatever goes wrong; nor are keys and credentials", async () => {
    const prompt = "CANARY-PROMPT-\u4f60\u597d"
    const said = "CANARY-COMPLETION"
    const upstream = await fakeUpstream(() => {})
    const gateway = await startGateway({
      settings: {
        ...cloudsAt(upstream.url),
        GATEWAY_KEYS_FILE: file,
        GATEWAY_LOG_LEVEL: "trace",
        GATEWAY_STREAM_IDLE_TIMEOUT: "200 millis"
      }
    })
    try {
      const echo =
        (status: string) =>
        (socket: { write: (bytes: Buffer) => unknown }, request: { body: string; headers: object }) =>
          socket.write(
            reply(
              status,
              JSON.stringify({ error: { message: `${request.body} ${JSON.stringify(request.headers)} ${said}` } })
            )
          )
      const event = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${said}"},"choices":[{"index":0,"delta":{"content":"${said}"}}]}\n\n`
      const handlers = [
        echo("400 Bad Request"),
        echo("401 Unauthorized"),
        echo("403 Forbidden"),
        echo("404 Not Found"),
        echo("429 Too Many Requests"),
        echo("500 Internal Server Error"),
        echo("200 OK"),
        sending([event, `data: {not json ${said}\n\n`]),
        sending([event]),
        (socket: { write: (bytes: string | Buffer) => unknown; destroy: () => void }) => {
          socket.write(sseHead)
          socket.write(chunk(event))
          setTimeout(() => socket.destroy(), 20)
        },
        (socket: { write: (bytes: string) => unknown }) =>
          socket.write(
            `${httpHead("200 OK", { "content-type": "text/html", "x-echo": said, "content-length": "17" })}${said}`
          ),
        (socket: { write: (bytes: string) => unknown }) => socket.write(`HTTP/9 ${said} ${prompt}\r\n\r\n`)
      ]
      let count = 0
      for (const handler of handlers) {
        upstream.use(handler)
        for (const surface of inference) {
          await ask(gateway.url, secrets.canary, surface, prompt, { stream: count % 2 === 0 })
          await ask(gateway.url, `${secrets.canary}x`, surface, prompt)
          count += 2
        }
      }
      for (const body of [`{"model":"${said}","messages":"${prompt}`, `{"model":{"${prompt}":1}}`, `["${prompt}"]`]) {
        for (const surface of inference) {
          const response = await fetch(`${gateway.url}${requestOf(surface, "")[0]}?key=${secrets.canary}`, {
            method: "POST",
            headers: { "x-api-key": secrets.canary, "content-type": "application/json" },
            body
          })
          await response.text()
          count++
        }
      }
      await until(() => gateway.records().length >= count, "the records")
      const all = [...gateway.logs, ...gateway.records().map((record) => JSON.stringify(record))]
      assert.isAbove(all.length, 2 * count - 1)
      const { VERTEX_ACCESS_TOKEN, AWS_BEARER_TOKEN_BEDROCK, AZURE_OPENAI_API_KEY, VERTEX_PROJECT } = cloudsAt("")
      const canaries = [prompt, said, "CANARY-PROMPT", secrets.canary, VERTEX_ACCESS_TOKEN, AWS_BEARER_TOKEN_BEDROCK]
      for (const canary of [...canaries, AZURE_OPENAI_API_KEY, VERTEX_PROJECT]) {
        assert.isString(canary)
        for (const line of all) assert.notInclude(line, String(canary))
      }
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  })
})

describe("GATEWAY_MAX_IN_FLIGHT", () => {
  it("more requests get 503 with retry-after, in the shape of their surface; the health check still answers", async () => {
    const gateway = await startGateway({ settings: { GATEWAY_KEYS_FILE: file, GATEWAY_MAX_IN_FLIGHT: "1" } })
    try {
      const running = await openSurface(gateway.url, secrets.crowd, "messages", "[sandbox: stall after=2]", {
        stream: true
      })
      for (const surface of inference) {
        const shed = await ask(gateway.url, secrets.crowd, surface, "hi")
        assert.strictEqual(shed.status, 503)
        assert.strictEqual(shed.headers.get("retry-after"), "1")
        assert.strictEqual(shed.json.error.type, "api_error")
        assert.strictEqual(shed.json.type, surface === "messages" ? "error" : undefined)
      }
      assert.strictEqual((await get(`${gateway.url}/health`)).status, 200)
      await running.body?.cancel()
      await until(
        async () => (await ask(gateway.url, secrets.crowd, "chat", "hi")).status === 200,
        "room for another request"
      )
      await until(
        async () => gateway.records().filter(({ outcome }) => outcome === "shed").length >= inference.length,
        "the records of what was shed"
      )
    } finally {
      await gateway.stop()
    }
  })
})
