/** What callers may send as a body (docs/api.md#what-callers-may-send). */
import { gzipSync } from "node:zlib"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { emptyMessage, message } from "../support/claude.ts"
import { answering, reply } from "../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../support/gateway.ts"
import { heap } from "../support/heap.ts"
import { type Got, get, open, post, raw, rawPost } from "../support/http.ts"
import { sharedUpstream } from "../support/shared.ts"
import { assertShortTurns } from "../support/shortTurns.ts"

const { gateway, upstream } = sharedUpstream({}, answering(reply("200 OK", emptyMessage)))

const model = "claude-sonnet-4-5:il2"
const create = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  post(`${gateway.url}/v1/messages`, body, headers)
const text = (extra: string) =>
  `{"model":"${model}","max_tokens":5,"messages":[{"role":"user","content":"hi"}]${extra}}`
/** A body of more than two of them is parsed in slices of so many bytes. */
const sliceBytes = 128 * 1024
/** The text of the last body that reached the cloud. */
const sent = () => upstream.received.at(-1)?.body ?? ""

const refused = (got: Got, status: number, words: RegExp) => {
  assert.strictEqual(got.status, status, got.text)
  assert.deepStrictEqual(Object.keys(got.json), ["type", "error"])
  assert.strictEqual(got.json.error.type, "invalid_request_error")
  assert.match(got.json.error.message, words)
  assert.match(got.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/)
}

describe("content type and encoding", () => {
  for (const type of [
    "",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "application/json; charset=utf-16",
    "application/json; charset=latin1"
  ]) {
    it(`415 for ${type === "" ? "none" : type}`, async () => {
      const got = await create(new TextEncoder().encode(text("")), { "content-type": type })
      refused(got, 415, /application\/json|utf-8/i)
    })
  }
  for (const type of [
    "application/json",
    "APPLICATION/JSON",
    "application/json;charset=utf-8",
    'application/json; charset="UTF-8"',
    "application/json; foo=bar"
  ]) {
    it(`takes ${type}`, async () => {
      assert.strictEqual((await create(text(""), { "content-type": type })).status, 200)
    })
  }
  it("415 for a compressed body", async () => {
    refused(await create(gzipSync(text("")), { "content-encoding": "gzip" }), 415, /compressed/)
    refused(await create(text(""), { "content-encoding": "br" }), 415, /compressed/)
  })
  it.each(["identity", "Identity", ""])("takes the encoding '%s'", async (encoding) => {
    assert.strictEqual((await create(text(""), { "content-encoding": encoding })).status, 200)
  })
})

describe("encodings of text", () => {
  it("400 for a byte order mark", async () => refused(await create(`\ufeff${text("")}`), 400, /byte order mark/))
  it("400 for UTF-16", async () => refused(await create(Buffer.from(text(""), "utf16le")), 400, /JSON|UTF-8/))
  it("400 for UTF-16 with a mark", async () =>
    refused(await create(Buffer.from(`\ufeff${text("")}`, "utf16le")), 400, /JSON|UTF-8/))
  for (const [name, bytes] of [
    ["a lone continuation byte", [0x80]],
    ["an overlong form", [0xc0, 0xaf]],
    ["a surrogate in UTF-8", [0xed, 0xa0, 0x80]],
    ["beyond Unicode", [0xf5, 0x80, 0x80, 0x80]],
    ["a cut sequence", [0xe2, 0x82]]
  ] as const) {
    it(`400 for ${name}`, async () => {
      const [before = "", after = ""] = text(',"metadata":{"user_id":"@"}').split("@")
      refused(await create(Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])), 400, /UTF-8/)
    })
  }
  it("400 for a NUL, a trailing comma, NaN, a comment, single quotes, two values", async () => {
    for (const bad of [
      `${text("")}\0`,
      text(",}"),
      text(',"a":NaN'),
      `/* */${text("")}`,
      text(",'a':1"),
      text("") + text(""),
      text(',"a":01'),
      text(',"a":"\u0001"')
    ]) {
      refused(await create(bad), 400, /not valid JSON/)
    }
  })
  it("says at which byte", async () => {
    const got = await create('{"model":"é",}')
    assert.strictEqual(got.json.error.message, "the request body is not valid JSON (at byte 14)")
  })
  it("does not repeat the text that it could not parse", async () => {
    const got = await create('{"model": secretword')
    assert.notMatch(got.text, /secretword/)
  })
})

