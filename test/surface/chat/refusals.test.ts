/** Chat completions: what is refused, and what a cloud refuses (docs/api.md#errors). */
import { assert, describe, it } from "@effect/vitest"
import { chat, functionTool, ok, refused } from "../../support/chat.ts"
import { sixModels } from "../../support/chatKinds.ts"
import { base, call, model, sharedChat, user } from "../../support/chatSurface.ts"
import { cloudStatuses } from "../../support/cloudStatuses.ts"

const { gateway, create } = sharedChat()

describe("what is refused", () => {
  const cases: ReadonlyArray<readonly [name: string, body: unknown, text: RegExp]> = [
    ["no JSON", "{", /not valid JSON/],
    ["an empty body", "", /empty/],
    ["an array", [], /request body/],
    ["model missing", { ...base, model: undefined }, /model/],
    ["model null", { ...base, model: null }, /model/],
    ["model bare", { ...base, model: "claude-sonnet-4-5" }, /claude-sonnet-4-5:il5/],
    ["model unknown", { ...base, model: "gpt-4o:il5" }, /gpt-4o/],
    ["level unknown", { ...base, model: "gpt-5.1:il9" }, /gpt-5\.1:il5/],
    ["level above the authorized one", { ...base, model: "gemini-3-flash:il5" }, /gemini-3-flash:il2/],
    ["itar where there is none", { ...base, model: "gpt-5.1:itar" }, /gpt-5\.1:il5/],
    ["capitals", { ...base, model: "gpt-5.1:IL5" }, /gpt-5\.1:il5/],
    ["an embedding model", { ...base, model: "titan-embed-text-v2:il5" }, /\/v1\/embeddings/],
    ["messages missing", { ...base, messages: undefined }, /messages/],
    ["messages null", { ...base, messages: null }, /messages/],
    ["messages empty", { ...base, messages: [] }, /messages.*at least one/],
    ["messages a string", { ...base, messages: "hi" }, /messages/],
    ["a message that is a string", { ...base, messages: ["hi"] }, /messages\[0\]/],
    ["an unknown role", { ...base, messages: [user, { role: "robot", content: "hi" }] }, /messages\[1\]/],
    ["a role missing", { ...base, messages: [{ content: "hi" }] }, /messages\[0\]/],
    ["content missing", { ...base, messages: [{ role: "user" }] }, /messages\[0\].*content/],
    ["content null", { ...base, messages: [{ role: "user", content: null }] }, /messages\[0\]\.content/],
    ["content a number", { ...base, messages: [{ role: "user", content: 3 }] }, /messages\[0\]\.content/],
    [
      "parts in a system message",
      { ...base, messages: [{ role: "system", content: [{ type: "text", text: "a" }] }, user] },
      /messages\[0\]\.content.*string/
    ],
    [
      "parts in an assistant message",
      { ...base, messages: [user, { role: "assistant", content: [{ type: "text", text: "a" }] }] },
      /messages\[1\]\.content.*string/
    ],
    [
      "parts in a tool message",
      { ...base, messages: [user, { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "a" }] }] },
      /messages\[1\]\.content.*string/
    ],
    [
      "an unknown part",
      chat(model, [{ type: "text", text: "a" }, { type: "input_audio" }]),
      /content\[1\].*text, image_url or file/
    ],
    ["a text part without text", chat(model, [{ type: "text" }]), /content\[0\]/],
    ["an image part without a URL", chat(model, [{ type: "image_url", image_url: {} }]), /content\[0\]/],
    ["a file part without data", chat(model, [{ type: "file", file: { filename: "a.pdf" } }]), /content\[0\]/],
    [
      "an assistant message of nothing",
      { ...base, messages: [user, { role: "assistant", content: null }] },
      /messages\[1\]\.content/
    ],
    [
      "tool_call_id missing",
      { ...base, messages: [user, { role: "tool", content: "r" }] },
      /messages\[1\]\.tool_call_id/
    ],
    [
      "a call whose arguments are an object",
      {
        ...base,
        messages: [
          user,
          { role: "assistant", content: null, tool_calls: [{ ...call("a"), function: { name: "f", arguments: {} } }] }
        ]
      },
      /messages\[1\]\.tool_calls\[0\]\.function\.arguments/
    ],
    ["temperature below 0", { ...base, temperature: -0.1 }, /temperature: must be between 0 and 2/],
    ["temperature above 2", { ...base, temperature: 2.01 }, /temperature: must be between 0 and 2/],
    ["temperature a string", { ...base, temperature: "1" }, /temperature/],
    ["top_p above 1", { ...base, top_p: 1.01 }, /top_p: must be between 0 and 1/],
    ["top_p below 0", { ...base, top_p: -1 }, /top_p/],
    ["max_tokens 0", { ...base, max_tokens: 0 }, /max_tokens/],
    ["max_tokens a fraction", { ...base, max_tokens: 1.5 }, /max_tokens/],
    ["max_completion_tokens negative", { ...base, max_completion_tokens: -1 }, /max_completion_tokens/],
    ["stream a string", { ...base, stream: "true" }, /stream/],
    ["stream_options a boolean", { ...base, stream: true, stream_options: true }, /stream_options/],
    ["stop a number", { ...base, stop: 3 }, /stop: must be a string or an array of strings/],
    ["tools an object", { ...base, tools: {} }, /tools/],
    ["a tool of another type", { ...base, tools: [{ type: "web_search" }] }, /tools\[0\]\.type/],
    ["a tool without a name", { ...base, tools: [{ type: "function", function: {} }] }, /tools\[0\]\.function\.name/],
    ["parameters an array", { ...base, tools: [functionTool("f", [])] }, /tools\[0\]\.function\.parameters/],
    ["tool_choice unknown", { ...base, tools: [functionTool("f")], tool_choice: "any" }, /tool_choice: must be/],
    [
      "tool_choice without a name",
      { ...base, tools: [functionTool("f")], tool_choice: { type: "function" } },
      /tool_choice/
    ],
    [
      "an unknown effort",
      { ...base, reasoning_effort: "enormous" },
      /reasoning_effort: must be none, minimal, low, medium, high, xhigh or max/
    ],
    ["n of 2", { ...base, n: 2 }, /n: must be 1/],
    ["functions", { ...base, functions: [{ name: "f" }] }, /tools/],
    ["web search", { ...base, web_search_options: {} }, /boundary/],
    ["Azure's data sources", { ...base, data_sources: [{ type: "azure_search" }] }, /boundary/]
  ]
  for (const [name, body, text] of cases) {
    it(`400 for ${name}`, async () => {
      const before = gateway.calls().length
      refused(await create(body), 400, "invalid_request_error", text)
      assert.strictEqual(gateway.calls().length, before, "nothing goes upstream")
    })
  }

  it("says it in one line, without repeating the value", async () => {
    for (const [, body] of cases) {
      const { message } = (await create(body)).json.error
      assert.notMatch(message, /\n|enormous|robot/)
      assert.isBelow(message.length, 700)
    }
  })

  for (const path of ["a number", "NUL", "a lone surrogate"]) {
    it(`never 500 for a text with ${path}`, async () => {
      const text = { "a number": "12345678901234567890", NUL: "a\u0000b", "a lone surrogate": "a\ud800b" }[path]
      for (const id of sixModels) {
        const got = await create(chat(id, text))
        assert.include([200, 400], got.status, got.text)
      }
    })
  }

  it("403 for a missing or wrong key, before the body is looked at", async () => {
    for (const headers of [
      { "x-api-key": "" },
      { "x-api-key": "wrong" },
      { "x-api-key": "", authorization: "Bearer sandbox-key" }
    ]) {
      refused(await create("{", headers), 403, "authentication_error", /x-api-key/)
    }
    ok(await create(base, { authorization: "Bearer anything" }))
  })

  it("415 for another content type, in the same shape", async () => {
    refused(await create("hi", { "content-type": "text/plain" }), 415, "invalid_request_error", /application\/json/)
  })
})

