/** What callers see of a cloud that fails before it streams (docs/api.md#when-a-cloud-fails). */
import { createServer as createTlsServer } from "node:https"
import { createServer, type Server } from "node:net"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { message, saying, sseFrame, wholeMessage } from "../../support/claude.ts"
import { answering, chunk, fakeUpstream, type Handler, httpHead, reply, streaming } from "../../support/fakeUpstream.ts"
import { cloudsAt, startGateway } from "../../support/gateway.ts"
import { type Got, post } from "../../support/http.ts"
import { sharedUpstream } from "../../support/shared.ts"

const good = JSON.stringify(
  wholeMessage([{ type: "text", text: "hello" }], { usage: { input_tokens: 3, output_tokens: 2 } })
)
const models = ["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5"]

const { gateway, upstream } = sharedUpstream({ GATEWAY_HEARTBEAT: "2 seconds" }, answering(reply("200 OK", good)))

const ask = (model: string, stream = false) => post(`${gateway.url}/v1/messages`, message(model, "hi", { stream }))

const failed = (got: Got, status: number, text = /./) => {
  assert.strictEqual(got.status, status, got.text)
  assert.match(got.headers.get("content-type") ?? "", /^application\/json/)
  assert.strictEqual(got.json.type, "error")
  assert.strictEqual(got.json.error.type, "api_error")
  assert.match(got.json.error.message, text)
  assert.notMatch(got.text, /secret|127\.0\.0\.1|undici|ECONN|us-gov\.anthropic/)
  assert.match(got.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/)
}

/** Every other request of these tests must not be served a byte of an earlier reply. */
const stillServes = async (model: string) => {
  upstream.use(answering(reply("200 OK", good)))
  const got = await ask(model)
  assert.strictEqual(got.status, 200, got.text)
  assert.strictEqual(got.json.content[0].text, "hello")
}

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return address !== null && typeof address === "object" ? address.port : 0
}

