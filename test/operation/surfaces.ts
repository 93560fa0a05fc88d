/** A request of every surface, about the same text. */
import { message } from "../support/claude.ts"
import { open, parsed } from "../support/http.ts"

export const inference = ["messages", "chat", "responses", "embeddings"] as const
export const streaming = ["messages", "chat", "responses"] as const
export type Surface = (typeof inference)[number] | "count_tokens"

interface Options {
  readonly stream?: boolean
  readonly maxTokens?: number
}

/** Path and body. All are served at `il5`. */
export const requestOf = (surface: Surface, text: string, { stream = false, maxTokens = 100 }: Options = {}) => {
  const requests: Readonly<Record<Surface, readonly [path: string, body: Readonly<Record<string, unknown>>]>> = {
    messages: ["/v1/messages", message("claude-sonnet-4-5:il5", text, { stream, max_tokens: maxTokens })],
    count_tokens: ["/v1/messages/count_tokens", message("claude-sonnet-4-5:il5", text)],
    chat: [
      "/v1/chat/completions",
      { model: "gpt-5.1:il5", messages: [{ role: "user", content: text }], stream, max_tokens: maxTokens }
    ],
    responses: ["/v1/responses", { model: "gpt-5.1:il5", input: text, stream, max_output_tokens: maxTokens }],
    embeddings: ["/v1/embeddings", { model: "titan-embed-text-v2:il5", input: text }]
  }
  return requests[surface]
}

/** Opens a request of a surface. */
export const openSurface = (
  url: string,
  key: string,
  surface: Surface,
  text: string,
  options: Options & { readonly signal?: AbortSignal } = {}
): Promise<Response> => {
  const [path, body] = requestOf(surface, text, options)
  return open(
    `${url}${path}`,
    body,
    { "x-api-key": key },
    options.signal === undefined ? {} : { signal: options.signal }
  )
}

/** Sends a request of a surface and reads its reply. */
export const ask = async (url: string, key: string, surface: Surface, text: string, options: Options = {}) => {
  const response = await openSurface(url, key, surface, text, options)
  const body = await response.text()
  return { status: response.status, headers: response.headers, text: body, json: parsed(body) }
}

/** Reads a stream until the text is in it, and leaves. */
export const readUntil = async (response: Response, text: string): Promise<string> => {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let got = ""
  while (reader !== undefined && !got.includes(text)) {
    const { done, value } = await reader.read()
    if (done) break
    got += value
  }
  await reader?.cancel()
  return got
}

/** Input and output tokens together, as a reply reports them. */
export const usageIn = (reply: ReturnType<typeof JSON.parse>): number =>
  reply.usage.total_tokens ?? reply.usage.input_tokens + reply.usage.output_tokens