for (const id of sixModels) {
  it(`${id}: a choice of a tool that is not there is refused, also where no choice is taken`, async () => {
    for (const reasoning_effort of ["none", "medium"]) {
      const named = { type: "function", function: { name: "g" } }
      const body = { reasoning_effort, tools: [functionTool("f")], tool_choice: named }
      refused(await create(chat(id, "hi", body)), 400, "invalid_request_error", /^tool_choice\.function\.name: must be/)
      ok(await create(chat(id, "hi", { ...body, tools: [functionTool("f"), functionTool("g")] })))
    }
  })

  it(`${id}: a forced choice without tools is refused, and one that forces nothing is none`, async () => {
    const forced = ["required", { type: "required" }, { type: "function", function: { name: "f" } }]
    for (const tools of [{}, { tools: null }, { tools: [] }]) {
      for (const tool_choice of forced) {
        const got = await create(chat(id, "hi", { tool_choice, ...tools }))
        refused(got, 400, "invalid_request_error", /^tool_choice: there are no tools to choose; define them in tools/)
      }
      for (const tool_choice of ["auto", "none", { type: "auto" }]) {
        ok(await create(chat(id, "hi", { tool_choice, ...tools })))
      }
    }
  })
}

describe("what a cloud refuses or fails at", () => {
  for (const id of sixModels) {
    for (const stream of [false, true]) {
      it(`${id}${stream ? ", streamed" : ""}: statuses`, async () => {
        for (const [directive, status, type, retryAfter] of cloudStatuses) {
          const got = await create(chat(id, `[sandbox: status=${directive}]`, { stream }))
          refused(got, status, type, /./)
          assert.strictEqual(got.headers.get("retry-after"), retryAfter)
          assert.notMatch(got.text, /sandbox-project|us-gov\.|openai\.gpt|20250929|arn:|preview/)
        }
      })

      it(`${id}${stream ? ", streamed" : ""}: redirects, HTML, bodies cut and garbled`, async () => {
        for (const fault of ["redirect", "html", ...(stream ? [] : ["cut after=0", "garbage after=0"])]) {
          refused(await create(chat(id, `[sandbox: ${fault}]`, { stream })), 502, "api_error", /./)
        }
      })
    }
  }
})
