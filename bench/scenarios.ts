/** Everything that is measured: who is asked what, against which yardstick, and what the gateway aims at. */
import type { Job } from "./load.ts"
import type { Pace } from "./upstream.ts"

/** `upstream` is the fake cloud without anything in between; `traced` is the gateway that exports traces. */
export type Subject = "upstream" | "proxy" | "gateway" | "traced" | "portkey"

export type Call = Pick<Job, "path" | "body" | "fan"> & { readonly headers?: Readonly<Record<string, string>> }

export interface Aim {
  readonly subject: Subject
  readonly against: Subject
  /** A rate or a wall time as a share of the other's; `added` is milliseconds to the first event on top of the other's. */
  readonly metric: "req/s" | "events/s" | "wall" | "added"
  readonly atLeast?: number
  readonly atMost?: number
  /** Where the aim holds; everywhere when absent. */
  readonly callers?: number
}

export interface Scenario {
  readonly name: string
  readonly title: string
  readonly pace: Pace
  /** Whether the reply is a stream, whose every text event must arrive. */
  readonly stream: boolean
  /** Who is asked what; the first is the yardstick. */
  readonly calls: Partial<Record<Subject, Call>>
  readonly aims: ReadonlyArray<Aim>
  /** Milliseconds one operation takes by design, where that is long beside a round. */
  readonly span?: number
  /** Numbers of callers, where the usual ones make no sense. */
  readonly callers?: ReadonlyArray<number>
}

const question = "Summarise the water levels along the river for the last week, and say which gauges need a visit."
const context =
  "You are an assistant for a hydrology office. Answer from the figures you are given and nothing else. ".repeat(8)
const earlier = "Gauge 14 stood at 3.2 m on Monday, 3.4 m on Tuesday, and was not read on Wednesday. ".repeat(6)
const turns = [
  { role: "user", content: earlier },
  { role: "assistant", content: "Noted. Which summary do you need?" },
  { role: "user", content: question }
]
const limit = 4096

const claudeNative = { system: context, messages: turns, max_tokens: limit }
const geminiNative = {
  systemInstruction: { parts: [{ text: context }] },
  contents: turns.map(({ content, role }) => ({
    role: role === "user" ? "user" : "model",
    parts: [{ text: content }]
  })),
  generationConfig: { maxOutputTokens: limit, thinkingConfig: { thinkingLevel: "MEDIUM" } }
}
const chat = (model: string, stream: boolean) => ({
  model,
  messages: [{ role: "system", content: context }, ...turns],
  max_tokens: limit,
  ...(stream ? { stream, stream_options: { include_usage: true } } : {})
})
const gptNative = (model: string, stream: boolean) => {
  const { max_tokens, ...rest } = chat(model, stream)
  return { ...rest, max_completion_tokens: max_tokens, reasoning_effort: "high" }
}
const responses = (model: string, stream: boolean) => ({
  model,
  instructions: context,
  input: turns,
  ...(stream ? { stream } : {})
})
const titanText = "Gauge 14 stood at 3.2 m on Monday and 3.4 m on Tuesday."
const strings = 512
/** How many upstream calls the gateway allows itself for one embeddings request; the yardstick gets as many. */
const lanes = 8

const call = (path: string, body: object): Call => ({ path, body: JSON.stringify(body) })
const vertex = (publisher: string, model: string, method: string) =>
  `/v1/projects/bench/locations/us-east5/publishers/${publisher}/models/${model}:${method}`
const claudeOnVertex = (stream: boolean): Call =>
  call(vertex("anthropic", "claude-sonnet-4-5@20250929", stream ? "streamRawPredict" : "rawPredict"), {
    ...claudeNative,
    anthropic_version: "vertex-2023-10-16",
    ...(stream ? { stream } : {})
  })
const claudeOnBedrock = (stream: boolean): Call =>
  call(`/model/us-gov.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke${stream ? "-with-response-stream" : ""}`, {
    ...claudeNative,
    anthropic_version: "bedrock-2023-05-31"
  })
const messages = (model: string, stream: boolean): Call =>
  call("/v1/messages", { model, ...claudeNative, ...(stream ? { stream } : {}) })

const reply: Pace = { events: 200, delay: 0, every: 0 }
const paced: Pace = { events: 40, delay: 0, every: 20 }

const share = (metric: Aim["metric"], atLeast: number, against: Subject = "proxy"): Aim => ({
  subject: "gateway",
  against,
  metric,
  atLeast
})
const added = (atMost: number, callers?: number): Aim => ({
  subject: "gateway",
  against: "proxy",
  metric: "added",
  atMost,
  ...(callers === undefined ? {} : { callers })
})

/** The three ways each kind of call is measured: whole replies, streams flat out, and streams at a model's pace. */
const family = (
  name: string,
  title: string,
  calls: (stream: boolean) => Scenario["calls"],
  aims: { readonly json: ReadonlyArray<Aim>; readonly stream: ReadonlyArray<Aim>; readonly paced?: ReadonlyArray<Aim> }
): ReadonlyArray<Scenario> => [
  {
    name: `${name}-json`,
    title: `${title}, whole replies`,
    pace: reply,
    stream: false,
    calls: calls(false),
    aims: aims.json
  },
  {
    name: `${name}-stream`,
    title: `${title}, streams of ${reply.events} events flat out`,
    pace: reply,
    stream: true,
    calls: calls(true),
    aims: aims.stream
  },
  ...(aims.paced === undefined
    ? []
    : [
        {
          name: `${name}-paced`,
          title: `${title}, streams of ${paced.events} events, ${paced.every} ms apart`,
          pace: paced,
          span: paced.events * paced.every,
          stream: true,
          calls: calls(true),
          aims: aims.paced
        }
      ])
]

