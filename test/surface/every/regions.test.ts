/** A deployment with several regions: one stands in for another of its own, once (docs/decisions.md#several-regions). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { exceptionFrame, wholeMessage } from "../../support/claude.ts"
import { type FakeUpstream, fakeUpstream, frameHead, reply, streaming } from "../../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"

const regions = ["us-east5", "us-central1", "us-west1"]
const directory = mkdtempSync(join(tmpdir(), "regions-"))
const shipped = JSON.parse(readFileSync(resolve(import.meta.dirname, "../../../src/catalog/catalog.json"), "utf8"))
const isVertexClaude = (deployment: { readonly cloud: string; readonly api: string }) =>
  deployment.cloud === "vertex" && deployment.api === "messages"
const [base] = shipped.models.filter(({ deployments }: { deployments: ReadonlyArray<never> }) =>
  deployments.some(isVertexClaude)
)
const gpt = shipped.models.find(({ id }: { readonly id: string }) => id === "gpt-5.6-terra")
const model = `${base.id}:fedramp-high`
// A model for each test, because what a region said is remembered for its deployment.
const ids = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"].map((name) => `${base.id}-${name}`)
const catalog = {
  models: [
    base,
    ...ids.map((id) => ({
      ...base,
      id,
      deployments: base.deployments.filter(isVertexClaude).map((one: object) => ({ ...one, regions }))
    })),
    ...[
      { ...base, id: `${base.id}-frames` },
      { ...gpt, id: "gpt-places" }
    ].map((one) => ({
      ...one,
      deployments: one.deployments
        .filter(({ cloud }: { readonly cloud: string }) => cloud === "bedrock")
        .map((one: object) => ({ ...one, regions: ["us-gov-west-1", "us-gov-east-1"] }))
    }))
  ]
}

const message = JSON.stringify(wholeMessage([{ type: "text", text: "Hi" }]))
const events = [
  `event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n`,
  `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}\n\n`,
  `event: message_stop\ndata: {"type":"message_stop"}\n\n`
].join("")

const throttled = exceptionFrame("throttlingException", JSON.stringify({ message: "slow down" }))
const failed = JSON.stringify({
  object: "response",
  status: "failed",
  output: [],
  error: { code: "rate_limit_exceeded", message: "slow down" }
})
const overloaded = `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"no room"}}\n\n`

let upstream: FakeUpstream
let gateway: Gateway
/** What a region answers with, beside 200. */
interface Answer {
  readonly status: string
  readonly headers?: Readonly<Record<string, string>>
  readonly details?: ReadonlyArray<object>
  /** Of a stream that begins as a success. */
  readonly events?: string
}
const answers = new Map<string, Answer>()
const asked: Array<string> = []
beforeAll(async () => {
  writeFileSync(join(directory, "catalog.json"), JSON.stringify(catalog))
  upstream = await fakeUpstream((socket, request) => {
    const { path, body } = request
    const region = /\/locations\/([^/]+)\//.exec(path)?.[1] ?? ""
    asked.push(region)
    const answer = answers.get(region)
    if (path.includes("response-stream")) streaming([throttled], { head: frameHead })(socket, request)
    else if (path.endsWith("/responses")) socket.write(reply("200 OK", failed, { "content-type": "application/json" }))
    else if (answer?.events !== undefined)
      socket.write(reply(answer.status, answer.events, { "content-type": "text/event-stream" }))
    else if (answer !== undefined) {
      socket.write(
        reply(answer.status, JSON.stringify({ error: { message: "no room", details: answer.details } }), {
          "content-type": "application/json",
          ...answer.headers
        })
      )
    } else if (body.includes('"stream":true'))
      socket.write(reply("200 OK", events, { "content-type": "text/event-stream" }))
    else socket.write(reply("200 OK", message, { "content-type": "application/json" }))
  })
  gateway = await startGateway({
    settings: { ...cloudsAt(upstream.url), GATEWAY_CATALOG_FILE: join(directory, "catalog.json") }
  })
})
beforeEach(() => {
  answers.clear()
  asked.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  rmSync(directory, { recursive: true, force: true })
})

const ask = (name: string, stream = false, { url } = gateway) =>
  post(`${url}/v1/messages`, {
    model: name.includes(":") ? name : `${name}:fedramp-high`,
    max_tokens: 16,
    messages: [{ role: "user", content: "hi" }],
    ...(stream ? { stream } : {})
  })
const recordOf = async (requestId: string | null | undefined, { records } = gateway) => {
  for (let left = 50; left > 0; left--) {
    const record = records().find(({ request_id }) => request_id === requestId)
    if (record !== undefined) return record
    await new Promise((done) => setTimeout(done, 20))
  }
  return undefined
}
const home = async (name: string): Promise<string> => {
  await ask(name)
  return asked.splice(0)[0] ?? ""
}

