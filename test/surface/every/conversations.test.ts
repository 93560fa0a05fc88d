/**
 * Conversations at random, with every model: a stream says what the whole reply says, a client that builds it from its events can send
 * either back, and the cloud takes it.
 */
import { assert, describe, it } from "@effect/vitest"
import catalog from "../../../src/catalog/catalog.json" with { type: "json" }
import { chatAccumulator, messagesAccumulator, responsesAccumulator } from "../../../src/client/accumulate.ts"
import { PNG } from "../../sandbox/support.ts"
import { makeRandom } from "../../support/generate.ts"
import { eventsIn, post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()
const seed = 20260101
/** Of each model; each has others. */
const count = 3
type Json = ReturnType<typeof JSON.parse>

const makeDice = (model: string) => {
  const random = makeRandom(seed + [...model].reduce((sum, letter) => 31 * sum + (letter.codePointAt(0) ?? 0), 0))
  const pick = (...values: ReadonlyArray<unknown>): Json => values[Math.floor(random() * values.length)]
  /** The field, with one of these values or not at all. */
  const maybe = (name: string, ...values: ReadonlyArray<unknown>) =>
    pick(true, false) ? { [name]: pick(...values) } : {}
  const text = () =>
    `${pick("weather", "lookup", "🌍 é", "a\nb", "</reasoning> ```json", "{}")} ${pick("", "2020", "STOP")} hi`
  const directive = () =>
    pick(
      "",
      "[sandbox: interleaved]",
      "[sandbox: redacted]",
      "[sandbox: cached=5]",
      "[sandbox: length]",
      "[sandbox: refuse]",
      "[sandbox: text=one STOP two  three]",
      '[sandbox: text="```json\\n{\\"a\\": [1, 2]}\\n```"]',
      '[sandbox: tool=weather args={"city":"Paris","10":1.0,"2":3}] [sandbox: tool=weather args={"city":"Rome"}]',
      `[sandbox: length] [sandbox: tool=weather args={"city":"${"long ".repeat(60)}"}]`
    )
  return { pick, maybe, text, said: () => `${text()} ${directive()}` }
}
type Dice = ReturnType<typeof makeDice>

const schema = { type: "object", properties: { city: { type: "string" }, "10": {}, "2": {} } }

/** A surface: requests at random, its reply of events, and what is sent back of a reply. */
interface Asks {
  readonly path: string
  readonly models: ReadonlyArray<string>
  readonly make: (dice: Dice, model: string) => Json
  readonly build: (events: ReadonlyArray<Json>) => Json
  readonly next: (request: Json, reply: Json) => Json
  /** What a reply says: nothing of IDs, signatures and what a vendor's whole reply says of a call that was cut. */
  readonly said: (reply: Json) => Json
}

const accumulated =
  (make: () => { readonly add: (event: Json) => void; readonly final: () => unknown }) =>
  (events: ReadonlyArray<Json>) => {
    const { add, final } = make()
    for (const event of events) add(event)
    return final()
  }

const unstable = new Set([
  "id",
  "call_id",
  "item_id",
  "signature",
  "thought_signature",
  "data",
  "created",
  "created_at",
  "system_fingerprint"
])
const stable = (value: Json): Json =>
  JSON.parse(JSON.stringify(value, (key, inner) => (unstable.has(key) ? undefined : inner)))

/** Every model on each of its clouds. */
const modelsOf = (family: (name: string) => boolean): ReadonlyArray<string> =>
  catalog.models
    .filter((model) => family(model.family))
    .flatMap(({ id, deployments }) =>
      deployments.map(({ authorization }) => `${id}:${"itar" in authorization ? "itar" : authorization.impact}`)
    )

const chat: Asks = {
  path: "/v1/chat/completions",
  models: modelsOf((family) => family !== "embedding"),
  make: ({ pick, maybe, said, text }, model) => {
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } }
    const call = (id: string) => ({
      id,
      type: "function",
      function: { name: "weather", arguments: pick("{}", "", '{"a": "h', "[]") }
    })
    const loop = [
      {
        role: "assistant",
        content: pick("", null, "I look."),
        tool_calls: [call("call_0"), call(pick("call_0", "call 1"))]
      },
      { role: "tool", tool_call_id: "call_0", content: pick("ok", "", '{"$ref":"#/a","10":1}') }
    ]
    const results =
      loop[0]?.tool_calls?.slice(1).map(({ id }) => ({ role: "tool", tool_call_id: id, content: "late" })) ?? []
    const content = said()
    return {
      model,
      messages: [
        ...pick([], [{ role: pick("system", "developer"), content: text() }]),
        { role: "user", content: text() },
        ...pick([], [...loop, ...results], [{ role: "assistant", content: text() }]),
        {
          role: "user",
          content: model.startsWith("gpt-oss") ? content : pick(content, [{ type: "text", text: content }, image])
        }
      ],
      ...maybe("tools", [
        {
          type: "function",
          function: { name: "weather", parameters: pick(schema, { type: "object", properties: {} }) }
        }
      ]),
      ...maybe("reasoning_effort", "none", "low", "medium", "high", "xhigh"),
      ...maybe("max_tokens", 600, 1025, 5000, 1_000_000),
      ...maybe("temperature", 0, 1.5),
      ...maybe("user", "u@example.gov"),
      ...maybe("response_format", { type: "text" }, { type: "json_schema", json_schema: { name: "n", schema } }),
      stream_options: { include_usage: true }
    }
  },
  build: accumulated(chatAccumulator),
  next: (request, { choices }) => {
    const [{ message }] = choices
    const results = (message.tool_calls ?? []).map(({ id }: Json) => ({
      role: "tool",
      tool_call_id: id,
      content: "done"
    }))
    return {
      ...request,
      messages: [...request.messages, message, ...(results.length > 0 ? results : [{ role: "user", content: "go on" }])]
    }
  },
  said: ({ choices, usage }) => {
    const [{ finish_reason, message }] = choices
    const calls = (message.tool_calls ?? []).map((call: Json) =>
      finish_reason === "length" ? call.function.name : call
    )
    const { annotations: _, refusal, tool_calls: __, content, ...rest } = message
    return { ...rest, content: content ?? "", refusal: refusal ?? null, calls, finish_reason, usage }
  }
}