describe("what passes through unchanged", () => {
  const kept: Readonly<Record<string, string>> = {
    "integers beyond 2^53": '"x":[9007199254740993,-9007199254740993,123456789012345678901234567890]',
    "numbers beyond the range": '"x":[1e400,-1e400,1E+999]',
    "fractions beyond 2^53": '"x":[9007199254740993.25]',
    "lone surrogates": '"x":["\\ud800","a\\udc00b"]',
    "a key __proto__": '"__proto__":{"polluted":true},"x":{"__proto__":{"a":1},"constructor":{"prototype":{}}}',
    "empty keys": '"":{"":""}',
    "line separators": '"x":"\u2028\u2029"',
    nulls: '"x":null'
  }
  for (const [name, fields] of Object.entries(kept)) {
    it(name, async () => {
      const got = await create(text(`,${fields}`))
      assert.strictEqual(got.status, 200, got.text)
      assert.include(sent(), fields)
      assert.notProperty({}, "polluted")
    })
  }
  it("large numbers, wherever the slices of a large body end", async () => {
    for (const number of ["9007199254740993", "1E400"]) {
      const body = text(`,"y":"1","x":[ ${number}]`)
      const at = body.indexOf(number)
      for (let inside = 0; inside <= number.length; inside++) {
        const padded = body.replace("[ ", `[${" ".repeat(3 * sliceBytes - at - inside + 1)}`)
        assert.strictEqual((await create(padded)).status, 200)
        assert.include(sent(), `"x":[${number}]`)
      }
    }
  })
  it("of duplicate keys, the last", async () => {
    const got = await create(text(',"x":1,"max_tokens":7,"x":2'))
    assert.strictEqual(got.status, 200)
    assert.include(sent(), '"max_tokens":7')
    assert.include(sent(), '"x":2')
    assert.notInclude(sent(), '"x":1')
  })
  it("of duplicate models, the last is the one that is checked and served", async () => {
    const got = await create(text(',"model":"claude-nothing:il2"'))
    refused(got, 400, /claude-nothing/)
  })
  it("numbers of a tool call in the reply", async () => {
    const input = '{"id":9007199254740993,"big":1e400,"list":[123456789012345678901]}'
    upstream.use(
      answering(
        reply(
          "200 OK",
          `{"id":"msg_1","type":"message","role":"assistant","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},"content":[{"type":"tool_use","id":"t","name":"n","input":${input}}]}`
        )
      )
    )
    const got = await create(text(""))
    upstream.use(answering(reply("200 OK", emptyMessage)))
    assert.strictEqual(got.status, 200)
    assert.include(got.text, input)
  })
  it("numbers where the gateway adjusts the body", async () => {
    const got = await create(
      text(
        ',"context_management":{},"tools":[{"name":"n","input_schema":{},"defer_loading":true,"x":9007199254740993}]'
      )
    )
    assert.strictEqual(got.status, 200)
    assert.include(sent(), '"tools":[{"name":"n","input_schema":{},"x":9007199254740993}]')
  })
})

describe("size", () => {
  const limit = 33_554_432
  const sized = (size: number) => {
    const empty = text(',"filler":""').length
    return text(`,"filler":"${"a".repeat(size - empty)}"`)
  }

  it("32 MiB pass, one byte more is 413", { timeout: 60_000 }, async () => {
    assert.strictEqual((await create(sized(limit))).status, 200)
    assert.isAbove(sent().length, limit - 200)
    refused(await create(sized(limit + 1)), 413, /33554432/)
  })

  it("413 before the body has come, where its length is told", async () => {
    const caller = raw(gateway.port)
    caller.write(rawPost("/v1/messages", "{", { "content-length": String(limit + 1) }))
    assert.match(await caller.until(/\r\n\r\n\{.*\}$/), /^HTTP\/1\.1 413 /)
    caller.socket.destroy()
  })

  it("413 as soon as a chunked body is too large", async () => {
    const caller = raw(gateway.port)
    caller.write(rawPost("/v1/messages", "", { "content-length": "", "transfer-encoding": "chunked" }))
    const piece = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(0x100000, 0x20), Buffer.from("\r\n")])
    for (let n = 0; n < 34; n++) caller.write(piece)
    assert.match(await caller.until(/^HTTP\/1\.1 413 /), /413/)
    caller.socket.destroy()
  })

  it("counts the limit of its own setting", async () => {
    const small = await startGateway({ settings: { ...cloudsAt(upstream.url), GATEWAY_MAX_BODY_BYTES: "200" } })
    try {
      assert.strictEqual((await post(`${small.url}/v1/messages`, sized(200))).status, 200)
      refused(await post(`${small.url}/v1/messages`, sized(201)), 413, /200/)
      refused(await post(`${small.url}/v1/messages/count_tokens`, sized(201)), 413, /200/)
    } finally {
      await small.stop()
    }
  })

  it("a chunked body is read like any other", async () => {
    const caller = raw(gateway.port)
    const body = text("")
    caller.write(rawPost("/v1/messages", "", { "content-length": "", "transfer-encoding": "chunked" }))
    for (const letter of body) caller.write(`1\r\n${letter}\r\n`)
    caller.write("0\r\n\r\n")
    assert.match(await caller.until(/\r\n\r\n\{.*\}$/s), /^HTTP\/1\.1 200 /)
    caller.socket.destroy()
  })
})

