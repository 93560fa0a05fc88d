import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { efforts } from "../../src/catalog/names.ts"
import { chunkWriter } from "../../src/surfaces/chatReply.ts"
import { adjustThinking } from "../../src/surfaces/messagesThinking.ts"
import { Adjusted } from "../../src/vendors/adjustments.ts"
import { sanitizeFilename } from "../../src/vendors/media.ts"
import { jsonFenceFilter, reasoningFilter } from "../../src/vendors/textFilters.ts"
import { isObject, type Json, type JsonObject, numberOf, objectOf } from "../../src/wire/json.ts"
import {
  azure,
  call,
  chunksOf,
  flash,
  folded,
  foldedAnswer,
  hear,
  hearStream,
  opus,
  oss,
  say,
  sonnet,
  sonnetBedrock,
  terra
} from "../vendors/support.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const few = <S extends Schema.Top>(item: S) => Schema.Array(item).check(Schema.isMaxLength(6))
const word = Schema.String.check(Schema.isMaxLength(12))

describe("the thinking of a messages body", () => {
  const arbitrary = {
    max_tokens: between(1, 40_000),
    budget: between(-10, 70_000),
    kind: Schema.Literals(["enabled", "adaptive", "disabled", "absent"]),
    choice: Schema.Literals(["auto", "any", "tool", "none", "absent"]),
    temperature: Schema.Boolean,
    interleaved: Schema.Boolean,
    bedrock: Schema.Boolean,
    counting: Schema.Boolean
  }
  const bodyOf = (given: { [K in keyof typeof arbitrary]: (typeof arbitrary)[K]["Type"] }): JsonObject => ({
    max_tokens: given.max_tokens,
    ...(given.kind === "absent"
      ? {}
      : { thinking: { type: given.kind, ...(given.kind === "enabled" ? { budget_tokens: given.budget } : {}) } }),
    ...(given.choice === "absent" ? {} : { tool_choice: { type: given.choice, name: "f" } }),
    ...(given.temperature ? { temperature: 0.5, top_p: 0.5, top_k: 5 } : {})
  })

  it.prop("is always one that the upstream takes, and adjusting again changes nothing", arbitrary, (given) => {
    const route = given.bedrock ? sonnetBedrock : sonnet
    const body = bodyOf(given)
    const before = structuredClone(body)
    const facts = {
      model: route.model,
      deployment: route.deployment,
      betas: given.interleaved ? ["interleaved-thinking-2025-05-14"] : [],
      counting: given.counting
    }
    const changes = new Adjusted()
    const adjusted = adjustThinking(body, facts, changes)
    expect(body).toEqual(before)
    expect([...changes].join(", ")).toMatch(/^[\x20-\x7e]*$/)
    const again = new Adjusted()
    expect(adjustThinking(adjusted, facts, again)).toEqual(adjusted)
    expect([...again]).toEqual([])

    const { thinking, tool_choice, ...rest } = adjusted
    const { type, budget_tokens } = objectOf(thinking)
    if (type !== "enabled") {
      expect(type).not.toBe("adaptive")
      expect({ ...rest, tool_choice }).toEqual({ ...before, thinking: undefined, tool_choice: before.tool_choice })
      return
    }
    const budget = numberOf(budget_tokens) ?? 0
    expect(budget).toBeGreaterThanOrEqual(1024)
    const honoured = given.counting || (given.interleaved && given.bedrock)
    if (!honoured) expect(budget).toBeLessThan(given.max_tokens)
    expect(rest).toEqual({ max_tokens: given.max_tokens })
    expect(["any", "tool"]).not.toContain(objectOf(tool_choice).type)
  })
})

it.prop(
  "a chat's budget is at least 1024 and below max_tokens",
  { max_tokens: between(1, 70_000), effort: Schema.Literals(efforts), set: Schema.Boolean },
  ({ max_tokens, effort, set }) => {
    const body = say(sonnet, { reasoning_effort: effort, ...(set ? { max_tokens } : {}) })
    const budget = objectOf(body.thinking).budget_tokens
    expect(budget === undefined).toBe(effort === "none" || (set && max_tokens <= 1024))
    if (budget === undefined) return
    expect(budget).toBeGreaterThanOrEqual(1024)
    expect(budget).toBeLessThan(numberOf(body.max_tokens) ?? 0)
  }
)

