import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { argumentsOf, fittingTool, planOf } from "../../src/sandbox/answer.ts"
import { replyOf } from "../../src/sandbox/claude/reply.ts"
import { noDirectives, readDirectives } from "../../src/sandbox/directives.ts"
import { isObject, type JsonObject, objectOf } from "../../src/sandbox/json.ts"
import { fileOf, sniff } from "../../src/sandbox/media.ts"
import { schemaSample } from "../../src/sandbox/schemaSample.ts"
import { isSigned, signThinking } from "../../src/sandbox/signature.ts"
import { countTokens, fragments, words } from "../../src/sandbox/tokens.ts"
import { type Message, readTurn, type Turn } from "../../src/sandbox/turn.ts"
import { processorTime } from "../support/processorTime.ts"

const read = (...messages: ReadonlyArray<Message>): Turn => {
  const asked = { model: "m", instructions: "", tools: [], choice: "auto", format: undefined, thinks: false } as const
  return readTurn(messages, { ...asked, limit: undefined, stops: [] }).turn
}

const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))

describe("tokens", () => {
  it.prop("words and fragments join to the text, and tokens add up over words", { text: Schema.String }, ({ text }) => {
    assert.strictEqual(words(text).join(""), text)
    assert.strictEqual(fragments(text).join(""), text)
    assert.strictEqual(
      words(text).reduce((sum, word) => sum + countTokens(word), 0),
      countTokens(text)
    )
  })

  it("counts short words as one", () => {
    assert.strictEqual(countTokens("word ".repeat(8192)), 8192)
    assert.strictEqual(countTokens("A unbelievable 1234!"), 1 + 2 + 2 + 1)
  })
})

describe("directives", () => {
  it.prop(
    "reads any object as arguments, and leaves the rest of the text",
    { args: Schema.Record(Schema.String, Schema.Json) },
    ({ args }) => {
      const read = readDirectives(`Please [sandbox: tool=fetch_it args=${JSON.stringify(args)}] now`)
      assert.deepEqual(read.tools, [{ name: "fetch_it", json: JSON.stringify(args) }])
      assert.strictEqual(read.rest, "Please  now")
    }
  )

  it.prop("leaves text without directives alone", { text: Schema.String }, ({ text }) => {
    assert.strictEqual(readDirectives(text.replaceAll("[", "(")).rest, text.replaceAll("[", "(").trim())
  })

  it("reads every kind", () => {
    const read = readDirectives(
      '[sandbox: status=429 retry-after=7] [sandbox: delay=250ms][sandbox: cut after=5] [sandbox: exception=x after=2] [sandbox: text="a\\nb"] [sandbox: refuse] rest'
    )
    assert.deepStrictEqual(read.status, { code: 429, retryAfter: "7" })
    assert.deepStrictEqual([read.delay, read.cut, read.stall, read.text], [250, 5, undefined, "a\nb"])
    assert.deepStrictEqual(read.exception, { name: "x", after: 2 })
    assert.isTrue(read.flags.has("refuse"))
    assert.strictEqual(read.rest, "rest")
    assert.strictEqual(readDirectives("[sandbox: text=plain words, as they are]").text, "plain words, as they are")
    assert.strictEqual(readDirectives("[sandbox: tool=x args={broken]").tools[0]?.json, "{broken")
    const wrong = readDirectives(
      "[sandbox: status=abc] [sandbox: status=99] [sandbox: events=many] [sandbox: cut after=x]"
    )
    assert.deepStrictEqual([wrong.status, wrong.events, wrong.cut], [undefined, undefined, 0])
    assert.deepStrictEqual(wrong.unusable, ["status=abc", "status=99", "events=many", "after=x"])
    const nested = readDirectives("[sandbox: text=see [sandbox: refuse] here]")
    assert.deepStrictEqual([nested.text, [...nested.flags]], ["see [sandbox: refuse] here", ["text"]])
    assert.strictEqual(readDirectives("[sandbox: never closed").rest, "[sandbox: never closed")
  })

  it("names in its answer what it ignores", () => {
    const text = (prompt: string) => planOf(turn({ directives: readDirectives(prompt) })).text
    assert.notInclude(text("[sandbox: delay=1.5s]"), "directive")
    for (const field of ["statu=429", "delay=2m", "cut=5", "constructor", "refused"])
      assert.include(text(`[sandbox: ${field}]`), `I ignore ${field} in a directive`)
  })

  it("is linear in the text", () => {
    const time = (size: number) => processorTime(() => readDirectives("[sandbox: ".repeat(size)))
    time(1000)
    assert.isBelow(time(40_000), 1000)
  })
})