const messages: Asks = {
  path: "/v1/messages",
  models: modelsOf((family) => family === "claude"),
  make: ({ pick, maybe, said, text }, model) => ({
    model,
    max_tokens: pick(300, 2048, 20_000),
    messages: [
      { role: "user", content: text() },
      ...pick([], [{ role: "assistant", content: text() }]),
      { role: "user", content: pick(said(), [{ type: "text", text: said(), cache_control: { type: "ephemeral" } }]) }
    ],
    ...maybe("tools", [{ name: "weather", input_schema: schema }]),
    ...maybe("thinking", { type: "adaptive" }, { type: "enabled", budget_tokens: 32_000 }, { type: "disabled" }),
    ...maybe("system", "Be brief.", [{ type: "text", text: "Be brief." }]),
    ...maybe("temperature", 1),
    ...maybe("cache_control", { type: "ephemeral" })
  }),
  build: accumulated(messagesAccumulator),
  next: (request, { content }) => {
    const calls = content.filter(({ type }: Json) => type === "tool_use")
    const results = calls.map(({ id }: Json) => ({ type: "tool_result", tool_use_id: id, content: "done" }))
    const user = { role: "user", content: results.length > 0 ? results : "go on" }
    return { ...request, messages: [...request.messages, { role: "assistant", content }, user] }
  },
  said: ({ content, ...reply }) => ({
    ...reply,
    content: content.map((block: Json) => (reply.stop_reason === "max_tokens" ? { ...block, input: 0 } : block))
  })
}

const responses: Asks = {
  path: "/v1/responses",
  models: ["gpt-5.1:il5"],
  make: ({ pick, maybe, said, text }, model) => ({
    model,
    input: [
      { role: "user", content: text() },
      { role: "user", content: pick(said(), [{ type: "input_text", text: said() }]) }
    ],
    ...maybe("tools", [{ type: "function", name: "weather", parameters: schema, strict: false }]),
    ...maybe("reasoning", { effort: "none" }, { effort: "high", summary: "auto" }),
    ...maybe("instructions", "Be brief."),
    ...maybe("max_output_tokens", 5000)
  }),
  build: accumulated(responsesAccumulator),
  next: (request, { output }) => {
    const calls = output.filter(({ type }: Json) => type === "function_call")
    const results = calls.map(({ call_id }: Json) => ({ type: "function_call_output", call_id, output: "done" }))
    return {
      ...request,
      input: [...request.input, ...output, ...(results.length > 0 ? results : [{ role: "user", content: "go on" }])]
    }
  },
  said: ({ completed_at: _, ...reply }) => reply
}

describe.each([chat, messages, responses])("$path", ({ build, make, models, next, path, said }) => {
  const ask = async (body: Json) => {
    const got = await post(gateway.url + path, body)
    assert.strictEqual(got.status, 200, `${got.text} to ${JSON.stringify(body)}`)
    return got
  }
  it.each(models)("%s", async (model) => {
    const dice = makeDice(model)
    for (let n = 0; n < count; n++) {
      const request = make(dice, model)
      const shown = JSON.stringify(request)
      const whole = await ask(request)
      const streamed = await ask({ ...request, stream: true })
      const built = build(eventsIn(streamed.text).flatMap(({ json }) => (typeof json === "object" ? [json] : [])))
      assert.deepStrictEqual(stable(said(built)), stable(said(whole.json)), shown)
      for (const name of ["x-gateway-adjusted", "x-gateway-thinking-adjusted"])
        assert.strictEqual(streamed.headers.get(name), whole.headers.get(name), shown)
      for (const reply of [whole.json, built]) await ask(next(request, reply))
    }
  })
})
