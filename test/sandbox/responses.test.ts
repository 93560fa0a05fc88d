import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { dataIn, messageIn, openai, PDF, post } from "./support.ts"

const user = (content: unknown) => ({ role: "user", content })
const responses = (over: object = {}) => ({ model: "gpt-5.1", input: "Hello", ...over })
const flat = [{ type: "function", name: "look_up", parameters: { type: "object", properties: {} } }]
const called = { type: "function_call", call_id: "call_1", name: "look_up", arguments: "{}" }

const refusedResponses: ReadonlyArray<readonly [string, object, RegExp, number?]> = [
  ["an unknown parameter", { foo: 1 }, /Unknown parameter: 'foo'/],
  ["a previous response", { previous_response_id: "resp_1" }, /Previous response with id 'resp_1' not found/],
  ["an input that is none", { input: 5 }, /^Invalid type for 'input'/],
  ["a required tool without tools", { tool_choice: "required" }, /'required' must be specified with 'tools'/],
  ["a small limit", { max_output_tokens: 15 }, /^Invalid 'max_output_tokens': integer below .+ >= 16, but got 15 inst/],
  ["a negative temperature", { temperature: -1 }, /^Invalid 'temperature': decimal below .+ >= 0, but got -1 instead/],
  ["sampling while it reasons", { reasoning: { effort: "low" }, temperature: 1 }, /'temperature' is not supported/],
  ["a file that is no PDF", { input: [user([{ type: "input_file", file_data: "x" }])] }, /try again with a pdf$/],
  [
    "a long ID of a call",
    { input: [user("a"), { ...called, call_id: "x".repeat(65) }] },
    /maximum length 64, but got a string with length 65/
  ],
  [
    "a long user",
    { user: "u".repeat(65) },
    /^Invalid 'user': string too long.+ maximum length 64, but got .+ 65 instead/
  ],
  [
    "a format with a name of other letters",
    { text: { format: { type: "json_schema", name: "a b", schema: {} } } },
    /^Invalid 'text\.format\.name': string does not match pattern\./
  ],
  ["a call without its output", { input: [user("a"), called] }, /No tool output found for function call call_1/],
  [
    "an output without its call",
    { input: [{ type: "function_call_output", call_id: "x", output: "y" }] },
    /No tool call found/
  ],
  [
    "a reasoning item it did not store",
    { input: [user("a"), { type: "reasoning", id: "rs_1", summary: [] }] },
    /^Item with id 'rs_1' not found\. Items are not persisted when `store` is set to false\./,
    404
  ],
  [
    "a message it did not store",
    { input: [{ ...user("a"), id: "msg_1" }] },
    /^Item with id 'msg_1' not found\. Items are not persisted/,
    404
  ],
  [
    "a call it did not store",
    { input: [user("a"), { ...called, id: "fc_1" }, { type: "function_call_output", call_id: "call_1", output: "y" }] },
    /^Item with id 'fc_1' not found\. Items are not persisted/,
    404
  ],
  [
    "what a library made of a call",
    { input: [user("a"), { ...called, parsed_arguments: {} }] },
    /^Unknown parameter: 'input\[1\]\.parsed_arguments'\.$/
  ],
  [
    "what a library made of a text",
    { input: [{ role: "assistant", content: [{ type: "output_text", text: "{}", annotations: [], parsed: {} }] }] },
    /^Unknown parameter: 'input\[0\]\.content\[0\]\.parsed'\.$/
  ],
  [
    "a forged reasoning item",
    { input: [user("a"), { type: "reasoning", summary: [], encrypted_content: "AAAA" }] },
    /could not be verified/
  ],
  ["an item that is none", { input: ["a"] }, /Supported values are: 'user'/],
  [
    "parameters whose type is no text",
    { tools: [{ ...flat[0], parameters: { type: { toString: 1 } } }] },
    /type: "object"', got 'type: \{"toString":1\}'/
  ],
  [
    "too many alternatives",
    { top_logprobs: 21, reasoning: { effort: "none" } },
    /'top_logprobs': integer above .+ <= 20, but got 21/
  ],
  ["a server tool", { tools: [{ type: "web_search" }] }, /Supported values are: 'function', 'custom', 'namespace'/],
  [
    "a nested tool",
    { tools: [{ type: "function", function: { name: "a" } }] },
    /Unknown parameter: 'tools\[0\].function'/
  ]
]