describe("reasoning tags", () => {
  const fragment = Schema.Literals([
    "<",
    "</",
    ">",
    "reasoning",
    "<reasoning>",
    "</reasoning>",
    "<reas",
    "oning>",
    "a",
    "é",
    " ",
    "\n"
  ])
  const filtered = (pieces: ReadonlyArray<string>) => {
    const filter = reasoningFilter()
    return pieces.map((piece) => filter.push(piece)).join("") + filter.end()
  }
  /** What the filter should do, said another way. */
  const plain = (text: string) => text.replace(/^<reasoning>(?:[\s\S]*?<\/reasoning>(?:[^\S\n]*\n)*|[\s\S]*$)/, "")

  const prefix = Schema.Literals(["", "<reasoning>", "<reasoning>a</reasoning>", "<reasoning></reasoning>\n"])
  it.prop("go, wherever the text is cut", { prefix, rest: Schema.Array(fragment) }, ({ prefix, rest }) => {
    const pieces = [prefix, ...rest]
    const whole = pieces.join("")
    const expected = plain(whole)
    expect(filtered(pieces)).toBe(expected)
    expect(filtered([whole])).toBe(expected)
    expect(filtered([...whole])).toBe(expected)
  })
})

describe("JSON fences", () => {
  const fragment = Schema.Literals(["`", "``", "```", "json", "\n", " ", "{}", "a"])
  const filtered = (pieces: ReadonlyArray<string>) => {
    const filter = jsonFenceFilter()
    return pieces.map((piece) => filter.push(piece)).join("") + filter.end()
  }
  it.prop(
    "go, wherever the text is cut",
    { fenced: Schema.Boolean, rest: Schema.Array(fragment) },
    ({ fenced, rest }) => {
      const pieces = fenced ? ["``", "`json\n", ...rest] : rest
      const whole = pieces.join("")
      expect(filtered(pieces)).toBe(filtered([whole]))
      expect(filtered([...whole])).toBe(filtered([whole]))
      if (!whole.trimStart().startsWith("```")) expect(filtered(pieces)).toBe(whole)
    }
  )
})

