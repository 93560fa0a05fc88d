import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { inference, readUntil, requestOf, type Surface } from "../operation/surfaces.ts"
import { open as post } from "../support/http.ts"
import { type Receiver, type Span, startReceiver } from "./receiver.ts"
import { caller, exportTo, type GatewayProcess, message, startProcess } from "./support.ts"

let receiver: Receiver
let gateway: GatewayProcess
beforeAll(async () => {
  receiver = await startReceiver()
  gateway = await startProcess({ ...exportTo(receiver.url), GATEWAY_SANDBOX_PACE: "10 millis" })
})
afterAll(async () => {
  await gateway?.stop()
  await receiver?.stop()
})

const names: Readonly<Record<(typeof inference)[number], readonly [operation: string, model: string]>> = {
  messages: ["chat", "claude-sonnet-4-5"],
  chat: ["chat", "gpt-5.1"],
  responses: ["chat", "gpt-5.1"],
  embeddings: ["embeddings", "titan-embed-text-v2"]
}

/** The server span and the one client span of a request, which is read as `use` does. */
const spansOf = async (surface: Surface, text: string, stream: boolean, use = (reply: Response) => reply.text()) => {
  const trace = caller()
  const [path, body] = requestOf(surface, text, { stream })
  await use(await post(gateway.url + path, body, trace.headers))
  const [root, call] = await receiver.until(() => {
    const spans = receiver.spans.filter(({ traceId }) => traceId === trace.traceId)
    const [a, b] = [2, 3].map((kind) => spans.find((span) => span.kind === kind))
    return a === undefined || b === undefined ? undefined : [a, b]
  })
  return { trace, path, root, call }
}

describe.each(inference)("%s", (surface) => {
  const assertPlaced = ({ trace, path, root, call }: Awaited<ReturnType<typeof spansOf>>) => {
    const [operation, model] = names[surface]
    assert.strictEqual(root.name, `POST ${path}`)
    assert.strictEqual(root.parentId, trace.spanId)
    assert.strictEqual(call.name, `${operation} ${model}`)
    assert.strictEqual(call.parentId, root.spanId)
    assert.deepInclude(call.attributes, {
      "gen_ai.operation.name": operation,
      "gen_ai.request.model": model,
      "gateway.level": "il5"
    })
    assert.isAtLeast(call.start, root.start)
    assert.isAtMost(call.end, root.end)
  }
  const errors = (...spans: ReadonlyArray<Span>) => spans.map(({ attributes }) => attributes["error.type"])

  it("a success", async () => {
    const spans = await spansOf(surface, "Hello", false)
    assertPlaced(spans)
    assert.deepStrictEqual(errors(spans.root, spans.call), [undefined, undefined])
    assert.isAbove(Number(spans.call.attributes["gen_ai.usage.input_tokens"]), 0)
  })

  it("a cloud that fails", async () => {
    const spans = await spansOf(surface, "[sandbox: status=503]", false)
    assertPlaced(spans)
    assert.strictEqual(spans.call.attributes["error.type"], "503")
    assert.strictEqual(spans.root.attributes["http.response.status_code"], 502)
  })

  // It has no streams.
  if (surface === "embeddings") return

  it("a stream that breaks off", async () => {
    const spans = await spansOf(surface, "[sandbox: cut after=5]", true)
    assertPlaced(spans)
    assert.deepStrictEqual(errors(spans.root, spans.call), ["cut", "cut"])
    assert.strictEqual(spans.root.attributes["http.response.status_code"], 200)
    assert.strictEqual(spans.call.events[0]?.name, "gen_ai.first_token")
  })

  it("a caller that leaves", async () => {
    let left = 0
    const spans = await spansOf(surface, "[sandbox: events=1000]", true, async (reply) => {
      const got = await readUntil(reply, "data:")
      left = Date.now()
      return got
    })
    assertPlaced(spans)
    assert.deepStrictEqual(errors(spans.root, spans.call), ["cancelled", "cancelled"])
    assert.isBelow(spans.root.end - left, 1000)
  })
})

// The last, for it stops the gateway.
it("a request that runs when the server ends ends with it", async () => {
  const traces = await Promise.all(
    [false, true].map(async (stream) => {
      const { headers, traceId } = caller()
      const body = message("[sandbox: delay=60s]", { stream })
      void post(`${gateway.url}/v1/messages`, body, headers).catch(() => {})
      await sleep(500)
      return traceId
    })
  )
  await gateway.stop()
  for (const trace of traces) {
    const spans = receiver.spans.filter(({ traceId }) => traceId === trace)
    assert.deepStrictEqual(
      spans.map(({ attributes }) => attributes["error.type"]),
      ["drained", "drained"]
    )
  }
})
