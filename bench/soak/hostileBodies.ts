/** Bodies that would be slow, or would take much memory, if they were read without care. */
/** Other than the streams', so that the bodies go to a cloud of their own. */
const claude = "claude-sonnet-4-5:il5"
const user = (content: string) => ({ role: "user", content })
const chat = (model: string, messages: ReadonlyArray<object>, more: object = {}) =>
  JSON.stringify({ model, messages, ...more })
const call = (text: string, id = "c") => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "f", arguments: text } }]
})
const result = (content: string, id = "c") => ({ role: "tool", tool_call_id: id, content })
const list = (value: string, count: number) => `[${`${value},`.repeat(count - 1)}${value}]`
const native = (extra: string, content = "hi") =>
  `{"model":"${claude}","max_tokens":5,"messages":[{"role":"user","content":"${content}"}]${extra}}`
const named = (names: ReadonlyArray<string>) =>
  chat(claude, [user("a")], {
    tools: [
      {
        type: "function",
        function: { name: "f", parameters: { properties: Object.fromEntries(names.map((n) => [n, {}])) } }
      }
    ]
  })
const numbers = `{${Array.from({ length: 149_000 }, (_, n) => `"k${n}":1e5`).join(",")}}`
const marks = "\u0300\u0316\u0345\u0327"

/** Each with the status that must come of it. */
export const hostileBodies: ReadonlyArray<readonly [name: string, status: number, path: string, body: string]> = [
  [
    "19 MiB of call arguments",
    400,
    "chat/completions",
    chat(claude, [call(`{"a":${list("{}", 6_500_000)}}`), result("r"), user("b")])
  ],
  [
    "9 tool results of numbers",
    200,
    "chat/completions",
    chat("gemini-3-flash:il2", [
      user("a"),
      ...Array.from({ length: 9 }, (_, n) => [call("{}", `c${n}`), result(numbers, `c${n}`)]).flat(),
      user("b")
    ])
  ],
  ["a name of 64,000 marks", 400, "chat/completions", named([`a${marks}`.repeat(16_000)])],
  [
    "18,000 names of marks",
    200,
    "chat/completions",
    named(Array.from({ length: 18_000 }, (_, n) => `${n}${marks.repeat(30)}`.slice(0, 128)))
  ],
  ["140,000 long integers", 200, "messages", native(`,"x":${list("12345678901234567890", 140_000)}`)],
  ["140,000 exponents", 200, "messages", native(`,"x":${list("1e5", 140_000)}`)],
  ["20 MiB of lone surrogates", 200, "messages", native("", "\\ud800".repeat(3_400_000))],
  ["74,000 fields", 400, "messages", native(Array.from({ length: 74_000 }, (_, n) => `,"k${n}":1`).join(""))],
  ["15 MiB of escapes", 200, "messages", native("", "\\n".repeat(7_800_000))],
  ["20 MiB of text", 200, "messages", native("", "lorem ipsum ".repeat(1_700_000))]
]