describe("streamed and unstreamed answers say the same", () => {
  const answer = {
    thought: word,
    texts: few(word),
    calls: few(Schema.Struct({ name: Schema.Literals(["f", "g"]), argument: word, pieces: few(between(0, 20)) }))
  }
  type Given = { [K in keyof typeof answer]: (typeof answer)[K]["Type"] }
  const same = (route: typeof azure, body: JsonObject, events: ReadonlyArray<Json>) => {
    const heard = folded(Result.getOrThrow(hearStream(route, events)))
    expect(heard).toEqual(foldedAnswer(hear(route, body)))
    return heard
  }
  /** A text cut at some places. */
  const cut = (text: string, places: ReadonlyArray<number>) => {
    const sorted = [0, ...places.filter((place) => place < text.length).sort((a, b) => a - b), text.length]
    return sorted.slice(1).map((end, index) => text.slice(sorted[index], end))
  }
  const args = (argument: string) => JSON.stringify({ a: argument })

  it.prop("Claude", answer, ({ thought, texts, calls }: Given) => {
    const thinking = { type: "thinking", thinking: thought, signature: "s" }
    const uses = calls.map(({ name, argument }, index) => ({
      type: "tool_use",
      id: `t${index}`,
      name,
      input: { a: argument }
    }))
    const block = (index: number, content_block: Json, deltas: ReadonlyArray<Json>): ReadonlyArray<Json> => [
      { type: "content_block_start", index, content_block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index }
    ]
    const heard = same(
      sonnet,
      {
        content: [thinking, { type: "text", text: texts.join("") }, ...uses],
        stop_reason: "end_turn",
        usage: { input_tokens: 3, output_tokens: 4 }
      },
      [
        { type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 } } },
        ...block(0, { ...thinking, thinking: "", signature: "" }, [
          ...[...thought].map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: "s" }
        ]),
        ...block(
          1,
          { type: "text", text: "" },
          texts.map((text) => ({ type: "text_delta", text }))
        ),
        ...calls.flatMap(({ argument, pieces }, index) =>
          block(
            index + 2,
            { ...uses[index], input: {} },
            cut(args(argument), pieces).map((partial_json) => ({ type: "input_json_delta", partial_json }))
          )
        ),
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 4 } },
        { type: "message_stop" }
      ]
    )
    expect(heard.text).toBe(texts.join(""))
    expect(heard.finishReason).toBe(calls.length > 0 ? "tool_calls" : "stop")
  })

  it.prop("Gemini", answer, ({ thought, texts, calls }: Given) => {
    const part = (parts: ReadonlyArray<Json>): JsonObject => ({ candidates: [{ content: { parts } }] })
    const uses = calls.map(({ name, argument }, index) => ({
      functionCall: { name, args: { a: argument } },
      ...(index === 0 ? { thoughtSignature: "s" } : {})
    }))
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 4 }
    const hidden = { text: thought, thought: true }
    same(
      flash,
      {
        candidates: [{ content: { parts: [hidden, { text: texts.join("") }, ...uses] }, finishReason: "STOP" }],
        usageMetadata
      },
      [
        part([hidden]),
        ...texts.map((text) => part([{ text }])),
        ...uses.map((use) => part([use])),
        { candidates: [{ finishReason: "STOP" }], usageMetadata }
      ]
    )
  })

  it.prop("GPT and gpt-oss", answer, ({ thought, texts, calls }: Given) => {
    const chunk = (delta: Json, finish_reason: string | null = null) => ({
      choices: [{ index: 0, delta, finish_reason }]
    })
    const uses = calls.map(({ name, argument }, index) => call(`id${"x".repeat(index)}`, name, args(argument)))
    const usage = { prompt_tokens: 3, completion_tokens: 4 }
    for (const route of [azure, oss]) {
      const reasoned = [`<reasoning>${thought.replaceAll("<", "")}`, "</reas", "oning>", ...texts]
      const said = route === oss ? reasoned : texts
      const heard = same(
        route,
        { choices: [{ message: { content: said.join(""), tool_calls: uses }, finish_reason: "stop" }], usage },
        [
          ...said.map((content) => chunk({ content })),
          ...calls.flatMap(({ argument, pieces }, index) => [
            chunk({
              tool_calls: [{ index, ...uses[index], function: { name: calls[index]?.name ?? "", arguments: "" } }]
            }),
            ...cut(args(argument), pieces).map((text) =>
              chunk({ tool_calls: [{ index, function: { arguments: text } }] })
            )
          ]),
          chunk({}, "stop"),
          { choices: [], usage },
          "[DONE]"
        ]
      )
      const text = texts.join("")
      expect(heard.text).toBe(route === oss ? text.replace(/^(?:[^\S\n]*\n)+/, "") : text)
    }
  })
})

it.prop(
  "GPT by the responses API says the same, whichever of its events are missing",
  {
    messages: few(Schema.Struct({ pieces: few(word), call: Schema.Boolean, whole: Schema.Boolean })),
    silent: Schema.Boolean
  },
  ({ messages, silent }) => {
    const items = messages.map(({ pieces, call }, at) =>
      call
        ? { type: "function_call", call_id: `call${at}`, name: "f", arguments: pieces.join("") }
        : { type: "message", role: "assistant", content: [{ type: "output_text", text: pieces.join("") }] }
    )
    const events = messages.flatMap(({ pieces, call, whole }, output_index): ReadonlyArray<Json> => {
      const item = items[output_index] ?? null
      const type = call ? "response.function_call_arguments.delta" : "response.output_text.delta"
      const deltas = pieces.map((delta) => ({ type, output_index, delta }))
      const begun = { type: "response.output_item.added", output_index, item: call ? { ...item, arguments: "" } : item }
      return [begun, ...(whole ? [] : deltas), { type: "response.output_item.done", output_index, item }]
    })
    const body = {
      object: "response",
      status: "completed",
      output: items,
      usage: { input_tokens: 3, output_tokens: 4 }
    }
    const said = [...(silent ? [] : events), { type: "response.completed", response: body }]
    const heard = Result.getOrThrow(hearStream(terra, said))
    expect(folded(heard)).toEqual(foldedAnswer(hear(terra, body)))
    const ends = heard.pieces.filter(({ type }) => type === "call-end")
    expect(ends).toHaveLength(messages.filter(({ call }) => call).length)
    for (let end = 0; end < said.length; end++) {
      expect(Result.isFailure(hearStream(terra, said.slice(0, end)))).toBe(true)
    }
  }
)

