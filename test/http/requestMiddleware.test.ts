/** What every request meets first, and what no endpoint answers (docs/api.md#errors). */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { emptyMessage, message, saying, sseFrame } from "../support/claude.ts"
import { answering, chunk, fakeUpstream, lastChunk, reply, sseHead } from "../support/fakeUpstream.ts"
import { cloudsAt, startGateway } from "../support/gateway.ts"
import { type Got, get, open, post, raw, rawPost } from "../support/http.ts"
import { sharedGateway } from "../support/shared.ts"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const gateway = sharedGateway()

const key = { "x-api-key": "sandbox-key" }
const refused = (got: Got, status: number, type: string, messages = false) => {
  assert.strictEqual(got.status, status, got.text)
  assert.match(got.headers.get("content-type") ?? "", /^application\/json/)
  assert.deepStrictEqual(Object.keys(got.json), messages ? ["type", "error"] : ["error"])
  assert.strictEqual(got.json.error.type, type)
  assert.isString(got.json.error.message)
  assert.match(got.headers.get("x-request-id") ?? "", uuid)
  assert.match(got.headers.get("link") ?? "", /terms-of-service/)
  assert.strictEqual(got.headers.get("request-id"), messages ? got.headers.get("x-request-id") : null)
}

describe("paths and methods", () => {
  for (const path of [
    "/nothing",
    "/v1",
    "/v1/",
    "/v1/files",
    "/v1/chat/completions/",
    "/v1/models/x",
    "//v1/models",
    "/V1/models",
    "/v1/models/",
    "/v1/m%6fdels",
    "/v1/models;x=1",
    "/health/x"
  ]) {
    it(`404 for ${path}`, async () => refused(await get(`${gateway.url}${path}`, key), 404, "not_found_error"))
  }
  for (const path of [
    "/v1/messages/batches",
    "/v1/messages/batches/x/results",
    "/v1/messages/",
    "/v1/messages/x",
    "/v1/messages/count_tokens/"
  ]) {
    it(`404 for ${path}, in the shape of its surface`, async () => {
      const got = await get(`${gateway.url}${path}`, key)
      refused(got, 404, "not_found_error", true)
      assert.include(got.json.error.message, `there is nothing at ${path}; the endpoints are /`)
      refused(await post(`${gateway.url}${path}`, {}), 404, "not_found_error", true)
    })
  }
  it("404 without a key, too: there is nothing to protect", async () => {
    refused(await get(`${gateway.url}/v1/files`), 404, "not_found_error")
  })
  for (const [path, method, allow] of [
    ["/v1/messages", "GET", "POST"],
    ["/v1/messages", "PUT", "POST"],
    ["/v1/messages", "DELETE", "POST"],
    ["/v1/messages", "OPTIONS", "POST"],
    ["/v1/messages/count_tokens", "GET", "POST"],
    ["/v1/chat/completions", "GET", "POST"],
    ["/v1/responses", "PATCH", "POST"],
    ["/v1/embeddings", "GET", "POST"],
    ["/v1/models", "POST", "GET, HEAD"],
    ["/v1/models/x", "DELETE", "GET, HEAD"],
    ["/health", "POST", "GET, HEAD"],
    ["/", "POST", "GET, HEAD"]
  ] as const) {
    it(`405 for ${method} ${path}`, async () => {
      const got = await get(`${gateway.url}${path}`, key, method)
      refused(got, 405, "invalid_request_error", path.startsWith("/v1/messages"))
      assert.strictEqual(got.headers.get("allow"), allow)
    })
  }
  it("a query changes no endpoint", async () => {
    assert.strictEqual(
      (await post(`${gateway.url}/v1/messages?beta=true`, message("claude-sonnet-4-5:il5"))).status,
      200
    )
    assert.strictEqual((await get(`${gateway.url}/v1/models?limit=5`, key)).status, 200)
  })
  it("a model of the list, by its ID", async () => {
    const list = await get(`${gateway.url}/v1/models`, key)
    for (const model of list.json.data) {
      for (const id of [model.id, encodeURIComponent(model.id)]) {
        const got = await get(`${gateway.url}/v1/models/${id}`, key)
        assert.strictEqual(got.status, 200, id)
        assert.deepStrictEqual(got.json, model)
      }
    }
    for (const id of ["gpt-5.1", "gpt-5.1:IL5", "x:il5", "a/b", "%2e%2e", "%"]) {
      refused(await get(`${gateway.url}/v1/models/${id}`, key), 404, "not_found_error")
    }
    refused(await get(`${gateway.url}/v1/models/gpt-5.1:il5`), 403, "authentication_error")
  })
  it("HEAD is answered without a body", async () => {
    const got = await get(`${gateway.url}/health`, {}, "HEAD")
    assert.strictEqual(got.status, 200)
    assert.strictEqual(got.text, "")
  })
})

