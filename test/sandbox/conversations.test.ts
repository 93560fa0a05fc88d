/** The same conversation in the words of each API: what is understood, and so what is said, is the same. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { body, bot, call, result, SONNET, tools, user } from "./claudeRequests.ts"
import { bedrock, claude, type Got, gemini, openai, PNG, post, type Target } from "./support.ts"

const turn = (role: string, ...parts: ReadonlyArray<unknown>) => ({ role, parts })
const chat = (over: object) => ({ model: "gpt-5.1", ...over })
const listed = (type: string, text: string) => [{ type, text }]
const image = `data:image/png;base64,${PNG}`
const schema = { type: "object", properties: { name: { type: "string" } }, additionalProperties: false }

/** What a reply says, in whichever API's shape. */
const textIn = ({ json: { content, candidates, choices, output } }: Got): string =>
  (content ?? candidates?.[0].content.parts ?? output?.[0].content)?.[0].text ?? choices?.[0].message.content

const said = (model: string) =>
  `The tool look_up answered: found. That answers your question about "Hello". I follow your instructions: Be brief. This is turn 2 of our conversation. I am the sandbox's stand-in for ${model}, so this is a reply in the right shape rather than one that knows.`

const chatCall = { id: "call_1", type: "function", function: { name: "look_up", arguments: "{}" } }
const calledItem = { type: "function_call", call_id: "call_1", name: "look_up", arguments: "{}" }
const foundItem = { type: "function_call_output", call_id: "call_1", output: listed("input_text", "found") }

/** A second turn, under instructions, and with a tool's result. */
const second: ReadonlyArray<readonly [string, Target, object, model: string]> = [
  [
    "Messages",
    claude(SONNET),
    body({ tools, system: "Be brief.", messages: [user("Hi"), bot("Hi"), user("Hello"), call, user([result])] }),
    "claude-sonnet-4-5"
  ],
  [
    "Gemini",
    gemini(),
    {
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [
        ...[turn("user", { text: "Hi" }), turn("model", { text: "Hi" }), turn("user", { text: "Hello" })],
        turn("model", { functionCall: { name: "look_up" }, thoughtSignature: "skip_thought_signature_validator" }),
        turn("user", { functionResponse: { name: "look_up", response: { output: "found" } } })
      ]
    },
    "gemini-3-flash-preview"
  ],
  [
    "chat completions",
    openai("chat/completions"),
    chat({
      messages: [
        ...[{ role: "system", content: "Be brief." }, user("Hi"), bot("Hi"), user("Hello")],
        ...[
          { role: "assistant", tool_calls: [chatCall] },
          { role: "tool", tool_call_id: "call_1", content: "found" }
        ]
      ]
    }),
    "gpt-5.1"
  ],
  [
    "Responses",
    openai("responses"),
    chat({
      instructions: "Be brief.",
      input: [user("Hi"), bot(listed("output_text", "Hi")), user("Hello"), calledItem, foundItem]
    }),
    "gpt-5.1"
  ],
  ...["system", "developer"].map((role): (typeof second)[number] => [
    `Responses, ${role}`,
    openai("responses"),
    chat({
      input: [
        ...[{ role, content: listed("input_text", "Be brief.") }, user("Hi")],
        ...[user(listed("input_text", "Hello")), calledItem, foundItem]
      ]
    }),
    "gpt-5.1"
  ])
]

const ada = 'Call her "Ada".'
const generationConfig = { responseMimeType: "application/json", responseJsonSchema: schema }
const format = { type: "json_schema", schema }
const onBedrock = { anthropic_version: "bedrock-2023-05-31", messages: [user(ada)], output_config: { format } }
const formatted: ReadonlyArray<readonly [string, Target, object]> = [
  ["Messages", bedrock("us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"), body(onBedrock)],
  ["Gemini", gemini(), { contents: [turn("user", { text: ada })], generationConfig }],
  [
    "chat completions",
    openai("chat/completions"),
    chat({ messages: [user(ada)], response_format: { type: "json_schema", json_schema: { name: "person", schema } } })
  ],
  ["Responses", openai("responses"), chat({ input: ada, text: { format: { ...format, name: "person" } } })]
]