describe("schema samples", () => {
  const cases: ReadonlyArray<Schema.Codec<unknown, unknown>> = [
    Schema.Struct({ city: Schema.String, days: Schema.Int, exact: Schema.Boolean }),
    Schema.Struct({ items: Schema.Array(Schema.Struct({ id: Schema.Literals(["a", "b"]), size: Schema.Finite })) }),
    Schema.Union([Schema.Struct({ kind: Schema.Literal("x") }), Schema.Struct({ kind: Schema.Literal("y") })]),
    Schema.Struct({ maybe: Schema.NullOr(Schema.String), later: Schema.optionalKey(Schema.Int) }),
    Schema.Struct({ level: Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 5 })) })
  ]

  for (const [index, schema] of cases.entries()) {
    it.prop(`satisfy their schema (${index})`, { prompt: Schema.String }, ({ prompt }) => {
      const { schema: root, definitions } = Schema.toJsonSchemaDocument(schema)
      const sample = schemaSample({ ...root, $defs: definitions } as JsonObject, prompt)
      assert.isTrue(Result.isSuccess(Schema.decodeUnknownResult(schema)(sample)), JSON.stringify(sample))
    })
  }

  it("take values from the prompt", () => {
    const properties = {
      location: { type: "string" },
      unit: { enum: ["celsius", "fahrenheit"] },
      days: { type: "integer", maximum: 5 },
      url: { type: "string" },
      when: { type: "string", format: "date" }
    }
    const sample = schemaSample(
      { type: "object", properties },
      "What was the weather in New York on 2026-03-04, in Fahrenheit, for 9 days? See https://example.gov/x"
    )
    assert.deepStrictEqual(sample, {
      location: "New York",
      unit: "fahrenheit",
      days: 5,
      url: "https://example.gov/x",
      when: "2026-03-04"
    })
  })

  it("have the formats of strings, with what the prompt says where it says it", () => {
    const formats = ["date", "time", "date-time", "email", "uri", "uuid", "ipv4"]
    const properties = Object.fromEntries(formats.map((format) => [format, { type: "string", format }]))
    const values = (prompt: string) => Object.values(objectOf(schemaSample({ type: "object", properties }, prompt)))
    const uuid = "00000000-0000-4000-8000-000000000000"
    assert.deepStrictEqual(values("When?"), [
      ...["2026-01-31", "12:00:00Z", "2026-01-31T12:00:00Z"],
      ...["someone@example.gov", "urn:example:sandbox", uuid, "192.0.2.1"]
    ])
    assert.deepStrictEqual(values("Mail ann@example.gov on 2026-03-04 about https://example.gov/x"), [
      ...["2026-03-04", "12:00:00Z", "2026-03-04T12:00:00Z"],
      ...["ann@example.gov", "https://example.gov/x", uuid, "192.0.2.1"]
    ])
  })

  it("are the prompt where a schema says nothing", () => {
    const schema = { properties: { list: { type: "array" }, lost: { $ref: "#/$defs/none" } } }
    assert.deepStrictEqual(schemaSample(schema, "x"), { list: ["x"], lost: "x" })
  })

  it("take what names and keywords of a schema ask for", () => {
    const schema: JsonObject = {
      properties: {
        recipient: { type: "string", description: "whom to mail" },
        day: { type: ["null", "string"] },
        kind: { const: "mail" },
        both: { allOf: [{ properties: { a: { type: "integer" } } }, { properties: { b: { type: "boolean" } } }] },
        nothing: { type: "null" },
        anything: true
      }
    }
    const prompt = "Mail 3 pages to ann@example.gov on 2026-03-04"
    assert.deepStrictEqual(schemaSample(schema, prompt), {
      recipient: "ann@example.gov",
      day: "2026-03-04",
      kind: "mail",
      both: { a: 3, b: true },
      nothing: null,
      anything: prompt
    })
  })

  it("are made in time, and are of a size, that do not grow with the references to a part", () => {
    const large = "x".repeat(2_000_000)
    const parts: ReadonlyArray<JsonObject> = [
      { enum: [large] },
      { description: large },
      { const: large },
      { minLength: 50_000 }
    ]
    for (const part of parts) {
      const properties = Object.fromEntries(
        Array.from({ length: 400 }, (_, at) => [`k${at}`, { $ref: "#/$defs/part" }])
      )
      const sample = () => schemaSample({ properties, $defs: { part } }, "x")
      assert.isBelow(processorTime(sample), 300)
      assert.isBelow(JSON.stringify(sample()).length, 3_000_000)
    }
  })

  it("have what a schema says beside its branches, parts and references", () => {
    const text = { type: "string" }
    const own = { type: "object", properties: { a: text, b: text } }
    const tuple = [{ type: "integer" }, { type: "boolean" }]
    const cases: ReadonlyArray<readonly [JsonObject, unknown]> = [
      [
        { ...own, required: ["a"], allOf: [{ properties: { c: text }, required: ["c"] }] },
        { a: "x", c: "x" }
      ],
      [{ ...own, anyOf: [{ required: ["b"] }, { required: ["a"] }] }, { b: "x" }],
      [{ $ref: "#/$defs/part", required: ["a"], $defs: { part: own } }, { a: "x" }],
      [{ allOf: [text, { minLength: 3 }] }, "xxx"],
      [{ anyOf: [{ type: "null" }, text], default: null }, "x"],
      [{ type: "array", items: text, maxItems: 0 }, []],
      [{ type: "array", items: text, minItems: 3, maxItems: 3 }, ["x", "x", "x"]],
      [{ prefixItems: tuple, items: false }, [1, true]],
      [{ type: "array", items: tuple }, [1, true]]
    ]
    for (const [schema, value] of cases) assert.deepStrictEqual(schemaSample(schema, "x"), value)
  })

  it("end on a schema that refers to itself", () => {
    const node = { type: "object", properties: { next: { $ref: "#/$defs/node" } } }
    assert.isTrue(isObject(schemaSample({ $ref: "#/$defs/node", $defs: { node } }, "x")))
  })
})