describe("a deployment with several regions", () => {
  const limit = { status: "429 Too Many Requests", headers: { "retry-after": "30" } }
  const spent = { status: "400 Bad Request", headers: { "x-amzn-errortype": "ServiceQuotaExceededException" } }
  it.each([
    [false, limit, "one"],
    [true, limit, "two"],
    [false, spent, "six"]
  ] as const)(
    "asks the next one when one is at its limit, and remembers it (stream: %s, %j)",
    async (stream, answer, end) => {
      const name = `${base.id}-${end}`
      const first = await home(name)
      assert.include(regions, first)
      answers.set(first, answer)

      const got = await ask(name, stream)
      assert.strictEqual(got.status, 200, got.text)
      assert.lengthOf(asked, 2)
      assert.strictEqual(asked[0], first)
      assert.notStrictEqual(asked[1], first)
      assert.strictEqual(got.headers.get("x-gateway-served-by"), `vertex/${asked[1]}`)
      const record = await recordOf(got.headers.get("x-request-id") ?? got.headers.get("request-id"))
      assert.deepStrictEqual(record?.deployment, {
        cloud: "vertex",
        region: asked[1],
        model: name,
        tried: [...asked]
      })

      const [, second] = asked.splice(0)
      assert.strictEqual((await ask(name, stream)).status, 200)
      assert.deepStrictEqual(asked, [second])
    }
  )

  it.each([
    ["at once", "eight", overloaded, 502],
    ["after its first event", "nine", `${events.slice(0, events.indexOf("event: message_delta"))}${overloaded}`, 200]
  ])(
    "asks another one next time when a stream says %s that its region is at its limit",
    async (_, end, said, status) => {
      const name = `${base.id}-${end}`
      const first = await home(name)
      answers.set(first, { status: "200 OK", events: said })
      assert.strictEqual((await ask(name, true)).status, status)
      assert.deepStrictEqual(asked.splice(0), [first])
      assert.strictEqual((await ask(name, true)).status, 200)
      assert.notInclude(asked, first)
    }
  )

  it.each([
    ["a frame of Bedrock", `${base.id}-frames`, "/v1/messages", true],
    ["a whole GPT reply that failed", "gpt-places", "/v1/chat/completions", false]
  ])("asks another one next time when %s says that its region is at its limit", async (_, name, path, stream) => {
    const served = async () => {
      const messages = [{ role: "user", content: "hi" }]
      const got = await post(`${gateway.url}${path}`, { model: `${name}:il5`, max_tokens: 16, messages, stream })
      assert.strictEqual(got.status, 429, got.text)
      return got.headers.get("x-gateway-served-by")
    }
    assert.sameMembers([await served(), await served()], ["bedrock/us-gov-west-1", "bedrock/us-gov-east-1"])
  })

  it("leaves a region alone for as long as Google's error says", async () => {
    const name = `${base.id}-seven`
    const status = "429 Too Many Requests"
    const first = await home(name)
    for (const region of regions) answers.set(region, { status })
    answers.set(first, { status, details: [{ retryDelay: "30s" }] })
    await ask(name)
    const [, second] = asked.splice(0)
    await ask(name)
    assert.deepStrictEqual(asked.slice(1), [second])
  })

  it.each([
    ["503 Service Unavailable", "three"],
    ["529 Overloaded", "four"]
  ])("asks one more and no third, and answers what it said (%s)", async (status, end) => {
    const name = `${base.id}-${end}`
    for (const region of regions) answers.set(region, { status })
    const got = await ask(name)
    assert.isAtLeast(got.status, 500)
    assert.lengthOf(asked, 2)
    assert.strictEqual(got.headers.get("x-gateway-served-by"), `vertex/${asked[1]}`)
  })

  it("records what was sent of a stream that was refused", async () => {
    for (const region of regions) answers.set(region, { status: "400 Bad Request" })
    const got = await ask(`${base.id}-five`, true)
    const record = await recordOf(got.headers.get("request-id"))
    assert.deepInclude(record?.bytes, { out: Buffer.byteLength(got.text) })
  })

  it("keeps a refusal that is no limit", async () => {
    const name = ids[4] ?? ""
    const first = await home(name)
    answers.set(first, { status: "400 Bad Request" })
    assert.strictEqual((await ask(name)).status, 400)
    assert.deepStrictEqual(asked, [first])
  })

  it("asks the next one where one cannot be reached", async () => {
    // Nothing listens there.
    const settings = { ...cloudsAt("http://127.0.0.1:1"), GATEWAY_CATALOG_FILE: join(directory, "catalog.json") }
    const alone = await startGateway({ settings })
    const got = await ask(ids[0] ?? "", false, alone)
    const record = await recordOf(got.headers.get("request-id"), alone)
    await alone.stop()
    assert.strictEqual(got.status, 502, got.text)
    assert.lengthOf(new Set(Object(record?.deployment).tried), 2)
  })

  it("records whose refusal it answers where the next one cannot be reached", async () => {
    // It refuses its one call, and listens no longer.
    const leaving = createServer((socket) => {
      socket.once("data", () => {
        leaving.close()
        socket.end(reply("429 Too Many Requests", "{}", { "request-id": "req_first", connection: "close" }))
      })
    })
    await new Promise<void>((done) => leaving.listen(0, "127.0.0.1", done))
    const { port } = Object(leaving.address())
    const settings = { ...cloudsAt(`http://127.0.0.1:${port}`), GATEWAY_CATALOG_FILE: join(directory, "catalog.json") }
    const alone = await startGateway({ settings })
    const got = await ask(ids[0] ?? "", false, alone)
    const record = await recordOf(got.headers.get("request-id"), alone)
    await alone.stop()
    assert.strictEqual(got.status, 429, got.text)
    assert.lengthOf(Object(record?.deployment).tried, 2)
    assert.strictEqual(got.headers.get("x-gateway-served-by"), `vertex/${Object(record?.deployment).region}`)
    assert.strictEqual(record?.upstream_request_id, "req_first")
  })

  it("is not what a deployment with one region has", async () => {
    await ask(model)
    const [only = ""] = asked.splice(0)
    answers.set(only, { status: "429 Too Many Requests", headers: { "retry-after": "3" } })
    const got = await ask(model)
    assert.strictEqual(got.status, 429)
    assert.strictEqual(got.headers.get("retry-after"), "3")
    assert.deepStrictEqual(asked, [only])
    const record = await recordOf(got.headers.get("x-request-id") ?? got.headers.get("request-id"))
    assert.deepStrictEqual(record?.deployment, { cloud: "vertex", region: only, model: base.id })
  })
})