const nativeAims = { json: [share("req/s", 0.5)], stream: [share("events/s", 0.7)], paced: [added(2)] }
const chatAims = {
  json: [share("req/s", 0.5), share("req/s", 3, "portkey")],
  stream: [share("events/s", 0.5)],
  paced: [added(3, 32)]
}
const portkey = (provider: string, body: object): Call => ({
  ...call("/v1/chat/completions", body),
  headers: { "x-portkey-provider": provider }
})
const traced = (name: string, title: string, stream: boolean, metric: Aim["metric"]): Scenario => ({
  name,
  title,
  pace: reply,
  stream,
  calls: {
    gateway: messages("claude-sonnet-4-5:il2", stream),
    traced: messages("claude-sonnet-4-5:il2", stream)
  },
  aims: [{ subject: "traced", against: "gateway", metric, atLeast: 0.85 }]
})
const embeddings = (name: string, title: string, delay: number, aims: ReadonlyArray<Aim>): Scenario => ({
  name,
  title,
  pace: { ...reply, delay },
  stream: false,
  callers: [1, 4],
  span: (strings / lanes) * delay,
  calls: {
    upstream: {
      ...call("/model/amazon.titan-embed-text-v2%3A0/invoke", {
        inputText: titanText,
        dimensions: 1024,
        normalize: true
      }),
      fan: { requests: strings, lanes }
    },
    gateway: call("/v1/embeddings", {
      model: "titan-embed-text-v2:il5",
      input: Array(strings).fill(titanText),
      encoding_format: "base64"
    })
  },
  aims
})

export const scenarios: ReadonlyArray<Scenario> = [
  ...family(
    "messages",
    "Messages, Claude on Vertex",
    (stream) => ({ proxy: claudeOnVertex(stream), gateway: messages("claude-sonnet-4-5:il2", stream) }),
    nativeAims
  ),
  ...family(
    "bedrock",
    "Messages, Claude on Bedrock (event stream to SSE)",
    (stream) => ({ proxy: claudeOnBedrock(stream), gateway: messages("claude-sonnet-4-5:il5", stream) }),
    nativeAims
  ),
  ...family(
    "chat-claude",
    "Chat, Claude on Vertex (translated)",
    (stream) => ({
      proxy: claudeOnVertex(stream),
      gateway: call("/v1/chat/completions", chat("claude-sonnet-4-5:il2", stream)),
      portkey: portkey("vertex-ai", chat("anthropic.claude-sonnet-4-5@20250929", stream))
    }),
    chatAims
  ),
  ...family(
    "chat-gemini",
    "Chat, Gemini on Vertex (translated)",
    (stream) => ({
      proxy: call(
        `${vertex("google", "gemini-3-flash", stream ? "streamGenerateContent?alt=sse" : "generateContent")}`,
        geminiNative
      ),
      gateway: call("/v1/chat/completions", chat("gemini-3-flash:il2", stream)),
      portkey: portkey("vertex-ai", chat("google.gemini-3-flash", stream))
    }),
    chatAims
  ),
  ...family(
    "chat-gpt",
    "Chat, GPT on Azure",
    (stream) => ({
      proxy: call("/openai/v1/chat/completions", gptNative("gpt-5.1", stream)),
      gateway: call("/v1/chat/completions", chat("gpt-5.1:il5", stream)),
      portkey: portkey("azure-openai", chat("gpt-5.1", stream))
    }),
    chatAims
  ),
  ...family(
    "chat-oss",
    "Chat, gpt-oss on Bedrock",
    (stream) => ({
      proxy: call("/openai/v1/chat/completions", gptNative("openai.gpt-oss-120b-1:0", stream)),
      gateway: call("/v1/chat/completions", chat("gpt-oss-120b:il5", stream))
    }),
    { json: [share("req/s", 0.5)], stream: [share("events/s", 0.5)] }
  ),
  ...family(
    "responses",
    "Responses, GPT on Azure",
    (stream) => ({
      proxy: call("/openai/v1/responses", { ...responses("gpt-5.1", stream), store: false }),
      gateway: call("/v1/responses", responses("gpt-5.1:il5", stream))
    }),
    nativeAims
  ),
  embeddings("embeddings", `Embeddings, ${strings} strings, an upstream that takes 20 ms`, 20, [
    { subject: "gateway", against: "upstream", metric: "wall", atMost: 1.3 }
  ]),
  embeddings("embeddings-flat", `Embeddings, ${strings} strings, an upstream that takes no time`, 0, []),
  traced("tracing-json", "Tracing exported or not, messages, whole replies", false, "req/s"),
  traced("tracing-stream", "Tracing exported or not, messages, streams flat out", true, "events/s")
]