describe("shape", () => {
  const deep = (depth: number) => text(`,"x":${"[".repeat(depth)}${"]".repeat(depth)}`)
  it("a depth of 100,000 is refused, of brackets and of braces", async () => {
    refused(await create(deep(100_000)), 400, /nested/)
    refused(await create(text(`,"x":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`)), 400, /nested/)
    refused(await create("[".repeat(100_000)), 400, /nested/)
  })
  it("a depth that a tool schema may have passes", async () => {
    assert.strictEqual((await create(deep(200))).status, 200)
  })
  it("brackets in strings do not count", async () => {
    assert.strictEqual((await create(text(`,"x":"${'[{\\"\\\\'.repeat(1000)}"`))).status, 200)
  })
  it("escaped quotes and backslashes end no string, wherever its slices end", async () => {
    for (const unit of ['\\"[', "\\\\", '\\\\\\"{', 'a\\"']) {
      for (let shift = 0; shift < unit.length; shift++) {
        const string = `${"p".repeat(shift)}${unit.repeat(Math.ceil((3 * sliceBytes) / unit.length))}`
        const body = text(`,"x":"${string}","y":[[1]]`)
        assert.strictEqual((await create(body)).status, 200)
        refused(await create(body.replace("[[1]]", "[".repeat(300) + "]".repeat(300))), 400, /nested/)
      }
    }
  })
  it("400,000 keys are refused, and no body delays other requests", async () => {
    const keys = text(`,"x":{${Array.from({ length: 400_000 }, (_, n) => `"k${n}":${n}`).join(",")}}`)
    // Gateway, cloud and caller share this thread: a usual turn is 35 ms, and one of work in one piece 120.
    await assertShortTurns(80, async () => refused(await create(keys), 400, /too many/))
    const bodies = [
      deep(100_000),
      text(`,"x":"${"a".repeat(20_000_000)}"`),
      text(`,"x":"${'\\"'.repeat(9_000_000)}"`),
      text(`,"x":[${"0,".repeat(140_000)}0]`)
    ]
    for (const body of bodies) {
      await assertShortTurns(80, async () => (await open(`${gateway.url}/v1/messages`, body)).text())
    }
  })
})

it("a body in chunks of one byte takes no more memory than its bytes", async () => {
  const caller = raw(gateway.port)
  const count = 100_000
  caller.write("POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: sandbox-key\r\ncontent-type: application/json\r\n")
  caller.write("transfer-encoding: chunked\r\n\r\n1\r\n{\r\n")
  const before = heap()
  await new Promise((resolve) => caller.socket.write("1\r\n \r\n".repeat(count), resolve))
  // Until the gateway has read what the system has taken.
  for (let round = 0; round < 5; round++) await get(`${gateway.url}/health`)
  assert.isBelow(heap() - before, 20 * count)
  caller.write("1\r\n}\r\n0\r\n\r\n")
  assert.match(await caller.until(/\}\}$/), /^HTTP\/1\.1 400 [\s\S]*model/)
})

describe("a caller that is slow or leaves", () => {
  let slow: Gateway
  beforeAll(async () => {
    slow = await startGateway({
      settings: { ...cloudsAt(upstream.url), GATEWAY_HEADERS_TIMEOUT: "400 millis", GATEWAY_BODY_TIMEOUT: "300 millis" }
    })
  })
  afterAll(() => slow.stop())

  it("408 for headers that do not come to an end", async () => {
    const caller = raw(slow.port)
    caller.write("POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: sandbox-key\r\n")
    const got = await caller.closed()
    assert.match(got, /^HTTP\/1\.1 408 /)
    assert.match(got, /content-type: application\/json/i)
    assert.match(got, /x-request-id: [0-9a-f-]{36}/i)
    assert.match(got, /\{"error":\{"type":"invalid_request_error"/)
  })

  it("408 for a body that does not come to an end", async () => {
    for (const trickle of [false, true]) {
      const caller = raw(slow.port)
      caller.write(rawPost("/v1/messages", '{"model":', { "content-length": "1000" }))
      const timer = trickle ? setInterval(() => caller.write(" "), 50) : undefined
      const got = await caller.until(/\r\n\r\n\{.*\}$/s)
      clearInterval(timer)
      assert.match(got, /^HTTP\/1\.1 408 /)
      assert.match(got, /\{"type":"error","error":\{"type":"invalid_request_error"/)
      await caller.closed()
    }
  })

  it("is forgotten when it breaks its body off", async () => {
    const before = upstream.received.length
    for (const end of [
      (caller: ReturnType<typeof raw>) => caller.socket.end(),
      (caller: ReturnType<typeof raw>) => caller.socket.resetAndDestroy()
    ]) {
      const caller = raw(slow.port)
      caller.write(rawPost("/v1/messages", '{"model":', { "content-length": "1000" }))
      await new Promise((resolve) => setTimeout(resolve, 50))
      end(caller)
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.strictEqual(upstream.received.length, before)
    assert.strictEqual((await post(`${slow.url}/v1/messages`, message(model))).status, 200)
    assert.notMatch(slow.logs.join("\n"), /request failed/)
  })
})