const json = { "content-type": "application/json" }
const replies: Readonly<Record<string, Handler>> = {
  "a short content-length": (socket) => {
    socket.end(httpHead("200 OK", { ...json, "content-length": "5000" }) + good)
  },
  "a reset in the body": (socket) => {
    socket.write(httpHead("200 OK", { ...json, "content-length": "5000" }) + good)
    setTimeout(() => socket.resetAndDestroy(), 20)
  },
  "bad chunking": answering(
    `${httpHead("200 OK", { ...json, "transfer-encoding": "chunked" })}zz\r\n${good}\r\n0\r\n\r\n`
  ),
  "a chunked body that is cut": (socket) => {
    socket.end(
      Buffer.concat([Buffer.from(httpHead("200 OK", { ...json, "transfer-encoding": "chunked" })), chunk(good)])
    )
  },
  "two content-lengths": answering(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}1234`
  ),
  "40 KB of headers": answering(reply("200 OK", good, { ...json, "x-much": "y".repeat(40_000) })),
  "no HTTP": answering("SSH-2.0-OpenSSH_9.9\r\n"),
  "HTML with 200": answering(reply("200 OK", "<html>hello</html>", { "content-type": "text/html" })),
  "no content type": answering(reply("200 OK", good, {})),
  "an empty body": answering(reply("200 OK", "")),
  "204": answering("HTTP/1.1 204 No Content\r\n\r\n"),
  "a body that is no JSON": answering(reply("200 OK", `${good.slice(0, -5)}`)),
  "a JSON array": answering(reply("200 OK", "[]")),
  "a JSON object that is no message": answering(reply("200 OK", `{"type":"completion"}`)),
  "a redirect to itself": answering(reply("302 Found", "", { location: "/elsewhere" })),
  "a permanent redirect": answering(reply("308 Permanent Redirect", "", { location: "http://127.0.0.1:9/" })),
  "a compressed body": answering(reply("200 OK", gzipSync(good), { ...json, "content-encoding": "gzip" })),
  "a compressed bomb": answering(
    reply("200 OK", gzipSync(Buffer.alloc(100_000_000)), { ...json, "content-encoding": "gzip" })
  ),
  "a reply over 32 MiB": answering(reply("200 OK", Buffer.alloc(33 * 1024 * 1024, 0x20))),
  "invalid UTF-8 in a string": answering(
    reply(
      "200 OK",
      Buffer.concat([
        Buffer.from(good.split("hello")[0] ?? ""),
        Buffer.from([0xff]),
        Buffer.from(`x${good.split("hello")[1]}`)
      ])
    )
  ),
  "a FIN before the headers": (socket) => {
    socket.end()
  },
  "a reset before the headers": (socket) => {
    socket.resetAndDestroy()
  }
}

describe("unstreamed", () => {
  for (const [name, handler] of Object.entries(replies)) {
    it(`502 for ${name}, and nothing reaches the next caller`, async () => {
      for (const model of models) {
        upstream.use(handler)
        failed(await ask(model), 502)
        await stillServes(model)
      }
    })
  }

  it("a reply with extra bytes after it is not mixed with the next", async () => {
    for (const model of models) {
      upstream.use(answering(Buffer.concat([reply("200 OK", good), reply("200 OK", good.replace("hello", "stolen"))])))
      const got = await ask(model)
      assert.include([200, 502], got.status)
      assert.notMatch(got.text, /stolen/)
      for (let n = 0; n < 3; n++) await stillServes(model)
    }
  })

  it("is not sent twice, once a byte has reached the cloud", async () => {
    for (const model of models) {
      upstream.use((socket) => socket.destroy())
      const before = upstream.received.length
      failed(await ask(model), 502)
      assert.strictEqual(upstream.received.length, before + 1)
      await stillServes(model)
    }
  })

  it("follows no redirect", async () => {
    for (const model of models) {
      upstream.use(answering(reply("307 Temporary Redirect", "", { location: `${upstream.url}/elsewhere` })))
      const before = upstream.received.length
      failed(await ask(model), 502, /redirect/)
      assert.strictEqual(upstream.received.length, before + 1)
    }
  })

  for (const [name, handler] of Object.entries({
    "no headers": () => {},
    "headers, then silence": (socket) => socket.write(httpHead("200 OK", { ...json, "content-length": "500" })),
    "half a body, then silence": (socket) =>
      socket.write(httpHead("200 OK", { ...json, "content-length": "500" }) + good.slice(0, 20)),
    "one byte at a time": (socket) => {
      socket.write(httpHead("200 OK", { ...json, "content-length": "100000" }))
      const timer = setInterval(() => socket.write(" "), 50)
      socket.on("close", () => clearInterval(timer))
    }
  } satisfies Record<string, Handler>)) {
    it(`504 at the ceiling for ${name}, and the call is given up`, async () => {
      for (const model of models) {
        const own = await fakeUpstream(handler)
        const slow = await startGateway({ settings: { ...cloudsAt(own.url), GATEWAY_REQUEST_CEILING: "300 millis" } })
        try {
          failed(await post(`${slow.url}/v1/messages`, message(model)), 504)
          await own.abandoned()
        } finally {
          await slow.stop()
          await own.stop()
        }
      }
    })
  }

  it("refusals keep their status and the message, freed of names", async () => {
    const text =
      "Deployment arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:model/x in projects/secret-project/locations/y of 123456789012: bad"
    for (const model of models) {
      for (const body of [
        { error: { message: text } },
        { message: text },
        [{ error: { message: text, status: "INVALID_ARGUMENT" } }],
        { type: "error", error: { type: "invalid_request_error", message: text } }
      ]) {
        upstream.use(answering(reply("400 Bad Request", JSON.stringify(body))))
        const got = await ask(model)
        assert.strictEqual(got.status, 400)
        assert.match(got.json.error.message, /bad$/)
        assert.notMatch(got.text, /arn:|secret-project|123456789012|locations/)
      }
    }
  })

  it("a refusal that is no JSON, endless or cut is still that refusal", async () => {
    for (const model of models) {
      for (const handler of [
        answering(reply("400 Bad Request", "<html>nope</html>", { "content-type": "text/html" })),
        answering(reply("400 Bad Request", Buffer.alloc(200_000, 0x61))),
        ((socket) => socket.end(`${httpHead("400 Bad Request", { "content-length": "50" })}half`)) satisfies Handler
      ]) {
        upstream.use(handler)
        const got = await ask(model)
        assert.strictEqual(got.status, 400)
        assert.isBelow(got.text.length, 3000)
        await stillServes(model)
      }
    }
  })

  it("retry-after is passed on only as a number of seconds", async () => {
    for (const [value, expected] of [
      ["12", "12"],
      ["Wed, 21 Oct 2026 07:28:00 GMT", null],
      ["-1", null],
      ["1e9", null]
    ] as const) {
      upstream.use(answering(reply("429 Too Many Requests", "{}", { ...json, "retry-after": value })))
      const got = await ask("claude-sonnet-4-5:il5")
      assert.strictEqual(got.status, 429)
      assert.strictEqual(got.json.error.type, "rate_limit_error")
      assert.strictEqual(got.headers.get("retry-after"), expected)
    }
  })

  it("says nothing of the cloud's own headers", async () => {
    upstream.use(
      answering(
        reply("200 OK", good, {
          ...json,
          "x-amzn-requestid": "r-1",
          server: "esf",
          "set-cookie": "a=b",
          "x-request-id": "theirs",
          "strict-transport-security": "max-age=1"
        })
      )
    )
    const got = await ask("claude-sonnet-4-5:il5")
    assert.strictEqual(got.status, 200)
    for (const name of ["x-amzn-requestid", "server", "set-cookie", "strict-transport-security", "content-encoding"]) {
      assert.isNull(got.headers.get(name), name)
    }
    assert.notStrictEqual(got.headers.get("x-request-id"), "theirs")
  })
})

describe("streamed, before the first event", () => {
  for (const name of [
    "40 KB of headers",
    "no HTTP",
    "HTML with 200",
    "a redirect to itself",
    "a compressed body",
    "a FIN before the headers",
    "a reset before the headers"
  ]) {
    it(`502 for ${name}`, async () => {
      for (const model of models) {
        upstream.use(replies[name] ?? (() => {}))
        failed(await ask(model, true), 502)
      }
      await stillServes("claude-sonnet-4-5:il2")
    })
  }

  it("502 for JSON where a stream was asked for", async () => {
    for (const model of models) {
      upstream.use(answering(reply("200 OK", good)))
      failed(await ask(model, true), 502)
    }
  })

  it("502 for a stream that ends at once", async () => {
    upstream.use(streaming([]))
    failed(await ask("claude-sonnet-4-5:il2", true), 502)
    upstream.use(streaming([": nothing\n\n"]))
    failed(await ask("claude-sonnet-4-5:il2", true), 502)
  })
})

describe("a cloud that cannot be reached", () => {
  const unreachable = async (url: string, within: number, settings: Record<string, string> = {}) => {
    const away = await startGateway({ settings: { ...cloudsAt(url), ...settings } })
    try {
      for (const model of models) {
        for (const stream of [false, true]) {
          const started = Date.now()
          failed(await post(`${away.url}/v1/messages`, message(model, "hi", { stream })), 502)
          assert.isBelow(Date.now() - started, within)
        }
      }
      assert.notMatch(away.logs.join("\n"), /ya29|bedrock-api-key/)
    } finally {
      await away.stop()
    }
  }

  it("502 where the connection is refused", async () => {
    const server = createServer()
    const port = await listening(server)
    await new Promise((resolve) => server.close(resolve))
    await unreachable(`http://127.0.0.1:${port}`, 3000)
  })

  // A label over 63 characters: refused by the resolver itself, without asking anyone.
  it("502 where the name does not exist", () =>
    unreachable(`https://${"a".repeat(64)}.invalid`, 3000, {
      VERTEX_BASE_URL_BOUNDARY: "fedramp-high,il2",
      BEDROCK_BASE_URL_BOUNDARY: "fedramp-high,il5,itar",
      AZURE_OPENAI_ENDPOINT_BOUNDARY: "fedramp-high,il5"
    }))

  it("502 where the certificate cannot be verified", async () => {
    const { cert, key } = await import("../../support/selfSigned.ts")
    const server = createTlsServer({ cert, key }, (_, response) => response.end(good))
    const port = await listening(server)
    try {
      await unreachable(`https://127.0.0.1:${port}`, 3000)
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  it("502 where plain HTTP answers a TLS handshake", async () => {
    const plain = createServer((socket) => {
      socket.on("error", () => {})
      socket.resume()
      socket.end(reply("400 Bad Request", good))
    })
    const port = await listening(plain)
    try {
      await unreachable(`https://127.0.0.1:${port}`, 3000)
    } finally {
      await new Promise((resolve) => plain.close(resolve))
    }
  })

  it("its breaker opens, and the other cloud is not affected", async () => {
    const [vertex, bedrock] = [
      await fakeUpstream((socket) => socket.destroy()),
      await fakeUpstream(answering(reply("200 OK", good)))
    ]
    const two = await startGateway({ settings: { ...cloudsAt(bedrock.url), VERTEX_BASE_URL: vertex.url } })
    try {
      const to = (model: string) => post(`${two.url}/v1/messages`, message(model))
      for (let n = 0; n < 12; n++) failed(await to("claude-sonnet-4-5:il2"), 502)
      const tried = vertex.received.length
      const got = await to("claude-sonnet-4-5:il2")
      failed(got, 502, /few seconds/)
      assert.match(got.headers.get("retry-after") ?? "", /^\d+$/)
      assert.strictEqual(vertex.received.length, tried, "an open circuit is not tried")
      assert.isAtMost(tried, 11)
      assert.strictEqual((await to("claude-sonnet-4-5:il5")).status, 200)
      assert.isTrue(
        bedrock.received.every(({ path }) => path.startsWith("/model/")),
        "no request changed its boundary"
      )
    } finally {
      await two.stop()
      await vertex.stop()
      await bedrock.stop()
    }
  })

  it("refusals open no circuit", async () => {
    for (let n = 0; n < 15; n++) {
      upstream.use(answering(reply("429 Too Many Requests", "{}")))
      assert.strictEqual((await ask("claude-sonnet-4-5:il5")).status, 429)
    }
    await stillServes("claude-sonnet-4-5:il5")
  })
})

it("a good stream through the same clouds is whole", async () => {
  upstream.use(streaming(saying("hello").map(sseFrame)))
  assert.match((await ask("claude-sonnet-4-5:il2", true)).text, /hello[\s\S]*message_stop/)
})