describe("files", () => {
  it.each([
    ["image/png", "89504e470d0a1a0a", "a PNG image of 1.2 kB"],
    ["image/jpeg", "ffd8ffe0", "a JPEG image of 1.2 kB"],
    ["image/gif", "474946383961", "a GIF image of 1.2 kB"],
    ["image/gif", "474946383761", "a GIF image of 1.2 kB"],
    ["image/webp", "524946460102030457454250", "a WEBP image of 1.2 kB"],
    ["application/pdf", "255044462d", "a PDF document of 1.2 kB"],
    ["", "524946460102030457415645", undefined]
  ])("are %s by their first bytes, %s", (type, head, phrase) => {
    const bytes = Buffer.concat([Buffer.from(head, "hex"), Buffer.alloc(1200)]).subarray(0, 1200)
    assert.deepStrictEqual(sniff(bytes.toString("base64")), { valid: true, length: 1200, type })
    if (phrase !== undefined) assert.strictEqual(fileOf(type, 1200).media, phrase)
  })
})

describe("results of tools", () => {
  it.each([
    [null, ""],
    [undefined, ""],
    [["a", { type: "text", text: "b" }, { type: "image" }, {}], "a b [image] [data]"],
    [{ output: "a" }, "a"],
    [{ result: ["a", null] }, "a "],
    [{ temperature: 5 }, '{"temperature":5}']
  ])("%j is read as %j", (content, text) => {
    const { results } = read({ role: "user", parts: [{ result: { id: "1", content } }] })
    assert.deepStrictEqual(results, [{ name: "", content: text }])
  })
})