it.prop("the caller reads what the model wrote", { texts: Schema.Array(Schema.String) }, ({ texts }) => {
  const writer = chunkWriter({ id: "c", created: 1, model: "m:il2", includeUsage: false })
  const pieces = texts.map((text) => ({ type: "text", text }) as const)
  const sent = chunksOf(writer, pieces, { finishReason: "stop", usage: undefined })
  for (const data of sent) expect(data).not.toMatch(/[\r\n]/)
  const chunks = sent.map((data) => JSON.parse(data).choices[0])
  expect(chunks.at(-1).finish_reason).toBe("stop")
  expect(chunks.map((chunk) => chunk.delta.content ?? "").join("")).toBe(texts.join(""))
})

it.prop("file names are plain and short", { name: Schema.String, long: Schema.Boolean }, ({ name, long }) => {
  const clean = sanitizeFilename(long ? name.repeat(50) : name)
  expect(clean).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}/\\]/u)
  expect(clean.length).toBeGreaterThan(0)
  expect(clean.length).toBeLessThanOrEqual(120)
})

describe("conversations", () => {
  const message = Schema.Union([
    Schema.Struct({ role: Schema.Literal("system"), content: word }),
    Schema.Struct({ role: Schema.Literal("user"), content: word }),
    Schema.Struct({ role: Schema.Literal("assistant"), content: word }),
    Schema.Struct({ role: Schema.Literal("calls"), ids: few(word) })
  ])
  /** Turns in an order that callers could send: every call is answered, in reverse. */
  const conversation = (given: ReadonlyArray<typeof message.Type>): ReadonlyArray<object> => [
    { role: "user", content: "hi" },
    ...given.flatMap((message): ReadonlyArray<object> => {
      if (message.role !== "calls") return [message]
      const ids = [...new Set(message.ids)]
      if (ids.length === 0) return []
      return [
        { role: "assistant", tool_calls: ids.map((id, index) => call(id, `f${index}`, "{}")) },
        ...ids.map((id) => ({ role: "tool", tool_call_id: id, content: id })).reverse()
      ]
    })
  ]
  const blocks = (turn: Json | undefined, field: string) => [objectOf(turn)[field] ?? []].flat().filter(isObject)

  it.prop(
    "Claude's turns alternate, are not empty, and pair calls with results",
    { given: few(message) },
    ({ given }) => {
      for (const route of [sonnet, opus]) {
        const turns = [say(route, { messages: conversation(given) }).messages ?? []]
          .flat()
          .map((turn) => objectOf(turn))
        for (const [index, turn] of turns.entries()) {
          const content = blocks(turn, "content")
          expect(turn.role).toBe(index % 2 === 0 ? "user" : "assistant")
          expect(content.length).toBeGreaterThan(0)
          const used = content.filter((block) => block.type === "tool_use").map((block) => block.id)
          const results = blocks(turns[index + 1], "content").filter((block) => block.type === "tool_result")
          expect(new Set(results.map((block) => block.tool_use_id))).toEqual(new Set(used))
          for (const id of used) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/)
          const first = content.findIndex((block) => block.type !== "tool_result")
          expect(content.slice(first < 0 ? content.length : first).some((block) => block.type === "tool_result")).toBe(
            false
          )
        }
      }
    }
  )

  it.prop("Gemini's results stand right behind their calls, in their order", { given: few(message) }, ({ given }) => {
    const contents = [say(flash, { messages: conversation(given) }).contents ?? []].flat()
    const names = (content: Json | undefined, field: string) =>
      blocks(content, "parts").flatMap((part) => (field in part ? [objectOf(part[field]).name] : []))
    for (const [index, content] of contents.entries()) {
      const called = names(content, "functionCall")
      if (called.length > 0) expect(names(contents[index + 1], "functionResponse")).toEqual(called)
      expect(blocks(content, "parts").length).toBeGreaterThan(0)
    }
  })
})