describe("health", () => {
  it("needs no key", async () => {
    const got = await get(`${gateway.url}/health`)
    assert.strictEqual(got.status, 200)
    assert.deepStrictEqual(Object.keys(got.json), ["status", "service", "version"])
    assert.match(got.headers.get("x-request-id") ?? "", uuid)
  })
  it("minds no key, good or bad", async () => {
    assert.strictEqual((await get(`${gateway.url}/health`, key)).status, 200)
    assert.strictEqual((await get(`${gateway.url}/health`, { "x-api-key": "bad" })).status, 200)
  })
  it("says when the server is going down", async () => {
    const leaving = await startGateway()
    try {
      await leaving.drain()
      const got = await get(`${leaving.url}/health`)
      assert.strictEqual(got.status, 503)
      assert.strictEqual(got.json.status, "draining")
      assert.match(got.headers.get("connection") ?? "", /close/)
    } finally {
      await leaving.stop()
    }
  })
})

describe("authentication", () => {
  for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/embeddings"]) {
    it(`403 on ${path}`, async () => {
      refused(await post(`${gateway.url}${path}`, {}, { "x-api-key": "" }), 403, "authentication_error")
      refused(await post(`${gateway.url}${path}`, {}, { "x-api-key": "x" }), 403, "authentication_error")
    })
  }
  it("403 on /v1/models", async () => refused(await get(`${gateway.url}/v1/models`), 403, "authentication_error"))
  for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
    it(`401 on ${path}`, async () => {
      refused(await post(`${gateway.url}${path}`, {}, { "x-api-key": "" }), 401, "authentication_error", true)
    })
  }

  it("comes before the body is read", async () => {
    const caller = raw(gateway.port)
    caller.write(rawPost("/v1/messages", "", { "x-api-key": "bad", "content-length": "1000000" }))
    assert.match(await caller.until(/\}\}$/), /^HTTP\/1\.1 401 /)
    caller.socket.destroy()
  })

  it("takes no key twice, not even the same", async () => {
    const body = JSON.stringify(message("claude-sonnet-4-5:il5"))
    const twice = /There is more than one API key\. Send one header x-api-key/
    const invalid = /The API key is missing or invalid/
    for (const [keys, message] of [
      ["x-api-key: sandbox-key\r\nx-api-key: sandbox-key\r\n", twice],
      ["x-api-key: bad\r\nX-API-Key: sandbox-key\r\n", twice],
      ["x-api-key: sandbox-key, bad\r\n", twice],
      ["x-api-key: s\xe4ndbox-key\r\n", invalid],
      ["x-api-key:\r\n", invalid],
      [`x-api-key: ${"k".repeat(20_000)}\r\n`, invalid]
    ] as const) {
      const caller = raw(gateway.port)
      caller.socket.write(
        Buffer.from(
          `POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${keys}content-length: ${body.length}\r\n\r\n${body}`,
          "latin1"
        )
      )
      const reply = await caller.until(/\}\}$/)
      assert.match(reply, /^HTTP\/1\.1 401 [\s\S]*authentication_error/)
      assert.match(reply, message)
      caller.socket.destroy()
    }
    assert.notMatch(gateway.logs.join("\n"), /sandbox-key|ndbox-key|kkkkkk/)
  })

  it("minds no space around the key, as HTTP has it", async () => {
    const caller = raw(gateway.port)
    caller.write("GET /v1/models HTTP/1.1\r\nhost: x\r\nx-api-key:   sandbox-key  \r\nconnection: close\r\n\r\n")
    assert.match(await caller.closed(), /^HTTP\/1\.1 200 /)
  })
})