/** Requests that choose a tool or none, of two the second of which fits, and the tool that is called. */
const says = { name: "say_hello", description: "hello", input_schema: { type: "object" } }
const declared = [{ functionDeclarations: [{ name: "look_up" }, { name: "say_hello" }] }]
const onClaude = (type: string, name?: string) =>
  [claude(SONNET), body({ tools: [...tools, says], tool_choice: { type, name } })] as const
const onGemini = (mode: string, text: string) =>
  [
    gemini(),
    { contents: [turn("user", { text })], tools: declared, toolConfig: { functionCallingConfig: { mode } } }
  ] as const
const chosen: ReadonlyArray<readonly [string, readonly [Target, object], string | undefined]> = [
  ["Messages: one", onClaude("tool", "look_up"), "look_up"],
  ["Messages: any", onClaude("any"), "say_hello"],
  ["Messages: none", onClaude("none"), undefined],
  ["Gemini: a free choice", onGemini("AUTO", "Why?"), undefined],
  ["Gemini: none", onGemini("NONE", "Say hello"), undefined]
]

const directive = "[sandbox: text=as asked]"
const system = { role: "system", content: "Be brief." }
const directed: ReadonlyArray<readonly [string, Target, object]> = [
  [
    "Messages, beside a result",
    claude(SONNET),
    body({ tools, messages: [user("Hi"), call, user([result, { type: "text", text: directive }])] })
  ],
  ["Messages, before a system message", claude("claude-opus-4-8"), body({ messages: [user(directive), system] })],
  [
    "Messages, beside a result and before a system message",
    claude("claude-opus-4-8"),
    body({ tools, messages: [user("Hi"), call, user([result, { type: "text", text: directive }]), system] })
  ],
  [
    "chat completions, beside a result",
    openai("chat/completions"),
    chat({
      messages: [
        user("Hi"),
        { role: "assistant", tool_calls: [chatCall] },
        { role: "tool", tool_call_id: "call_1", content: "found" },
        user(directive)
      ]
    })
  ],
  [
    "chat completions, before a system message",
    openai("chat/completions"),
    chat({ messages: [user(directive), system] })
  ],
  [
    "Responses, beside a result",
    openai("responses"),
    chat({ input: [user("Hi"), calledItem, foundItem, user(directive)] })
  ],
  [
    "Responses, before a system message",
    openai("responses"),
    chat({ input: [user(directive), { ...system, role: "developer" }] })
  ],
  [
    "Gemini, behind a result",
    gemini(),
    {
      contents: [
        turn("user", { text: "Hi" }),
        turn("model", { functionCall: { name: "look_up" }, thoughtSignature: "skip_thought_signature_validator" }),
        turn("user", { functionResponse: { name: "look_up", response: { output: "found" } } }),
        turn("user", { text: directive })
      ]
    }
  ]
]

layer(Sandbox.layer({ pace: 0 }))("a conversation", (it) => {
  it.effect.each(second)("in its second turn: %s", ([, target, sent, model]) =>
    Effect.gen(function* () {
      assert.strictEqual(textIn(yield* post(target, sent)), said(model))
    })
  )

  it.effect.each(directed)("with a directive: %s", ([, target, sent]) =>
    Effect.gen(function* () {
      assert.strictEqual(textIn(yield* post(target, sent)), "as asked")
    })
  )

  it.effect.each(formatted)("with a schema: %s", ([, target, sent]) =>
    Effect.gen(function* () {
      assert.strictEqual(textIn(yield* post(target, sent)), '{"name":"Ada"}')
    })
  )

  it.effect.each(chosen)("with a choice of tools: %s", ([, request, name]) =>
    Effect.gen(function* () {
      const { status, json } = yield* post(...request)
      const { content, candidates } = json
      assert.strictEqual(status, 200)
      assert.strictEqual(content?.at(-1).name ?? candidates?.[0].content.parts[0].functionCall?.name, name)
    })
  )

  it.effect("with an image", () =>
    Effect.gen(function* () {
      const got = yield* post(openai("responses"), chat({ input: [user([{ type: "input_image", image_url: image }])] }))
      assert.match(textIn(got), /^I see a PNG image of 70 bytes\./)
    })
  )
})
