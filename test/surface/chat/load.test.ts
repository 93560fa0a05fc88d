/** Large chat requests are served without holding up the streams of others (docs/api.md#what-callers-may-send). */
import { createServer } from "node:http"
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import { chat, dataUri, functionTool, image } from "../../support/chat.ts"
import { kinds } from "../../support/chatKinds.ts"
import { cloudsAt, type Gateway, startGateway } from "../../support/gateway.ts"
import { raw, rawPost } from "../../support/http.ts"
import { assertShortTurns } from "../../support/shortTurns.ts"

/** In milliseconds. Callers, clouds and gateway share this thread; with work in one piece some of these take 60 to 80. */
const bound = 50

let gateway: Gateway
/** Reads whatever it is sent without looking at it; ticks where a stream is asked for. */
const cloud = createServer((request, response) => {
  request.resume()
  const tick = 'data: {"type":"response.output_text.delta","output_index":0,"delta":"tick"}\n\n'
  if (request.headers.accept?.includes("event-stream")) {
    response.writeHead(200, { "content-type": "text/event-stream" })
    const timer = setInterval(() => response.write(tick), 5)
    response.on("close", () => clearInterval(timer))
    return
  }
  const kind = kinds.find(({ name }) =>
    request.url?.includes("gemini")
      ? name === "Gemini"
      : request.url?.includes("responses")
        ? name === "GPT on Bedrock"
        : request.url?.includes("chat/completions")
          ? name.startsWith("GPT")
          : true
  )
  request.on("end", () => {
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify(kind?.whole({ texts: ["ok"] })))
  })
})
beforeAll(async () => {
  await new Promise<void>((resolve) => cloud.listen(0, "127.0.0.1", resolve))
  const address = cloud.address()
  const port = address !== null && typeof address === "object" ? address.port : 0
  gateway = await startGateway({ settings: cloudsAt(`http://127.0.0.1:${port}`) })
})
afterAll(async () => {
  await gateway.stop()
  cloud.closeAllConnections()
  await new Promise((resolve) => cloud.close(resolve))
})

const postText = (text: string) => rawPost("/v1/chat/completions", text, { connection: "close" })
const post = (body: unknown) => postText(JSON.stringify(body))

/** Serves these requests beside a stream, which they must not hold up. */
const besideStream = async (requests: ReadonlyArray<Buffer>, status = 200) => {
  const stream = raw(gateway.port)
  stream.write(post(chat("gpt-5.6-terra:il5", "hi", { stream: true })))
  await stream.until(/tick/)
  await assertShortTurns(bound, async () => {
    for (const request of requests) {
      const caller = raw(gateway.port)
      caller.write(request)
      await caller.until(new RegExp(`^HTTP/1.1 ${status} `), 30_000)
      caller.socket.destroy()
    }
  })
  const before = stream.text().length
  await stream.until(new RegExp(`^[^]{${before + 1}}`))
  stream.socket.destroy()
}

const user = (content: unknown) => ({ role: "user", content })
const wide = (count: number) => ({
  type: "object",
  properties: Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`p${n}`, { type: "string", description: `d${n}` }])
  )
})
const parts = (count: number) => Array.from({ length: count }, () => ({ type: "text", text: "a" }))

const bodies: Readonly<Record<string, (model: string) => unknown>> = {
  "20 MiB of text": (model) => ({
    model,
    messages: Array.from({ length: 10 }, () => user("lorem ipsum ".repeat(170_000)))
  }),
  "17 MiB of images": (model) => ({
    model,
    messages: Array.from({ length: 4 }, () =>
      user([{ type: "text", text: "a" }, image(dataUri("image/png", 3_400_000))])
    )
  }),
  "2,048 messages": (model) => ({
    model,
    messages: Array.from({ length: 2048 }, (_, n) =>
      n % 2 === 0 ? user(parts(10)) : { role: "assistant", content: "b" }
    )
  }),
  "2,000 messages of the assistant's in a row": (model) => ({
    model,
    messages: [
      user("a"),
      { role: "assistant", tool_calls: [{ id: "one", type: "function", function: { name: "f", arguments: "{}" } }] },
      ...Array.from({ length: 2000 }, () => ({ role: "assistant", content: "lorem ipsum ".repeat(1000) })),
      { role: "tool", tool_call_id: "one", content: "b" }
    ]
  }),
  "20 MiB of names of calls": (model) => ({
    model,
    messages: [
      user("a"),
      ...Array.from({ length: 10 }, (_, n) => [
        {
          role: "assistant",
          tool_calls: [{ id: `${n}`, type: "function", function: { name: "a, b".repeat(500_000), arguments: "{}" } }]
        },
        { role: "tool", tool_call_id: `${n}`, content: "b" }
      ]).flat()
    ]
  }),
  "30,000 parts": (model) => ({ model, messages: [user(parts(30_000))] }),
  "a schema of 10,000 nodes": (model) => chat(model, "hi", { tools: [functionTool("f", wide(10_000))] })
}

describe("a stream is not held up by", () => {
  for (const [name, body] of Object.entries(bodies)) {
    it(name, { timeout: 60_000 }, async () => {
      const models = ["claude-sonnet-4-5:il5", "gemini-3-flash:il2", "gpt-5.1:il5"]
      const [head = "", rest = ""] = JSON.stringify(body("MODEL")).split("MODEL")
      await besideStream(models.map((model) => postText(head + model + rest)))
    })
  }

  it("bodies that are refused", async () => {
    const keys = Object.fromEntries(Array.from({ length: 400_000 }, (_, n) => [`k${n}`, 1]))
    const deep = JSON.stringify(chat("gpt-5.1:il5", "hi", { x: 0 })).replace(
      '"x":0',
      `"x":${"[".repeat(100_000)}${"]".repeat(100_000)}`
    )
    await besideStream(
      [
        post(chat("gpt-5.1:il5", "hi", keys)),
        rawPost("/v1/chat/completions", deep),
        post(chat("gpt-5.1:il5", [image(`data:image/png;base64,${"A".repeat(18_000_000)}`)]))
      ],
      400
    )
  })
})
