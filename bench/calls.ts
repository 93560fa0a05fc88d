/** One conversation, as the API of each cloud and each surface of the gateway expects it. */

export interface Call {
  readonly path: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}
/** The same call for a whole reply and for a stream. */
export type CallOf = (stream: boolean) => Call

const question = "Summarise the water levels along the river for the last week, and name the gauges that need a visit."
const context = "You are an assistant for a hydrology office. Answer from the figures you are given only. ".repeat(8)
const earlier = "Gauge 14 stood at 3.2 m on Monday, 3.4 m on Tuesday, and was not read on Wednesday. ".repeat(6)
const turns = [
  { role: "user", content: earlier },
  { role: "assistant", content: "Noted. Which summary do you need?" },
  { role: "user", content: question }
]
const limit = 4096

const call = (path: string, body: object): Call => ({ path, body: JSON.stringify(body) })
const streaming = (stream: boolean) => (stream ? { stream } : {})
const claude = { system: context, messages: turns, max_tokens: limit }
const gemini = {
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
  ...streaming(stream),
  ...(stream ? { stream_options: { include_usage: true } } : {})
})
const responsesBody = (model: string, stream: boolean) => ({
  model,
  instructions: context,
  input: turns,
  ...streaming(stream)
})
const vertex = (publisher: string, model: string, method: string) =>
  `/v1/projects/bench/locations/us-east5/publishers/${publisher}/models/${model}:${method}`

// The clouds, as the bare proxy is asked.
export const claudeOnVertex: CallOf = (stream) =>
  call(vertex("anthropic", "claude-sonnet-4-5@20250929", stream ? "streamRawPredict" : "rawPredict"), {
    ...claude,
    anthropic_version: "vertex-2023-10-16",
    ...streaming(stream)
  })
export const claudeOnBedrock: CallOf = (stream) =>
  call(`/model/us-gov.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke${stream ? "-with-response-stream" : ""}`, {
    ...claude,
    anthropic_version: "bedrock-2023-05-31"
  })
export const geminiOnVertex: CallOf = (stream) =>
  call(vertex("google", "gemini-3-flash", stream ? "streamGenerateContent?alt=sse" : "generateContent"), gemini)
export const openAiChat =
  (model: string): CallOf =>
  (stream) =>
    call("/openai/v1/chat/completions", {
      ...chatBody(model, stream),
      max_completion_tokens: limit,
      reasoning_effort: "high"
    })
export const openAiResponses =
  (model: string): CallOf =>
  (stream) =>
    call("/openai/v1/responses", { ...responsesBody(model, stream), store: false })

// The gateway, and Portkey.
export const messages =
  (model: string): CallOf =>
  (stream) =>
    call("/v1/messages", { model, ...claude, ...streaming(stream) })
export const chat =
  (model: string): CallOf =>
  (stream) =>
    call("/v1/chat/completions", { ...chatBody(model, stream), max_tokens: limit })
export const responses =
  (model: string): CallOf =>
  (stream) =>
    call("/v1/responses", responsesBody(model, stream))
export const portkey = (provider: string, model: string): Call => ({
  ...chat(model)(false),
  headers: { "x-portkey-provider": provider }
})
