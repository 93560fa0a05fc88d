import { Effect } from "effect"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"

/** A reply, read to its end; `json` is undefined for what is none. */
export interface Got {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: ReturnType<typeof JSON.parse>
}

const read = async (response: Response): Promise<Got> => {
  const text = await response.text()
  const json = () => {
    try {
      return JSON.parse(text)
    } catch {
      return undefined
    }
  }
  return { status: response.status, headers: response.headers, text, json: json() }
}

/** Where a request goes: the cloud with its credentials, and the path. */
export interface Target {
  readonly cloud: "vertex" | "bedrock" | "azure"
  readonly path: string
}

const projects = "/v1/projects/sandbox-project/locations/us-east5/publishers"

/** A Claude model on Vertex AI. */
export const claude = (model: string, method = "rawPredict"): Target => ({
  cloud: "vertex",
  path: `${projects}/anthropic/models/${model}:${method}`
})

/** A Gemini model on Vertex AI. */
export const gemini = (method = "generateContent", model = "gemini-3-flash-preview"): Target => ({
  cloud: "vertex",
  path: `${projects}/google/models/${model}:${method}`
})

/** A model on Bedrock. */
export const bedrock = (model: string, operation = "invoke"): Target => ({
  cloud: "bedrock",
  path: `/model/${encodeURIComponent(model)}/${operation}`
})

/** Azure's, or Bedrock's, OpenAI routes. */
export const openai = (path: "chat/completions" | "responses", cloud: "azure" | "bedrock" = "azure"): Target => ({
  cloud,
  path: `/openai/v1/${path}`
})

/** Sends a JSON body with the cloud's credentials, and gives the response as soon as its headers are there. */
export const open = (target: Target, body: unknown, init: RequestInit = {}) =>
  Effect.flatMap(Sandbox, ({ bearers, urls }) =>
    Effect.tryPromise({
      try: () =>
        fetch(urls[target.cloud] + target.path, {
          method: "POST",
          redirect: "manual",
          body: typeof body === "string" ? body : JSON.stringify(body),
          ...init,
          headers: {
            authorization: `Bearer ${bearers[target.cloud]}`,
            "content-type": "application/json",
            ...init.headers
          }
        }),
      catch: (error) => error
    })
  )

/** Sends a JSON body and reads the whole reply. */
export const post = (target: Target, body: unknown, headers: Record<string, string> = {}) =>
  Effect.flatMap(open(target, body, { headers }), (response) =>
    Effect.tryPromise({ try: () => read(response), catch: (error) => error })
  )

/** The error message of a reply, in whichever cloud's shape. */
export const messageIn = (got: Got): string => got.json?.error?.message ?? got.json?.message ?? ""

/** The parsed `data:` lines of an SSE body. */
export const dataIn = (text: string) =>
  text
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
    .map((line) => JSON.parse(line.slice(6)))

/** A real PNG image of one pixel. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** The beginning of a PDF document. */
export const PDF = Buffer.from("%PDF-1.7\n%%EOF\n").toString("base64")
