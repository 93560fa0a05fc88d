/** What is asked of whom: the same conversation as each cloud's API wants it, and as the gateway's callers say it. */
import type { Job } from "./load.ts"

export type Call = Pick<Job, "path" | "body" | "fan"> & { readonly headers?: Readonly<Record<string, string>> }

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
const chatBody = (model: string, stream: boolean) => ({
  model,
  messages: [{ role: "system", content: context }, ...turns],
  max_tokens: limit,
  ...(stream ? { stream, stream_options: { include_usage: true } } : {})
})
const gptBody = (model: string, stream: boolean) => {
  const { max_tokens, ...rest } = chatBody(model, stream)
  return { ...rest, max_completion_tokens: max_tokens, reasoning_effort: "high" }
}
const responsesBody = (model: string, stream: boolean) => ({
  model,
  instructions: context,
  input: turns,
  ...(stream ? { stream } : {})
})

const call = (path: string, body: object): Call => ({ path, body: JSON.stringify(body) })
const vertex = (publisher: string, model: string, method: string) =>
  `/v1/projects/bench/locations/us-east5/publishers/${publisher}/models/${model}:${method}`

// The clouds, as the proxies are asked.
export const claudeOnVertex = (stream: boolean): Call =>
  call(vertex("anthropic", "claude-sonnet-4-5@20250929", stream ? "streamRawPredict" : "rawPredict"), {
    ...claudeNative,
    anthropic_version: "vertex-2023-10-16",
    ...(stream ? { stream } : {})
  })
export const claudeOnBedrock = (stream: boolean): Call =>
  call(`/model/us-gov.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke${stream ? "-with-response-stream" : ""}`, {
    ...claudeNative,
    anthropic_version: "bedrock-2023-05-31"
  })
export const geminiOnVertex = (stream: boolean): Call =>
  call(vertex("google", "gemini-3-flash", stream ? "streamGenerateContent?alt=sse" : "generateContent"), geminiNative)
export const chatCloud = (model: string, stream: boolean): Call =>
  call("/openai/v1/chat/completions", gptBody(model, stream))
export const responsesCloud = (model: string, stream: boolean): Call =>
  call("/openai/v1/responses", { ...responsesBody(model, stream), store: false })

// The gateway and its peer.
export const messages = (model: string, stream: boolean): Call =>
  call("/v1/messages", { model, ...claudeNative, ...(stream ? { stream } : {}) })
export const chat = (model: string, stream: boolean): Call => call("/v1/chat/completions", chatBody(model, stream))
export const responses = (model: string, stream: boolean): Call => call("/v1/responses", responsesBody(model, stream))
/** Its streams answer 500 as published, so it is asked for whole replies only. */
export const portkey = (provider: string, model: string): Call => ({
  ...call("/v1/chat/completions", chatBody(model, false)),
  headers: { "x-portkey-provider": provider }
})

const text = "Gauge 14 stood at 3.2 m on Monday and 3.4 m on Tuesday."
/** Strings in one embeddings request. */
export const strings = 512
/** How many upstream calls the gateway allows itself for one embeddings request; the yardstick gets as many. */
export const lanes = 8
export const titan: Call = {
  ...call("/model/amazon.titan-embed-text-v2%3A0/invoke", { inputText: text, dimensions: 1024, normalize: true }),
  fan: { requests: strings, lanes }
}
export const embeddings = call("/v1/embeddings", {
  model: "titan-embed-text-v2:il5",
  input: Array(strings).fill(text),
  encoding_format: "base64"
})