describe("what is no HTTP", () => {
  const bad: Readonly<Record<string, readonly [bytes: string, status: number]>> = {
    nonsense: ["nonsense\r\n\r\n", 400],
    "a TLS handshake": ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
    "two lengths": ["POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd", 400],
    "a length and chunks": [
      "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
      400
    ],
    "chunks in HTTP/1.0": [
      "POST /v1/embeddings HTTP/1.0\r\nhost: x\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
      400
    ],
    "a body that is compressed on its way": [
      "POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      400
    ],
    "no host": ["GET /health HTTP/1.1\r\nconnection: close\r\n\r\n", 400],
    "two hosts": ["GET /health HTTP/1.1\r\nhost: x\r\nHost: x\r\nconnection: close\r\n\r\n", 400],
    "two hosts in HTTP/1.0": ["GET /health HTTP/1.0\r\nhost: x\r\nhost: y\r\n\r\n", 400],
    "a tunnel": ["CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n", 405],
    "40 KB of headers": [`GET /health HTTP/1.1\r\nhost: x\r\nx-a: ${"y".repeat(40_000)}\r\n\r\n`, 431]
  }
  for (const [name, [bytes, status]] of Object.entries(bad)) {
    it(`${status} for ${name}, in JSON`, async () => {
      const caller = raw(gateway.port)
      caller.socket.write(Buffer.from(bytes, "latin1"))
      const got = await caller.closed()
      assert.match(got, new RegExp(`^HTTP/1\\.1 ${status} `))
      assert.match(got, /content-type: application\/json/i)
      assert.match(got, /\{"error":\{"type":"invalid_request_error","message":"/)
      assert.strictEqual(got.match(/x-request-id:/gi)?.length, 1)
    })
  }

  it("a body that is none gets no second reply after the first", async () => {
    const chunks = (start: string) => `${start} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`
    for (const start of ["GET /health", "POST /v1/embeddings", "GET /nothing"]) {
      const caller = raw(gateway.port)
      caller.write(chunks(start))
      await caller.until(/\}$/)
      caller.write("no chunk\r\n")
      assert.strictEqual((await caller.closed()).match(/HTTP\/1\.1/g)?.length, 1)
    }
    const caller = raw(gateway.port)
    caller.write("GET /health HTTP/1.1\r\nhost: x\r\n\r\nnonsense\r\n\r\n")
    assert.strictEqual((await caller.closed()).match(/HTTP\/1\.1/g)?.length, 2)
  })

  it("an expectation that is not met is refused, and no body is asked for", async () => {
    for (const expect of ["the-unexpected", "100-continue, the-unexpected", "x-100-continue"]) {
      const caller = raw(gateway.port)
      caller.write(rawPost("/v1/messages", "", { expect, "content-length": "10" }))
      assert.match(await caller.until(/\}\}$/), /^HTTP\/1\.1 417 [\s\S]*x-request-id: [\s\S]*"type":"error"/)
      caller.socket.destroy()
    }
  })

  it("HTTP/1.0 has no expectations", async () => {
    for (const expect of ["100-continue", "the-unexpected"]) {
      const caller = raw(gateway.port)
      const asked = rawPost("/v1/messages", JSON.stringify(message("claude-sonnet-4-5:il5")), { expect })
      caller.write(asked.toString().replace("HTTP/1.1", "HTTP/1.0"))
      assert.match(await caller.closed(), /^HTTP\/1\.1 200 /)
    }
  })

  it("HTTP/1.0 needs no host", async () => {
    const caller = raw(gateway.port)
    caller.write("GET /health HTTP/1.0\r\n\r\n")
    assert.match(await caller.closed(), /^HTTP\/1\.1 200 /)
  })

  describe.each(["websocket", "h2c"])("an upgrade to %s is not taken, and ends the connection", (protocol) => {
    const asked = { connection: "upgrade", upgrade: protocol }
    const models = `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-api-key: sandbox-key\r\n${Object.entries(asked)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")}\r\n`
    const health = "GET /health HTTP/1.1\r\nhost: x\r\n\r\n"

    it.each([
      ["without a body", models],
      ["with a body", rawPost("/v1/messages", JSON.stringify(message("claude-sonnet-4-5:il5")), asked).toString()]
    ])("%s", async (_, one) => {
      const caller = raw(gateway.port)
      caller.write(one)
      const got = await caller.closed()
      assert.match(got, /^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i)
    })

    it("what is sent behind it is no request, also where it comes later", async () => {
      const caller = raw(gateway.port)
      const slow = rawPost(
        "/v1/messages",
        JSON.stringify(message("claude-sonnet-4-5:il5", "[sandbox: delay=200ms]")),
        asked
      )
      // Node drops the rest of the packet; the next one begins with the other request's body.
      caller.write(`${slow}POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: ${health.length}\r\n\r\n`)
      await new Promise((resolve) => setTimeout(resolve, 50))
      caller.write(health)
      assert.lengthOf((await caller.closed()).match(/HTTP\/1\.1 /g) ?? [], 1)
    })
  })
})