/** The required fields of a response (https://github.com/openresponses/openresponses, ResponseResource), as they come by default. */
const byDefault = {
  ...{ object: "response", error: null, incomplete_details: null, previous_response_id: null, instructions: null },
  ...{ background: false, frequency_penalty: 0, max_output_tokens: null, max_tool_calls: null, metadata: {} },
  ...{ parallel_tool_calls: true, presence_penalty: 0, prompt_cache_key: null, safety_identifier: null },
  ...{ temperature: 1, tool_choice: "auto", tools: [], top_logprobs: 0, top_p: 1 },
  ...{ truncation: "disabled", user: null, text: { format: { type: "text" }, verbosity: "medium" } }
}

layer(Sandbox.layer({ pace: 0 }))("simulated Responses", (it) => {
  it.effect("takes a PDF, and tools that the input brings", () =>
    Effect.gen(function* () {
      const file = { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` }
      const seen = yield* post(openai("responses"), responses({ input: [user([file])] }))
      assert.match(seen.text, /a PDF document of 15 bytes/)
      const brought = { type: "additional_tools", role: "developer", tools: flat }
      const asked = yield* post(
        openai("responses"),
        responses({ input: [brought, user("a")], tool_choice: { type: "function", name: "look_up" } })
      )
      assert.deepInclude(JSON.parse(asked.text).output.at(-1), { type: "function_call", name: "look_up" })
    })
  )

  it.effect("has every field of the API, whole and in the events of a stream", () =>
    Effect.gen(function* () {
      const whole = JSON.parse((yield* post(openai("responses"), responses())).text)
      const events = dataIn((yield* post(openai("responses"), responses({ stream: true }))).text)
      const ended = [whole, events.at(-1).response]
      const begun = events.flatMap(({ response, type }) => (/created|in_progress/.test(type) ? [response] : []))
      assert.lengthOf(begun, 2)
      for (const response of [...ended, ...begun]) {
        assert.deepInclude(response, byDefault)
        assert.isString(response.id)
        assert.isNumber(response.created_at)
        assert.isObject(response.reasoning)
      }
      for (const { completed_at, content_filters, created_at, service_tier, usage } of ended) {
        assert.strictEqual(service_tier, "default")
        assert.deepStrictEqual(
          content_filters.map(({ source_type }: { readonly source_type: string }) => source_type),
          ["prompt", "completion"]
        )
        assert.isAtLeast(completed_at, created_at)
        assert.isNumber(usage.output_tokens_details.reasoning_tokens)
      }
      for (const { completed_at, content_filters, service_tier, usage } of begun)
        assert.deepStrictEqual([completed_at, content_filters, service_tier, usage], [null, null, "auto", null])
      const cut = JSON.parse((yield* post(openai("responses"), responses({ input: "[sandbox: length]" }))).text)
      assert.deepStrictEqual([cut.status, cut.completed_at], ["incomplete", null])
    })
  )

  it.effect("repeats what was asked, and tools with all of their fields", () =>
    Effect.gen(function* () {
      const asked = {
        ...{ instructions: "Be kind.", max_output_tokens: 500, max_tool_calls: 3, metadata: { a: "b" }, store: false },
        ...{ safety_identifier: "s", prompt_cache_key: "p", user: "u", truncation: "auto", parallel_tool_calls: false }
      }
      const custom = { type: "custom", name: "c" }
      const space = { type: "namespace", name: "n", tools: [custom] }
      const body = responses({
        ...asked,
        tools: [...flat, { ...flat[0], name: "g", description: "G", strict: false }, custom, space]
      })
      const response = JSON.parse((yield* post(openai("responses"), body)).text)
      assert.deepInclude(response, asked)
      assert.deepStrictEqual(response.tools, [
        { description: null, strict: true, ...flat[0] },
        { ...flat[0], name: "g", description: "G", strict: false },
        { ...custom, format: { type: "text" } },
        { ...space, tools: [{ ...custom, format: { type: "text" } }] }
      ])
    })
  )

  it.effect("repeats the schema of an answer with all of its fields", () =>
    Effect.gen(function* () {
      const bare = { type: "json_schema", name: "n", schema: { type: "object", properties: {} } }
      const full = { ...bare, description: "N", strict: true, schema: { ...bare.schema, additionalProperties: false } }
      for (const [format, echoed] of [
        [bare, { description: null, strict: false, ...bare }],
        [full, full],
        [{ type: "json_object" }, { type: "json_object" }],
        [undefined, { type: "text" }]
      ]) {
        const body = responses({ input: "Hello as JSON", text: { verbosity: "low", format } })
        const { text } = JSON.parse((yield* post(openai("responses"), body)).text)
        assert.deepStrictEqual(text, { verbosity: "low", format: echoed })
      }
    })
  )

  it.effect("pads the pieces of a stream unless it is asked not to", () =>
    Effect.gen(function* () {
      const body = responses({ input: '[sandbox: tool=f args={"a":"0123456789"}]', tools: flat, stream: true })
      const of = (stream_options: object) =>
        post(openai("responses"), { ...body, stream_options }).pipe(
          Effect.map(({ text }) => dataIn(text).filter(({ type }) => type.endsWith(".delta")))
        )
      const padded = yield* of({})
      assert.isNotEmpty(padded)
      for (const { delta, obfuscation } of padded) assert.strictEqual((delta + obfuscation).length % 16, 0)
      const bare = yield* of({ include_obfuscation: false })
      assert.deepStrictEqual(
        bare.map(({ delta }) => delta),
        padded.map(({ delta }) => delta)
      )
      for (const event of bare) assert.notProperty(event, "obfuscation")
    })
  )

  for (const [what, over, message, status = 400] of refusedResponses) {
    it.effect(`refuses ${what}`, () =>
      Effect.gen(function* () {
        const got = yield* post(openai("responses"), responses(over))
        assert.strictEqual(got.status, status, got.text)
        assert.match(messageIn(got), message)
        const bound = /: (decimal|integer) (above max|below min)imum/.exec(got.text)
        if (bound) assert.include(got.text, `"${bound[1]}_${bound[2]?.replace(" ", "_")}_value"`)
      })
    )
  }

  it.effect("answers on Bedrock too, with probabilities where they are asked for", () =>
    Effect.gen(function* () {
      const body = {
        model: "us-gov.openai.gpt-5.6-terra",
        input: "[sandbox: text=Hi there]",
        tools: flat,
        reasoning: { effort: "none" },
        include: ["message.output_text.logprobs"],
        top_logprobs: 2
      }
      const got = yield* post(openai("responses", "bedrock"), body)
      const { model, output, content_filters } = JSON.parse(got.text)
      assert.strictEqual(model, body.model)
      assert.isUndefined(content_filters)
      const [part] = output[0].content
      const tokens = (list: ReadonlyArray<{ readonly token: string }>) => list.map(({ token }) => token)
      assert.strictEqual(tokens(part.logprobs).join(""), part.text)
      assert.deepStrictEqual(tokens(part.logprobs[0].top_logprobs), ["Hi ", "other0"])
      assert.strictEqual((yield* post(openai("responses", "bedrock"), { ...body, model: "gpt-5.1" })).status, 404)
    })
  )

  it.effect("summarizes its reasoning only where it is asked to", () =>
    Effect.gen(function* () {
      const body = responses({ reasoning: { effort: "low" }, stream: true })
      const [, , added, done] = dataIn((yield* post(openai("responses"), body)).text)
      assert.deepStrictEqual(
        [added.item.type, done.type, done.item],
        ["reasoning", "response.output_item.done", added.item]
      )
      assert.deepStrictEqual(done.item.summary, [])
    })
  )

  it.effect("fails in the stream where it is asked to", () =>
    Effect.gen(function* () {
      const body = responses({ input: "[sandbox: exception=failed after=2]", stream: true })
      const events = dataIn((yield* post(openai("responses"), body)).text)
      const { type, sequence_number, response } = events.at(-1)
      assert.deepStrictEqual([events.length, type, sequence_number], [3, "response.failed", 2])
      assert.deepStrictEqual([response.status, response.error.code], ["failed", "server_error"])
    })
  )

  it.effect("takes a choice of several tools", () =>
    Effect.gen(function* () {
      const choose = (mode: string) => ({ type: "allowed_tools", mode, tools: [{ type: "function", name: "look_up" }] })
      const tools = [{ ...flat[0], name: "say_hello", description: "hello" }, ...flat]
      const called = (mode: string) =>
        Effect.map(
          post(openai("responses"), responses({ input: "Say hello", tools, tool_choice: choose(mode) })),
          ({ json }) => json.output[0].name
        )
      // The other tool would fit better.
      assert.deepStrictEqual([yield* called("required"), yield* called("auto")], ["look_up", undefined])
    })
  )

  it.effect("is incomplete at a limit and after a filter", () =>
    Effect.gen(function* () {
      const cut = (yield* post(openai("responses"), responses({ max_output_tokens: 16 }))).json
      assert.deepStrictEqual([cut.status, cut.incomplete_details.reason], ["incomplete", "max_output_tokens"])
      const refusedBody = (yield* post(openai("responses"), responses({ input: "[sandbox: refuse]", stream: true })))
        .text
      const last = dataIn(refusedBody).at(-1)
      assert.deepStrictEqual(
        [last.type, last.response.incomplete_details.reason],
        ["response.incomplete", "content_filter"]
      )
    })
  )

  it.effect("calls tools of every kind, and reads their outputs", () =>
    Effect.gen(function* () {
      const custom = [{ type: "custom", name: "run_code", description: "Runs code" }]
      const got = (yield* post(openai("responses"), responses({ tools: custom, tool_choice: "required" }))).json
      assert.strictEqual(got.output[0].type, "custom_tool_call")
      for (const [type, field] of [
        ["local_shell", "action"],
        ["shell", "action"],
        ["apply_patch", "operation"]
      ] as const) {
        const tools = [{ type, ...(type === "shell" && { environment: { type: "local" } }) }]
        const ask = `[sandbox: tool=${type} args={"do":"it"}]`
        const [item] = (yield* post(openai("responses"), responses({ tools, input: ask }))).json.output
        assert.deepInclude(item, { type: `${type}_call`, status: "completed", [field]: { do: "it" } })
        const output = { type: `${type}_call_output`, call_id: item.call_id, output: "done" }
        const { id: _, ...call } = item
        const next = (yield* post(openai("responses"), responses({ tools, input: [user("a"), call, output] }))).json
        assert.include(next.output[0].content[0].text, `The tool ${type} answered: done.`)
      }
    })
  )

  // Typed clients decode these strictly: a field that is missing fails the whole reply.
  it.effect.each([
    ["local_shell", "action", { type: "exec", command: ["ls"], env: {} }],
    ["shell", "action", { commands: ["ls"], max_output_length: null, timeout_ms: null }],
    ["apply_patch", "operation", { type: "create_file", path: "sandbox.txt", diff: "+Hello" }]
  ] as const)("calls %s in the API's own form", ([type, field, call]) =>
    Effect.gen(function* () {
      const tools = [{ type, ...(type === "shell" && { environment: { type: "local" } }) }]
      const got = (yield* post(openai("responses"), responses({ tools, tool_choice: "required" }))).json
      assert.deepStrictEqual(got.output[0][field], call)
    })
  )
})
