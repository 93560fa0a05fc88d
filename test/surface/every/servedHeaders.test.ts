/** Which replies say where the text went (docs/decisions.md#proof-of-the-boundary), and that records agree. */
import { createServer as createTlsServer } from "node:https"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { until } from "../../operation/child.ts"
import { ask, requestOf, streaming } from "../../operation/surfaces.ts"
import { answering, type FakeUpstream, fakeUpstream, reply } from "../../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"
import { cert, key } from "../../support/selfSigned.ts"
import { sharedGateway } from "../../support/shared.ts"

const proof = (headers: Headers) => headers.get("x-gateway-served-by")
const level = (headers: Headers) => headers.get("x-gateway-served-level")

const recordOf = async (gateway: Gateway, headers: Headers) => {
  const id = headers.get("x-request-id")
  const found = () => gateway.records().find(({ request_id }) => request_id === id)
  await until(() => found() !== undefined, `the record of ${id}`)
  const { cloud, region } = Object(found()?.deployment)
  return `${cloud}/${region}`
}

describe("in the sandbox", () => {
  const gateway = sharedGateway()

  const surfaces = [
    ["messages", "sandbox-bedrock/us-gov-west-1"],
    ["chat", "sandbox-azure/usgov"],
    ["responses", "sandbox-azure/usgov"],
    ["embeddings", "sandbox-bedrock/us-gov-west-1"]
  ] as const
  for (const [surface, servedBy] of surfaces) {
    const texts = ["hello", ...["400", "429 retry-after=1", "500"].map((status) => `[sandbox: status=${status}]`)]
    it.concurrent.each(texts)(`${surface}: %s`, async (text) => {
      const got = await ask(gateway.url, "sandbox-key", surface, text)
      assert.strictEqual(got.status, text === "hello" ? 200 : text.includes("500") ? 502 : Number(text.slice(17, 20)))
      assert.strictEqual(proof(got.headers), servedBy)
      assert.strictEqual(level(got.headers), "il5")
      assert.strictEqual(await recordOf(gateway, got.headers), servedBy)
    })

    it.concurrent(`${surface}: nothing of a request that no cloud saw`, async () => {
      const [path, body] = requestOf(surface, "hello")
      for (const wrong of [
        { ...body, model: "nothing:il5" },
        { ...body, model: 1 }
      ]) {
        const got = await post(`${gateway.url}${path}`, wrong)
        assert.strictEqual(got.status, 400)
        assert.isNull(proof(got.headers))
        assert.isNull(level(got.headers))
      }
    })
  }

  it.concurrent.each(streaming)("%s: a stream that is refused before its first frame", async (surface) => {
    const got = await ask(gateway.url, "sandbox-key", surface, "[sandbox: status=429]", { stream: true })
    assert.strictEqual(got.status, 429)
    assert.match(proof(got.headers) ?? "", /^sandbox-/)
  })
})

describe("with clouds", () => {
  let upstream: FakeUpstream
  beforeAll(async () => {
    upstream = await fakeUpstream(answering(reply("503 Service Unavailable", "{}")))
  })
  afterAll(() => upstream.stop())

  const outcome = async (settings: Readonly<Record<string, string>>) => {
    const gateway = await startGateway({ settings })
    try {
      const got = await ask(gateway.url, "sandbox-key", "messages", "hello")
      return [got.status, proof(got.headers)]
    } finally {
      await gateway.stop()
    }
  }

  it("a cloud that failed is named as it is", async () => {
    assert.deepStrictEqual(await outcome(cloudsAt(upstream.url)), [502, "bedrock/us-gov-west-1"])
  })

  it("one that broke off may have seen the text", async () => {
    const broken = await fakeUpstream((socket) => socket.destroy())
    assert.deepStrictEqual(await outcome(cloudsAt(broken.url)), [502, "bedrock/us-gov-west-1"])
    await broken.stop()
  })

  it("one that refused a field is named, also where it could not be asked again", async () => {
    const refusal = { type: "invalid_request_error", message: "novelties: Extra inputs are not permitted" }
    const body = JSON.stringify({ type: "error", error: refusal })
    const headers = { "content-type": "application/json", connection: "close" }
    const once = await fakeUpstream((socket) => {
      socket.end(reply("400 Bad Request", body, headers), () => void once.stop())
    })
    const gateway = await startGateway({ settings: cloudsAt(once.url) })
    const [path, hello] = requestOf("messages", "hello")
    const got = await post(`${gateway.url}${path}`, { ...hello, novelties: {} })
    await gateway.stop()
    assert.strictEqual(once.received.length, 1)
    assert.deepStrictEqual([got.status, proof(got.headers)], [502, "bedrock/us-gov-west-1"])
  })

  it("one that could not be reached, or not be believed, saw nothing", async () => {
    const gone = await fakeUpstream((socket) => socket.destroy())
    await gone.stop()
    assert.deepStrictEqual(await outcome(cloudsAt(gone.url)), [502, null])
    const unbelieved = createTlsServer({ cert, key })
    await new Promise<void>((resolve) => unbelieved.listen(0, "127.0.0.1", resolve))
    const address = unbelieved.address()
    const port = typeof address === "object" ? address?.port : 0
    assert.deepStrictEqual(await outcome(cloudsAt(`https://127.0.0.1:${port}`)), [502, null])
    unbelieved.close()
  })
})