describe("request IDs", () => {
  it("one a reply, different ones for requests on one connection", async () => {
    const caller = raw(gateway.port)
    const one = "GET /v1/models HTTP/1.1\r\nhost: x\r\nx-api-key: sandbox-key\r\nx-request-id: mine\r\n\r\n"
    caller.write(one + one + one.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n"))
    const got = await caller.closed()
    const ids = [...got.matchAll(/^x-request-id: (\S+)\r$/gim)].map(([, id]) => id)
    assert.strictEqual(ids.length, 3)
    assert.strictEqual(new Set(ids).size, 3)
    for (const id of ids) assert.match(id ?? "", uuid)
  })
})

describe("requests at once", () => {
  it("more than the limit get 503 with retry-after, but health is answered", async () => {
    const upstream = await fakeUpstream(() => {})
    const small = await startGateway({ settings: { ...cloudsAt(upstream.url), GATEWAY_MAX_IN_FLIGHT: "2" } })
    try {
      const leaving = new AbortController()
      const held = [0, 1].map(() =>
        open(`${small.url}/v1/messages`, message("claude-sonnet-4-5:il5"), {}, { signal: leaving.signal }).catch(
          () => {}
        )
      )
      while (upstream.received.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
      const got = await post(`${small.url}/v1/messages`, message("claude-sonnet-4-5:il5"))
      refused(got, 503, "api_error", true)
      assert.match(got.headers.get("retry-after") ?? "", /^\d+$/)
      assert.strictEqual((await get(`${small.url}/health`)).status, 200)
      leaving.abort()
      await Promise.all(held)
      await upstream.abandoned()
      assert.strictEqual((await get(`${small.url}/v1/models`, key)).status, 200)
    } finally {
      await small.stop()
      await upstream.stop()
    }
  })
})

describe("a caller is cut off that does not take", () => {
  const events = saying("Hello.").map((event) => chunk(sseFrame(event)).toString())
  const cases: ReadonlyArray<readonly [what: string, stream: boolean, answer: string]> = [
    ["the end of a stream", true, [sseHead, ...events, lastChunk].join("")],
    ["a whole reply, however small", false, reply("200 OK", emptyMessage).toString()]
  ]
  it.each(cases)("%s", async (_, stream, answer) => {
    const upstream = await fakeUpstream(answering(answer))
    const settings = { ...cloudsAt(upstream.url), GATEWAY_REQUEST_CEILING: "200 millis" }
    const impatient = await startGateway({ settings })
    /** As where the system's buffers are full: what is written stays with the process. */
    const clog = (started: unknown) => {
      const { socket }: { socket: Socket } = Object(started)
      socket._write = () => {}
      socket._writev = () => {}
    }
    subscribe("http.server.request.start", clog)
    try {
      const caller = raw(impatient.port)
      const asked = rawPost("/v1/messages", JSON.stringify(message("claude-sonnet-4-5:il2", "hi", { stream })))
      // Several at once: the replies after the first wait for it.
      caller.write(`${asked}${stream ? "" : asked}`)
      assert.strictEqual(await caller.closed(3000), "")
    } finally {
      unsubscribe("http.server.request.start", clog)
      await impatient.stop()
      await upstream.stop()
    }
  })
})

describe("models", () => {
  it("lists every ID, in the shape of the spec", async () => {
    const got = await get(`${gateway.url}/v1/models`, key)
    assert.strictEqual(got.json.object, "list")
    const ids = got.json.data.map(({ id }: { id: string }) => id)
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.include(ids, "claude-sonnet-4-5:il5")
    for (const model of got.json.data) {
      assert.deepStrictEqual(Object.keys(model).sort(), ["created", "id", "object", "owned_by"])
      assert.strictEqual(model.object, "model")
    }
  })
})

describe("documents", () => {
  it("are served only where they are wanted", async () => {
    for (const path of ["/docs", "/openapi.json"]) {
      assert.strictEqual((await get(`${gateway.url}${path}`)).status, 404)
    }
    const open = await startGateway({ docs: true })
    try {
      for (const path of ["/docs", "/openapi.json"]) assert.strictEqual((await get(`${open.url}${path}`)).status, 200)
    } finally {
      await open.stop()
    }
  })
})
