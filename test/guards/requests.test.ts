/** What guards do with requests, over real sockets: a detector, the gateway and the clouds of the sandbox. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { levels } from "../../src/catalog/names.ts"
import { levelsOf, readGuards } from "../../src/guards/GuardsFile.ts"
import { keysFileWith } from "../operation/keysFile.ts"
import { guardsFile, usual } from "../support/detector.ts"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { guardedCases, makeGuarded } from "../support/guarded.ts"
import { post } from "../support/http.ts"
import { sharedDetector } from "../support/shared.ts"

const detector = sharedDetector()
const guarded = makeGuarded(detector)
const lastAsked = () => detector.asked.at(-1)
const lastCall = (gateway: Gateway) => gateway.calls().at(-1)?.body ?? ""

const recorded = async (gateway: Gateway) => {
  for (let tries = 0; tries < 200; tries++) {
    const record = gateway.records().at(-1)
    if (record !== undefined) return record
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error("no record")
}
const countsOf = (record: Record<string, unknown>) => record.counts as Record<string, unknown>

describe.each(guardedCases)("requests of $surface", ({ ask, path, surface }) => {
  it("go to the cloud with redacted texts, and the reply says so", () =>
    guarded([{ name: "pii", when: "before", action: "redact" }], async (gateway) => {
      const got = await post(gateway.url + path, ask("My number is 123-45-6789, tell me about it."))
      assert.strictEqual(got.status, 200, got.text)
      assert.include(lastCall(gateway), "My number is [ssn], tell")
      assert.notInclude(lastCall(gateway), "45-6789")
      assert.deepStrictEqual(got.json.x_gateway_guards, [{ guard: "pii", action: "redact", categories: ["ssn"] }])
      assert.deepStrictEqual(countsOf(await recorded(gateway)).guarded, { pii: 1 })
    }))

  it("are refused where they are blocked, by the guard's name and category, and reach no cloud", () =>
    guarded([{ name: "words", when: "before", action: "block" }], async (gateway) => {
      const got = await post(gateway.url + path, ask("Please BLOCKME now"))
      assert.strictEqual(got.status, 400)
      assert.strictEqual(got.json.error.type, "invalid_request_error")
      assert.include(got.json.error.message, "the guard words blocks this request (forbidden-word)")
      assert.isEmpty(gateway.calls())
      const record = await recorded(gateway)
      assert.strictEqual(record.outcome, "filtered")
      assert.deepStrictEqual(countsOf(record).guarded, { words: 1 })
      assert.notInclude(JSON.stringify(record), "BLOCKME")
      assert.notInclude(gateway.logs.join("\n"), "BLOCKME")
    }))

  it("are not shown where the gateway refuses them itself", () =>
    guarded([{ name: "words", when: "before", action: "block" }], async (gateway) => {
      const before = detector.asked.length
      const choice = { type: "function", function: { name: "x" } }
      const wrong = { chat: { tool_choice: choice }, messages: { container: "c" }, responses: { background: true } }
      const got = await post(gateway.url + path, { ...ask("Please BLOCKME now"), ...wrong[surface] })
      assert.strictEqual(got.status, 400, got.text)
      assert.notInclude(got.json.error.message, "guard")
      const input = ["BLOCKME", ""]
      const embed = await post(`${gateway.url}/v1/embeddings`, { model: "titan-embed-text-v2:il5", input })
      assert.include(embed.json.error.message, "input[1]")
      assert.lengthOf(detector.asked, before)
    }))

  it("pass unchanged where they are flagged", () =>
    guarded([{ name: "pii", when: "before", action: "flag" }], async (gateway) => {
      const got = await post(gateway.url + path, ask("My number is 123-45-6789."))
      assert.include(lastCall(gateway), "123-45-6789")
      assert.deepStrictEqual(got.json.x_gateway_guards, [{ guard: "pii", action: "flag", categories: ["ssn"] }])
    }))

  it("are sent by place, with facts and without a key", () =>
    guarded([{ name: "pii", when: "before", action: "flag", params: { threshold: 0.5 } }], async (gateway) => {
      const got = await post(gateway.url + path, ask("Hello there."))
      assert.isUndefined(got.json.x_gateway_guards)
      const asked = lastAsked()
      assert.deepStrictEqual(asked?.texts, ["Hello there."])
      assert.strictEqual(asked?.input_type, "request")
      assert.strictEqual(asked?.litellm_call_id, got.headers.get("x-request-id"))
      assert.deepStrictEqual(asked?.additional_provider_specific_params, {
        threshold: 0.5,
        gateway: { surface, level: "il5", places: ["user"], images: 0, files: 0 }
      } as never)
      assert.notInclude(JSON.stringify(asked), "sandbox-key")
    }))
})

it("a text of which a guard leaves nothing is not held against the caller: the guard is named", () => {
  const empties = ({ texts }: { readonly texts: ReadonlyArray<string> }) => ({
    action: "GUARDRAIL_INTERVENED",
    blocked_reason: "ssn",
    texts: texts.map((text) => (text === "secret" ? "" : text))
  })
  const parts = [
    { type: "text", text: "secret" },
    { type: "text", text: "ok" }
  ]
  const [chat, messages, embeddings] = ["/v1/chat/completions", "/v1/messages", "/v1/embeddings"] as const
  const native = { model: "claude-sonnet-4-5:il5", max_tokens: 400 }
  const ask = [{ role: "user", content: "ok" }]
  const refused = [
    [embeddings, { model: "titan-embed-text-v2:il5", input: ["ok", "secret"] }],
    [chat, { model: "claude-sonnet-4-5:il5", messages: [{ role: "user", content: "secret" }] }],
    [chat, { model: "gemini-3-flash:il2", messages: [{ role: "user", content: "secret" }] }],
    [messages, { ...native, messages: [{ role: "user", content: "secret" }] }],
    [messages, { ...native, messages: [{ role: "user", content: parts }] }],
    [messages, { ...native, system: parts, messages: ask }],
    [`${messages}/count_tokens`, { model: native.model, messages: [{ role: "user", content: "secret" }] }]
  ] as const
  return guarded(
    [{ name: "pii", when: "before", action: "redact" }],
    async (gateway) => {
      for (const [path, body] of refused) {
        const got = await post(gateway.url + path, body)
        assert.strictEqual(got.status, 400, got.text)
        assert.include(got.json.error.message, "the guard pii blocks this request (ssn)")
        assert.strictEqual(got.json.type, path.startsWith(messages) ? "error" : undefined)
      }
      assert.isEmpty(gateway.calls())
      // What is left of others can be sent.
      const rest = { model: "claude-sonnet-4-5:il5", messages: [{ role: "user", content: parts }] }
      const got = await post(gateway.url + chat, rest)
      assert.deepStrictEqual([got.status, got.json.x_gateway_guards?.[0]?.action], [200, "redact"])
    },
    { rule: empties as never }
  )
})

const number = "123-45-6789"
const unknown = { notes: [number, { name: number }], memo: { [number]: "a" } }
it.each([
  ["/v1/chat/completions", { model: "gpt-5.1:il5", messages: [{ role: "user", content: "hi" }] }, {}],
  ["/v1/chat/completions", { model: "claude-sonnet-4-5:il5", messages: [{ role: "user", content: "hi" }] }, {}],
  ["/v1/messages", guardedCases[1]?.ask("hi"), { metadata: { user_id: number }, stop_sequences: [number] }],
  ["/v1/responses", guardedCases[2]?.ask("hi"), { metadata: { id: number }, prompt_cache_key: number }]
] as const)("all that %s passes on is seen", (path, body, more) =>
  guarded([{ name: "pii", when: "before", action: "redact" }], async (gateway) => {
    const sent = { ...body, service_tier: "low", user: number, stop: [number], ...unknown, ...more }
    const got = await post(gateway.url + path, sent)
    assert.isNotEmpty(gateway.calls(), got.text)
    for (const { body } of gateway.calls()) {
      assert.include(body, "[ssn]")
      assert.notInclude(body, "45-6789")
    }
    assert.notInclude(lastAsked()?.texts ?? [], "low")
  })
)

const chatOf = (text: string) => guardedCases[0]?.ask(text) ?? {}
const chatPath = "/v1/chat/completions"

describe("a guard that fails", () => {
  const failures = {
    "is slow": (_: unknown) => new Promise(() => {}),
    "answers 500": (_: unknown, response: { writeHead: (status: number) => { end: () => void } }) =>
      void response.writeHead(500).end(),
    "answers what is no JSON": (_: unknown, response: { end: (text: string) => void }) => void response.end("{"),
    "answers another action": () => ({ action: "MAYBE" }),
    "answers another number of texts": () => ({ action: "GUARDRAIL_INTERVENED", texts: ["one", "two"] }),
    "answers no texts": () => ({ action: "GUARDRAIL_INTERVENED" }),
    "answers what are no texts": () => ({ action: "GUARDRAIL_INTERVENED", texts: [1] })
  }
  it.each(Object.entries(failures))("%s: the request is refused", (_, rule) =>
    guarded([{ name: "pii", when: "before", action: "redact", deadline: "200 millis" }], async (gateway) => {
      detector.use(rule as never)
      const got = await post(gateway.url + chatPath, chatOf("hello"))
      assert.strictEqual(got.status, 503)
      assert.include(got.json.error.message, "the guard pii")
      assert.isEmpty(gateway.calls())
    })
  )

  it.each(Object.entries(failures))("%s: the request passes with a flag where the operator wants it", (_, rule) =>
    guarded(
      [{ name: "pii", when: "before", action: "block", deadline: "200 millis", onFailure: "pass" }],
      async (gateway) => {
        detector.use(rule as never)
        const got = await post(gateway.url + chatPath, chatOf("hello"))
        assert.strictEqual(got.status, rule === failures["answers another number of texts"] ? got.status : 200)
        assert.deepStrictEqual(got.json.x_gateway_guards, [
          { guard: "pii", action: "flag", categories: ["unavailable"] }
        ])
      }
    )
  )

  it("says itself that it is unavailable: the request is blocked", () =>
    guarded([{ name: "pii", when: "before", action: "block", onFailure: "pass" }], async (gateway) => {
      detector.use(() => ({ action: "BLOCKED", blocked_reason: "unavailable" }))
      assert.strictEqual((await post(gateway.url + chatPath, chatOf("hello"))).status, 400)
      assert.isEmpty(gateway.calls())
    }))

  it("is not there: the request is refused", () =>
    guarded([{ name: "pii", url: "http://127.0.0.1:9", when: "before", action: "flag" }], async (gateway) => {
      const got = await post(gateway.url + chatPath, chatOf("hello"))
      assert.strictEqual(got.status, 503)
      assert.isEmpty(gateway.calls())
    }))
})

describe("the boundary of a guard", () => {
  it.effect.each(["https://X.amazonaws.com./", "https://x.amazonaws.com..:443/a//", "https://x.amazonaws.com"])(
    "is its host's, however the address is written: %s",
    (url) =>
      Effect.gen(function* () {
        const file = guardsFile([{ name: "pii", url, boundary: "il5", when: "both", action: "flag" }])
        yield* Effect.addFinalizer(() => Effect.sync(file.remove))
        const { guards } = yield* readGuards(file.path)
        assert.deepStrictEqual([...(guards[0] === undefined ? levels : levelsOf(guards[0]))], [])
        assert.notMatch(guards[0]?.url ?? "/", /\/$/)
      }).pipe(Effect.provide(NodeServices.layer))
  )

  it("is, on a host of a cloud's, no more than the partition table says", () => {
    const held = (url: string) => [...levelsOf({ url, boundary: "il5" })]
    assert.include(held("https://guards.agency.example"), "il5")
    for (const host of ["comprehend.us-east-1.amazonaws.com", "GUARD.openai.azure.com", "example.googleapis.com"]) {
      assert.deepStrictEqual(
        held(`https://${host}`).filter((level) => /^il[45]/.test(level)),
        [],
        host
      )
    }
  })

  const elsewhere = {
    name: "pii",
    url: "https://guard.invalid",
    boundary: "fedramp-high",
    when: "before",
    action: "flag"
  }

  it("holds text of other levels back, and refuses the request where the guard must see it", () =>
    guarded([elsewhere], async (gateway) => {
      const got = await post(gateway.url + chatPath, chatOf("hello"))
      assert.strictEqual(got.status, 403)
      assert.include(got.json.error.message, "level il5")
      assert.isEmpty(gateway.calls())
    }))

  it("has on record what guards before it have found", () =>
    guarded([{ name: "words", when: "before", action: "flag" }, elsewhere], async (gateway) => {
      assert.strictEqual((await post(gateway.url + chatPath, chatOf("Please BLOCKME now"))).status, 403)
      assert.deepStrictEqual(countsOf(await recorded(gateway)).guarded, { words: 1 })
    }))

  it("passes it with a flag where the operator wants it", () =>
    guarded([{ ...elsewhere, onFailure: "pass" }], async (gateway) => {
      const got = await post(gateway.url + chatPath, chatOf("hello"))
      assert.deepStrictEqual(got.json.x_gateway_guards, [{ guard: "pii", action: "flag", categories: ["unavailable"] }])
    }))
})

describe("where a guard holds", () => {
  it("is said by levels and surfaces", () =>
    guarded(
      [
        { name: "levels", when: "before", action: "flag", levels: ["il2"] },
        { name: "surfaces", when: "before", action: "flag", surfaces: ["messages", "embeddings"] },
        { name: "teams", when: "before", action: "flag", teams: ["red"] }
      ],
      async (gateway) => {
        const before = detector.asked.length
        await post(gateway.url + chatPath, chatOf("123-45-6789"))
        assert.strictEqual(detector.asked.length, before)
        const low = await post(gateway.url + chatPath, { ...chatOf("123-45-6789"), model: "claude-sonnet-4-5:il2" })
        assert.deepStrictEqual(low.json.x_gateway_guards, [{ guard: "levels", action: "flag", categories: ["ssn"] }])
        const vectors = await post(`${gateway.url}/v1/embeddings`, {
          model: "titan-embed-text-v2:il5",
          input: ["plain", "123-45-6789"]
        })
        assert.deepStrictEqual(vectors.json.x_gateway_guards, [
          { guard: "surfaces", action: "flag", categories: ["ssn"] }
        ])
        assert.deepStrictEqual(lastAsked()?.texts, ["plain", "123-45-6789"])
        const count = await post(`${gateway.url}/v1/messages/count_tokens`, {
          model: "claude-sonnet-4-5:il5",
          messages: [{ role: "user", content: "123-45-6789" }]
        })
        assert.deepStrictEqual(count.json.x_gateway_guards, [
          { guard: "surfaces", action: "flag", categories: ["ssn"] }
        ])
      }
    ))

  it("is said by teams: callers of others, and of none, are not shown", async () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-guards-"))
    const teams = [{ name: "red" }, { name: "blue" }]
    const { file, secrets } = keysFileWith(folder, { red: { team: "red" }, blue: { team: "blue" }, none: {} }, teams)
    await guarded(
      [{ name: "teams", when: "both", action: "flag", teams: ["red", "green"] }],
      async (gateway) => {
        const flagsOf = async (secret: string) =>
          (await post(gateway.url + chatPath, chatOf("123-45-6789"), { "x-api-key": secret })).json.x_gateway_guards
        assert.deepStrictEqual(await flagsOf(secrets.red), [{ guard: "teams", action: "flag", categories: ["ssn"] }])
        assert.strictEqual(lastAsked()?.request_data.user_api_key_team_id, "red")
        const before = detector.asked.length
        for (const other of [secrets.blue, secrets.none]) assert.isUndefined(await flagsOf(other))
        assert.strictEqual(detector.asked.length, before)
      },
      { settings: { GATEWAY_KEYS_FILE: file } }
    )
    rmSync(folder, { recursive: true, force: true })
  })
})

describe("guards in order", () => {
  it("each see what those before them left", () =>
    guarded(
      [
        { name: "first", when: "before", action: "redact" },
        { name: "second", when: "before", action: "block" }
      ],
      async (gateway) => {
        const got = await post(gateway.url + chatPath, chatOf("Call 123-45-6789."))
        assert.strictEqual(got.status, 200, got.text)
        assert.deepStrictEqual(lastAsked()?.texts, ["Call [ssn]."])
      }
    ))
})

describe("arguments of calls", () => {
  const history = (args: string) => ({
    model: "claude-sonnet-4-5:il5",
    reasoning_effort: "none",
    messages: [
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "get", arguments: args } }]
      },
      { role: "tool", tool_call_id: "c1", content: "it is 123-45-6789" }
    ],
    tools: [
      {
        type: "function",
        function: { name: "get", parameters: { type: "object", properties: { n: { type: "string" } } } }
      }
    ]
  })
  it("are redacted in their place, tools are shown and never changed", () =>
    guarded([{ name: "pii", when: "before", action: "redact" }], async (gateway) => {
      const got = await post(gateway.url + chatPath, history('{"n":"123-45-6789"}'))
      assert.strictEqual(got.status, 200, got.text)
      assert.include(lastCall(gateway), '{"n":"[ssn]"}')
      assert.include(lastCall(gateway), "it is [ssn]")
      assert.deepStrictEqual(lastAsked()?.additional_provider_specific_params.gateway.places, [
        "user",
        "arguments",
        "tool"
      ])
      assert.deepStrictEqual(lastAsked()?.tools, history("").tools)
    }))
  it("that would be JSON no more are a failure", () =>
    guarded([{ name: "pii", when: "before", action: "redact" }], async (gateway) => {
      detector.use(({ texts }) => ({ action: "GUARDRAIL_INTERVENED", texts: texts.map(() => "[gone]") }))
      assert.strictEqual((await post(gateway.url + chatPath, history('{"n":"1"}'))).status, 503)
    }))
})

describe("GATEWAY_MARKINGS", () => {
  it.each([
    ["(S//NF) The plan", "il5", "classified"],
    ["CUI//SP-PRVCY\nNames", "il2", "cui"]
  ])("block refuses %j at %s", (text, level, category) =>
    guarded(
      [],
      async (gateway) => {
        const got = await post(gateway.url + chatPath, { ...chatOf(text), model: `claude-sonnet-4-5:${level}` })
        assert.strictEqual(got.status, 400)
        assert.include(got.json.error.message, `the guard markings blocks this request (${category})`)
        assert.deepStrictEqual(countsOf(await recorded(gateway)).guarded, { markings: 1 })
      },
      { settings: { GATEWAY_MARKINGS: "block" } }
    )
  )

  const description = "(S//NF) Where they are"
  const askAt = (path: string) => guardedCases.find((one) => one.path === path)?.ask ?? chatOf
  const parameters = { type: "object", properties: {} }
  const inner = { type: "function", name: "f", description, parameters }
  it.each([
    [chatPath, { tools: [{ type: "function", function: { name: "f", description, parameters } }] }],
    ["/v1/messages", { tools: [{ name: "f", description, input_schema: parameters }] }],
    ["/v1/messages", { tools: [{ name: "f", input_schema: parameters, input_examples: [{ a: description }] }] }],
    // In the fields of another format.
    ["/v1/messages", { tools: [{ name: "f", description, input_schema: { type: "object" }, function: {} }] }],
    ["/v1/messages", { tools: [{ name: "f", input_schema: { type: "object" }, parameters: description }] }],
    ["/v1/responses", { tools: [{ ...inner, input_schema: {}, function: {} }] }],
    ["/v1/responses", { tools: [inner] }],
    ["/v1/responses", { tools: [{ type: "namespace", name: "n", description: "Of n", tools: [inner] }] }],
    [
      "/v1/responses",
      { tools: [{ type: "custom", name: "g", format: { type: "grammar", syntax: "lark", definition: description } }] }
    ],
    ["/v1/responses", { input: [{ type: "additional_tools", tools: [inner] }] }]
  ])("reads the tools of %s: %j", (path, more) =>
    guarded(
      [],
      async (gateway) => {
        const ask = askAt(path)
        const got = await post(gateway.url + path, { ...ask("go"), ...more })
        assert.strictEqual(got.status, 400, got.text)
        assert.include(got.json.error.message, "the guard markings blocks this request (classified)")
        assert.isEmpty(gateway.calls())
      },
      { settings: { GATEWAY_MARKINGS: "block" } }
    )
  )

  const level = { enum: ["UNCLASSIFIED", "CUI", "SECRET"], description: "As marked" }
  const schema = { type: "object", properties: { level, kind: { const: "CONFIDENTIAL" } } }
  const format = { type: "json_schema", name: "f", schema }
  it.each([
    [chatPath, { tools: [{ type: "function", function: { name: "f", parameters: schema } }] }],
    [chatPath, { response_format: { type: "json_schema", json_schema: { name: "f", schema } } }],
    ["/v1/messages", { tools: [{ name: "f", input_schema: schema }] }],
    ["/v1/responses", { text: { format } }]
  ])("lets pass that a schema names levels to choose from, on %s: %j", (path, more) =>
    guarded(
      [],
      async (gateway) => {
        const ask = askAt(path)
        const got = await post(gateway.url + path, { ...ask("go"), ...more })
        assert.strictEqual(got.status, 200, got.text)
        const marked = JSON.stringify(more).replace("As marked", "(S//NF) As marked")
        const blocked = await post(gateway.url + path, { ...ask("go"), ...JSON.parse(marked) })
        assert.strictEqual(blocked.status, 400, blocked.text)
      },
      { settings: { GATEWAY_MARKINGS: "block" } }
    )
  )

  it("reads arguments in which a name is there twice", () =>
    guarded(
      [],
      async (gateway) => {
        const args = '{"a":"(S//NF) Where","a":1}'
        const got = await post(gateway.url + chatPath, {
          ...chatOf(""),
          messages: [
            { role: "user", content: "go" },
            {
              role: "assistant",
              tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: args } }]
            },
            { role: "tool", tool_call_id: "c", content: "done" }
          ]
        })
        assert.strictEqual(got.status, 400, got.text)
      },
      { settings: { GATEWAY_MARKINGS: "block" } }
    ))

  it("lets pass what the level may hold, and flags inside of arguments", async () => {
    const gateway = await startGateway({ settings: { GATEWAY_MARKINGS: "flag" } })
    try {
      const cui = await post(gateway.url + chatPath, chatOf("CUI//SP-PRVCY\nNames"))
      assert.isUndefined(cui.json.x_gateway_guards)
      const marked = await post(gateway.url + chatPath, {
        ...chatOf(""),
        messages: [
          { role: "user", content: "go" },
          {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: "c", type: "function", function: { name: "f", arguments: '{"t":"a\\nSECRET//NOFORN"}' } }
            ]
          },
          { role: "tool", tool_call_id: "c", content: "done" }
        ]
      })
      assert.deepStrictEqual(marked.json.x_gateway_guards, [
        { guard: "markings", action: "flag", categories: ["classified"] }
      ])
    } finally {
      await gateway.stop()
    }
  })
})

describe("GATEWAY_GUARDS_FILE", () => {
  it.each([
    [{ guards: [] }, /version/],
    [{ version: 1, guards: [{ name: "a", url: "https://x.example", when: "before", action: "flag" }] }, /boundary/],
    [
      { version: 1, guards: [{ name: "markings", url: "http://127.0.0.1", when: "before", action: "flag" }] },
      /built in/
    ],
    [
      { version: 1, guards: [{ name: "a", url: "http://x.example", boundary: "il5", when: "before", action: "flag" }] },
      /https/
    ],
    [
      { version: 1, guards: [{ name: "a", url: "http://127.0.0.1", boundary: "il9", when: "before", action: "flag" }] },
      /il5,itar/
    ],
    [
      { version: 1, guards: [{ name: "a", url: "http://127.0.0.1", level: ["il5"], when: "before", action: "flag" }] },
      /level/
    ],
    [
      {
        version: 1,
        guards: [{ name: "a", url: "http://127.0.0.1", when: "before", action: "flag", deadline: "2 minutes" }]
      },
      /at most 60 seconds/
    ],
    [
      {
        version: 1,
        guards: [{ name: "a", url: "http://127.0.0.1", when: "before", action: "flag", deadline: "-1 seconds" }]
      },
      /at least 1 millisecond/
    ]
  ])("%j stops the start", async (content, message) => {
    const file = guardsFile([])
    file.write(JSON.stringify(content))
    try {
      const error = await startGateway({ settings: { GATEWAY_GUARDS_FILE: file.path } }).then(
        async (gateway) => {
          await gateway.stop()
          return "it started"
        },
        (failure) => String(failure)
      )
      assert.match(error, message)
    } finally {
      file.remove()
    }
  })

  it("is read again when it changes, and refused whole when it is broken", async () => {
    const file = guardsFile([])
    const gateway = await startGateway({ settings: { GATEWAY_GUARDS_FILE: file.path } })
    detector.use(usual)
    try {
      const flagsOf = async () => (await post(gateway.url + chatPath, chatOf("123-45-6789"))).json.x_gateway_guards
      assert.isUndefined(await flagsOf())
      const guard = { name: "pii", url: detector.url, when: "before", action: "flag" }
      const comes = async (done: () => Promise<boolean> | boolean) => {
        const end = Date.now() + 8_000
        while (!(await done())) {
          if (Date.now() > end) throw new Error(gateway.logs.join("\n"))
          await new Promise((resolve) => setTimeout(resolve, 100))
        }
      }
      file.write(JSON.stringify({ version: 1, guards: [guard] }))
      await comes(async () => (await flagsOf()) !== undefined)
      file.write("{")
      await comes(() => gateway.logs.some((line) => line.includes("The guards in force stay")))
      assert.isDefined(await flagsOf())
    } finally {
      await gateway.stop()
      file.remove()
    }
  }, 20_000)
})
