/**
 * What each surface makes of requests and of a cloud's answers, good and bad, as files that are read: `test/golden/surface`, a
 * folder for each surface. A case says what the caller sends and what the cloud answers; what then reaches the cloud and the caller
 * is expected. `UPDATE_GOLDEN=1` writes it anew.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { chunkFrame, exceptionFrame } from "../../stream/frames.ts"
import { frameHead, type Handler, reply, sseHead, streaming } from "../../support/fakeUpstream.ts"
import { type Got, post } from "../../support/http.ts"
import { sharedUpstream } from "../../support/shared.ts"

/** How a cloud answers; one answer serves every call of a request. */
const Upstream = Schema.Struct({
  /** The status line after `HTTP/1.1`; without one `200 OK`. */
  status: Schema.optionalKey(Schema.String),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  body: Schema.optionalKey(Schema.Json),
  /** A Titan vector that is this number throughout. */
  vector: Schema.optionalKey(Schema.Finite),
  /** A stream: each event as JSON, or as the text of its data. */
  events: Schema.optionalKey(Schema.Array(Schema.Json)),
  /** Whether it is framed as AWS frames it; the last event may then be an exception. */
  framed: Schema.optionalKey(Schema.Boolean),
  exception: Schema.optionalKey(Schema.String)
})
const Golden = Schema.Record(
  Schema.String,
  Schema.Struct({
    request: Schema.JsonObject,
    upstream: Upstream,
    expected: Schema.optionalKey(Schema.Json)
  })
)

const paths: Readonly<Record<string, string>> = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  count: "/v1/messages/count_tokens",
  responses: "/v1/responses",
  embeddings: "/v1/embeddings"
}

const sse = (event: typeof Schema.Json.Type): string => {
  if (typeof event === "string") return `data: ${event}\n\n`
  const type = typeof event === "object" && event !== null ? Reflect.get(event, "type") : undefined
  return `${typeof type === "string" ? `event: ${type}\n` : ""}data: ${JSON.stringify(event)}\n\n`
}

const handlerOf = ({ status, headers, body, vector, events, framed, exception }: typeof Upstream.Type): Handler => {
  if (events !== undefined) {
    const frames = events.map((event) => (framed === true ? chunkFrame(JSON.stringify(event)) : sse(event)))
    const last = exception === undefined ? [] : [exceptionFrame(exception, '{"message":"the cloud\'s words"}')]
    return streaming([...frames, ...last], { head: framed === true ? frameHead : sseHead })
  }
  const answer =
    vector === undefined ? body : { embedding: Array.from({ length: 1024 }, () => vector), inputTextTokenCount: 3 }
  const text = typeof answer === "string" ? answer : JSON.stringify(answer)
  return (socket) => socket.write(reply(status ?? "200 OK", text, { "content-type": "application/json", ...headers }))
}

/** Headers that say something of this request. */
const telling = [
  "content-type",
  "retry-after",
  "x-should-retry",
  "x-gateway-adjusted",
  "x-gateway-thinking-adjusted",
  "x-gateway-served-by",
  "x-gateway-served-model"
]

/** Without what is made up for each request, and with vectors by their ends. */
const steady = (text: string): string => {
  const made = new Map<string, string>()
  return text
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "the-request")
    .replace(/"created":\d{10}/g, '"created":1')
    .replace(
      /call_[0-9a-f]{24}/g,
      (id) => made.get(id) ?? (made.set(id, `call_made_up_${made.size}`).get(id) as string)
    )
    .replace(/\[(-?[\d.]+),[-\d.,]{1000,},(-?[\d.]+)\]/g, '["$1 and so on to $2"]')
    .replace(/"([\w+/]{12})[\w+/=]{4000,}"/g, '"$1 and so on"')
}

const linesOf = ({ headers, text }: Got): unknown =>
  headers.get("content-type")?.startsWith("application/json") === true
    ? JSON.parse(steady(text))
    : steady(text)
        .split("\n\n")
        .filter((event) => event !== "")

const { gateway, upstream } = sharedUpstream()
const folder = new URL("../../golden/surface/", import.meta.url)

describe.each(readdirSync(folder))("%s", (surface) => {
  it.each(readdirSync(new URL(surface, folder)))("%s", async (name) => {
    const file = new URL(`${surface}/${name}`, folder)
    const golden = Schema.decodeUnknownSync(Golden)(JSON.parse(readFileSync(file, "utf8")))
    const got: Record<string, unknown> = {}
    for (const [title, given] of Object.entries(golden)) {
      const before = upstream.received.length
      upstream.use(handlerOf(given.upstream))
      const answer = await post(gateway.url + (paths[surface] ?? ""), given.request)
      const sent = upstream.received
        .slice(before)
        .map(({ path, body }) => ({ path, body: JSON.parse(steady(body)) }))
        .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      const headers = telling.flatMap((header) => {
        const value = answer.headers.get(header)
        return value === null ? [] : [[header, value]]
      })
      const expected = { sent, status: answer.status, headers: Object.fromEntries(headers), body: linesOf(answer) }
      got[title] = { ...given, expected: JSON.parse(JSON.stringify(expected)) }
    }
    if (process.env.UPDATE_GOLDEN === "1") writeFileSync(file, `${JSON.stringify(got, null, 2)}\n`)
    else expect(got).toStrictEqual(golden)
  })
})
