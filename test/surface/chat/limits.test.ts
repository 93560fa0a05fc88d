/** Chat completions: the limits, at N and at N + 1 (docs/api.md#limits). */
import { describe, it } from "@effect/vitest"
import { chat, dataUri, file, functionTool, image, ok, refused } from "../../support/chat.ts"
import { sixModels } from "../../support/chatKinds.ts"
import { base, call, model, sharedChat, user } from "../../support/chatSurface.ts"
import { emptyMessage } from "../../support/claude.ts"
import { answering, reply } from "../../support/fakeUpstream.ts"
import { type Got, post } from "../../support/http.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, create } = sharedChat()
/** A cloud that looks at nothing. */
const taking = sharedUpstream({}, answering(reply("200 OK", emptyMessage)))

/** Asserts that a request is within the gateway's limits; less may be too long for the model. */
const passes = (got: Got): void => {
  if (got.json.error?.code !== "context_length_exceeded") ok(got)
}

describe("limits: N passes, N + 1 does not", () => {
  const history = (count: number) =>
    Array.from({ length: count }, (_, n) => (n % 2 === 0 ? user : { role: "assistant", content: "ok" }))
  const withCalls = (count: number, id = (n: number) => `c${n}`) => ({
    ...base,
    reasoning_effort: "none",
    messages: [
      user,
      { role: "assistant", content: null, tool_calls: Array.from({ length: count }, (_, n) => call(id(n))) },
      ...Array.from({ length: count }, (_, n) => ({ role: "tool", tool_call_id: id(n), content: "r" }))
    ],
    tools: [functionTool("f")]
  })
  const withArguments = (text: string) => ({
    ...withCalls(1),
    messages: [
      user,
      { role: "assistant", content: null, tool_calls: [call("c0", text)] },
      { role: "tool", tool_call_id: "c0", content: "r" }
    ]
  })
  const tools = (count: number) => ({ ...base, tools: Array.from({ length: count }, (_, n) => functionTool(`f${n}`)) })
  const rows: ReadonlyArray<readonly [string, (n: number) => unknown, number, RegExp]> = [
    ["messages", (n) => ({ ...base, messages: history(n) }), 2047, /^messages: at most 2,048 messages/],
    ["tools", tools, 128, /^tools: at most 128 tools/],
    ["tool calls of a message", (n) => withCalls(n), 128, /^messages\[1\]\.tool_calls: at most 128 tool calls/],
    ...["i", "🙂"].map(
      (character) =>
        [
          `characters of a tool_call_id: ${character}`,
          (n: number) => withCalls(1, () => character.repeat(n)),
          256,
          /^messages\[[12]\]\.(tool_call_id|tool_calls\[0\]\.id): at most 256 characters/
        ] as const
    ),
    [
      "characters of a tool's name",
      (n) => ({ ...base, tools: [functionTool("ok"), functionTool("n".repeat(n))] }),
      64,
      /^tools\[1\]\.function\.name: must be 1 to 64 characters/
    ],
    ...["d", "🙂"].map(
      (character) =>
        [
          `characters of a tool's description: ${character}`,
          (n: number) => ({ ...base, tools: [functionTool("f", {}, { description: character.repeat(n) })] }),
          65_536,
          /^tools\[0\]\.function\.description: at most 65,536 characters/
        ] as const
    ),
    ["bytes of arguments", (n) => withArguments(`{"a":"${"t".repeat(n - 8)}"}`), 2_097_152, /arguments: at most 2 MiB/],
    [
      "bytes of a name in arguments",
      (n) => withArguments(`{"a":[{"${"n".repeat(n)}":1}]}`),
      1024,
      /^messages\[1\]\.tool_calls\[0\]\.function\.arguments\.a\[0\]: the name of a property is longer than 1,024/
    ],
    ["bytes of a user's text", (n) => chat(model, "t".repeat(n)), 2_097_152, /^messages\[0\]\.content.*2 MiB/],
    [
      "bytes of a system text",
      (n) => ({ ...base, messages: [{ role: "system", content: "t".repeat(n) }, user] }),
      2_097_152,
      /^messages\[0\]\.content.*2 MiB/
    ],
    [
      "bytes of an assistant's text",
      (n) => ({ ...base, messages: [user, { role: "assistant", content: "t".repeat(n) }, user] }),
      2_097_152,
      /^messages\[1\]\.content.*2 MiB/
    ]
  ]
  for (const [name, body, limit, text] of rows) {
    it(name, async () => {
      passes(await create(body(limit)))
      // A history must end with a user's turn for this model, so that its last even count is not tried.
      refused(await create(body(name === "messages" ? 2049 : limit + 1)), 400, "invalid_request_error", text)
    })
  }

  it("one budget of values for the body and what is inside it", async () => {
    const list = (count: number) => `[1${",1".repeat(count)}]`
    const body = (inside: number, beside: number) =>
      `${JSON.stringify(withArguments(`{"a":${list(inside)}}`)).slice(0, -1)},"metadata":{"x":${list(beside)}}}`
    const words = /^messages\[1\]\.tool_calls\[0\]\.function\.arguments\.a\[\d+\]: too many values/
    refused(
      await post(`${gateway.url}/v1/chat/completions`, body(180_000, 180_000)),
      400,
      "invalid_request_error",
      words
    )
    passes(await post(`${gateway.url}/v1/chat/completions`, body(180_000, 100_000)))
  })

  it("2,048 messages", async () => {
    ok(await create({ ...base, messages: [{ role: "system", content: "s" }, ...history(2047)] }))
  })

  it("text is counted in bytes of UTF-8", async () => {
    ok(await create(chat(model, "é".repeat(1_048_576))))
    refused(await create(chat(model, `${"é".repeat(1_048_576)}a`)), 400, "invalid_request_error", /2 MiB/)
  })

  it("names of tools: nothing but letters, digits, _ and -", async () => {
    for (const name of ["", "a b", "a.b", "ä", "a/b", "a\n", "n".repeat(65)]) {
      refused(
        await create({ ...base, tools: [functionTool(name)] }),
        400,
        "invalid_request_error",
        /^tools\[0\]\.function\.name: must be 1 to 64 characters/
      )
    }
    for (const id of sixModels) ok(await create({ ...chat(id), tools: [functionTool("-9_aZ"), functionTool("0")] }))
  })

  it("temperature, top_p: both ends", async () => {
    for (const id of sixModels) {
      for (const extra of [
        { temperature: 0 },
        { temperature: 2 },
        { top_p: 0 },
        { top_p: 1 },
        { temperature: 1, top_p: 0.5 }
      ]) {
        for (const reasoning_effort of [undefined, "none"])
          ok(await create(chat(id, "hi", { ...extra, reasoning_effort })))
      }
    }
  })

  it("what the table of limits allows: parts in all messages, large images in several", {
    timeout: 90_000
  }, async () => {
    const parts = (count: number, part: object) => Array.from({ length: count }, () => part)
    const turns = (content: object) => Array.from({ length: 2048 }, () => ({ role: "user", content }))
    const create = (body: object) => post(`${taking.gateway.url}/v1/chat/completions`, body)
    const [picture, document] = [image(dataUri("image/png")), file(dataUri("application/pdf"))]
    const most = [...parts(20, picture), ...parts(5, document), { type: "text", text: "a" }]
    ok(await create({ ...base, messages: turns(most) }))
    const large = [image(dataUri("image/png", 3_400_000))]
    ok(await create({ ...base, messages: parts(5, { role: "user", content: large }) }))
  })

  it("17 stop sequences, on every model", async () => {
    const stop = Array.from({ length: 17 }, (_, at) => `[end ${at}]`)
    for (const id of sixModels) ok(await create(chat(id, "hi", { stop })))
  })

  it("413 for a body over its limit", async () => {
    refused(await create(" ".repeat(33_554_433)), 413, "invalid_request_error", /33554432/)
  })
})