describe("thinking signatures", () => {
  it.prop("hold for the exact text only", { text: Schema.String, seed: Schema.String }, ({ text, seed }) => {
    const signature = signThinking(text, seed)
    assert.isTrue(isSigned(text, signature))
    assert.isFalse(isSigned(`${text} `, signature))
    assert.isFalse(
      isSigned(
        text,
        signature.replace(/^./, (sign) => (sign === "A" ? "B" : "A"))
      )
    )
    assert.isFalse(isSigned(text, signature.slice(1)))
  })
})

const turn = (over: Partial<Turn>): Turn => ({
  model: "m",
  prompt: "What is a lighthouse?",
  instructions: "",
  turns: 1,
  said: "",
  media: [],
  results: [],
  tools: [],
  choice: "auto",
  format: undefined,
  fenced: false,
  begun: "",
  thinks: false,
  limit: undefined,
  stops: [],
  directives: noDirectives,
  ...over
})

const tool = (name: string, description: string) => ({
  name,
  description,
  schema: { type: "object", properties: { q: { type: "string" } } }
})

describe("answers", () => {
  it("call the tool that fits, and none when none does", () => {
    const tools = [tool("send_mail", "Sends a letter"), tool("searchFlights", "Finds flights between airports")]
    assert.strictEqual(fittingTool(tools, "Any flights to Rome?")?.name, "searchFlights")
    assert.strictEqual(fittingTool(tools, "Is there an airport in Rome?")?.name, "searchFlights")
    assert.isUndefined(fittingTool(tools, "What is a lighthouse?"))
    const words = ["ping", "news", "dates", "bring"].map((word) => tool(word, ""))
    for (const { name } of words) assert.strictEqual(fittingTool(words, `Any ${name} today?`)?.name, name)
    assert.strictEqual(fittingTool(words, "A date, please")?.name, "dates")
    assert.deepStrictEqual(planOf(turn({ tools })).calls, [])
    assert.strictEqual(planOf(turn({ tools, choice: "required" })).calls[0]?.name, "send_mail")
    const results = [{ name: "searchFlights", content: "none" }]
    const said = "Calling tools:\n[{'name': 'searchFlights', 'arguments': {}}]"
    for (const over of [
      { prompt: "Any flights?", results },
      { prompt: "Hello", results },
      { prompt: "Flights: 2", said }
    ]) {
      const finishing = turn({ tools: [...tools, tool("finish", "")], choice: "required", ...over })
      assert.strictEqual(planOf(finishing).calls[0]?.name, "finish", "agents end a turn by a tool behind the others")
    }
    const again = turn({
      tools: [...tools, tool("finish", "")],
      choice: "required",
      prompt: "Flights?",
      said: "searchFlights found some."
    })
    assert.strictEqual(planOf(again).calls[0]?.name, "searchFlights")
    assert.strictEqual(planOf(turn({ tools, choice: { name: "searchFlights" } })).calls[0]?.name, "searchFlights")
    assert.deepStrictEqual(planOf(turn({ tools, choice: "none", prompt: "Any flights?" })).calls, [])
    for (const asked of ["Do NOT use any tools.", "Don't call tools.", "Answer without using a tool."]) {
      const { calls, text } = planOf(turn({ tools, prompt: `Summarize what you found of flights. ${asked}` }))
      assert.deepStrictEqual(calls, [])
      assert.isNotEmpty(text)
    }
  })

  it("are about what was asked, not about an agent's reminders", () => {
    const reminder = "<system-reminder>\nSearch flights with care.\n</system-reminder>"
    const tools = [tool("searchFlights", "Finds flights")]
    const said = (text: string) => planOf({ ...read({ role: "user", parts: [{ text }] }), tools }).text
    assert.match(said(`${reminder}\nWhat is a fjord?${reminder}`), /^You asked about a fjord\./)
    assert.match(said(`${reminder}Why is the sky blue?`), /^You asked about "Why is the sky blue"\./)
    assert.notInclude(said("Hi <system-reminder> never closed"), "closed")
    const result = { id: "1", content: `None.${reminder}` }
    assert.notInclude(planOf(read({ role: "user", parts: [{ result }] })).text, "care")
    assert.match(said("<system-reminder>Return only JSON.</system-reminder>Hi"), /^You asked about "Hi"\./)
  })

  it("are a JSON object where any will do, also where a system message asks for it", () => {
    const { format } = read({ role: "system", parts: [{ text: "Answer with one JSON object." }] })
    assert.strictEqual(format, "json")
    assert.match(JSON.parse(planOf(turn({ format })).text).answer, /^You asked about a lighthouse\./)
  })

  it("speak about a tool's result instead of calling again", () => {
    const plan = planOf(
      turn({ tools: [tool("lighthouse", "")], results: [{ name: "lighthouse", content: "It glows" }] })
    )
    assert.deepStrictEqual(plan.calls, [])
    assert.match(plan.text, /lighthouse answered: It glows/)
  })

  it("stop at the first stop sequence and at the limit", () => {
    const said = { directives: readDirectives("[sandbox: text=one two three four]") }
    assert.deepStrictEqual(planOf(turn({ ...said, stops: ["four", " three"] })).sequence, " three")
    assert.strictEqual(planOf(turn({ ...said, stops: [" three"] })).text, "one two")
    const cut = planOf(turn({ ...said, limit: 3 }))
    assert.deepStrictEqual([cut.text, cut.stop, cut.outputTokens], ["one two three ", "length", 3])
  })

  it("say as many words as asked, each in a piece of its own", () => {
    const plan = planOf(turn({ directives: readDirectives("[sandbox: events=2000]"), limit: 2000 }))
    const pieces = words(plan.text)
    assert.deepStrictEqual([pieces.length, new Set(pieces).size, plan.stop], [2000, 2000, "end"])
  })

  it.prop(
    "never use more than the limit, and stream what they say whole",
    { limit: Small, thinks: Schema.Boolean, calls: Schema.Boolean },
    (given) => {
      const asked = readDirectives(
        given.calls ? '[sandbox: text=Hello there] [sandbox: tool=a args={"x":[1,2,3]}] [sandbox: tool=b]' : ""
      )
      const request = {
        turn: turn({ limit: given.limit, thinks: given.thinks, directives: asked }),
        inputTokens: 5,
        showsThinking: true,
        ...{ tag: "t", model: "m", seed: "s" }
      }
      const plan = planOf(request.turn)
      const said = countTokens(plan.thinking) + countTokens(plan.text)
      assert.isAtMost(said, plan.outputTokens)
      assert.isAtMost(plan.outputTokens, given.limit)
      const { message, events } = replyOf(plan, request)
      const content: Array<Record<string, unknown>> = []
      let json = ""
      for (const data of events()) {
        const delta = isObject(data.delta) ? data.delta : {}
        const last = content.at(-1)
        if (data.type === "content_block_start") {
          content.push({ ...(isObject(data.content_block) ? data.content_block : {}) })
          json = ""
        } else if (data.type === "content_block_delta" && last !== undefined) {
          json += typeof delta.partial_json === "string" ? delta.partial_json : ""
          if (delta.type === "input_json_delta") last.input = argumentsOf(json === "" ? "{}" : json)
          else
            for (const name of ["text", "thinking", "signature"])
              if (delta[name] !== undefined) last[name] = `${last[name]}${delta[name]}`
        }
      }
      assert.deepEqual<unknown>(content, message.content)
    }
  )
})
