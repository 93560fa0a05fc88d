/** Chat requests, and what their answers come to. */
import { assert } from "@effect/vitest"
import { eventsIn, type Got } from "./http.ts"

/** A valid request; `extra` goes over it. */
export const chat = (model: string, content: unknown = "hi", extra: Readonly<Record<string, unknown>> = {}) => ({
  model,
  messages: [{ role: "user", content }],
  ...extra
})

/** A function tool. */
export const functionTool = (name: string, parameters?: unknown, extra: Readonly<Record<string, unknown>> = {}) => ({
  type: "function",
  function: { name, ...(parameters === undefined ? {} : { parameters }), ...extra }
})

/** The body of a reply that must be good. */
export const ok = (got: Got): Got["json"] => {
  assert.strictEqual(got.status, 200, got.text.slice(0, 500))
  return got.json
}

/** Asserts an error in the shape of this surface. */
export const refused = (got: Got, status: number, type: string, text: RegExp): void => {
  assert.strictEqual(got.status, status, got.text)
  assert.match(got.headers.get("content-type") ?? "", /^application\/json/)
  assert.deepStrictEqual(Object.keys(got.json), ["error"])
  assert.deepStrictEqual(Object.keys(got.json.error), ["type", "message"])
  assert.strictEqual(got.json.error.type, type)
  assert.match(got.json.error.message, text)
  assert.match(got.headers.get("x-request-id") ?? "", uuid)
}

/** The shape of the gateway's own IDs. */
export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A stream's chunks folded into what the unstreamed reply would say. */
export const folded = (text: string) => {
  const events = eventsIn(text)
  const chunks = events.map(({ json }) => json).filter((json) => json !== undefined)
  const calls: Array<{ id: string; name: string; arguments: string; extra: unknown }> = []
  let content = ""
  for (const chunk of chunks) {
    const delta = chunk.choices?.[0]?.delta ?? {}
    content += delta.content ?? ""
    for (const call of delta.tool_calls ?? []) {
      const known = calls[call.index]
      if (known === undefined) {
        calls[call.index] = {
          id: call.id,
          name: call.function.name,
          arguments: call.function.arguments,
          extra: call.extra_content
        }
      } else known.arguments += call.function.arguments
    }
  }
  const last = chunks.at(-1)
  return {
    done: events.at(-1)?.data === "[DONE]",
    error: last?.error,
    content,
    calls,
    finishReason: last?.choices?.[0]?.finish_reason,
    usage: last?.usage,
    governance: last?.x_gateway_governance,
    chunks
  }
}

/** The unstreamed reply in the same words. */
export const foldedWhole = (completion: ReturnType<typeof JSON.parse>) => {
  const { message, finish_reason } = completion.choices[0]
  return {
    content: message.content ?? "",
    calls: (message.tool_calls ?? []).map((call: ReturnType<typeof JSON.parse>) => ({
      id: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
      extra: call.extra_content
    })),
    finishReason: finish_reason,
    usage: completion.usage,
    governance: completion.x_gateway_governance
  }
}

/** Base64 data URI of bytes that begin as their type says, in all so many. */
export const dataUri = (
  mime: "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "application/pdf",
  size = 64
) => {
  const heads = {
    "image/png": "89504e470d0a1a0a",
    "image/jpeg": "ffd8ffe0",
    "image/gif": "474946383961",
    "image/webp": "524946460000000057454250",
    "application/pdf": "255044462d312e34"
  }
  const head = Buffer.from(heads[mime], "hex")
  return `data:${mime};base64,${Buffer.concat([head, Buffer.alloc(size - head.length, 1)]).toString("base64")}`
}
export const image = (url: string) => ({ type: "image_url", image_url: { url } })
export const file = (file_data: string, filename = "a.pdf") => ({ type: "file", file: { filename, file_data } })
