/**
 * What the OpenAPI document says beyond the schemas: headers, examples, what each status means, and streams in the way
 * that generators of other languages read them.
 */
import { errors, examples } from "./examples.ts"

type Json = unknown
type JsonObject = { [key: string]: Json }

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const object = (value: unknown): JsonObject => (isObject(value) ? value : {})
const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0

const header = (description: string, schema: JsonObject, example: Json) => ({ description, schema, example })
const text = { type: "string" }
const headers: Readonly<Record<string, JsonObject>> = {
  "x-request-id": header(
    "The gateway's ID of the request, which its operator can look up.",
    { type: "string", format: "uuid" },
    "3c9f5f0e-6d0b-4f3c-9f0e-0f6a1d2b7c11"
  ),
  link: header("Where the usage notice is.", text, '</>; rel="terms-of-service"'),
  "x-gateway-served-by": header("The cloud and region that the request went to.", text, "bedrock/us-gov-west-1"),
  "x-gateway-served-level": header("The level that it was served at.", text, "il5"),
  "x-gateway-served-model": header("The base model that served the request.", text, "claude-sonnet-4-5"),
  "x-gateway-thinking-adjusted": header(
    "Only when a thinking request was adjusted: what was changed.",
    text,
    "budget_tokens:32000->7168"
  ),
  "x-gateway-adjusted": header(
    "Only when the gateway changed something of the request: name:from->to or name:removed, joined by commas, at most 1 KiB.",
    { type: "string", maxLength: 1024 },
    "web_search:removed"
  ),
  "x-should-retry": header(
    "Whether the same request may succeed later; the vendors' client libraries obey it.",
    { type: "string", enum: ["true", "false"] },
    "true"
  ),
  "retry-after": header("Seconds to wait before the next attempt.", { type: "integer", minimum: 0 }, 5),
  "x-ratelimit-limit-requests": header("Requests a minute that the key has.", { type: "integer" }, 60),
  "x-ratelimit-remaining-requests": header("Those that are left.", { type: "integer" }, 59),
  "x-ratelimit-reset-requests": header("When all of them are free again.", text, "1s"),
  "x-ratelimit-limit-tokens": header("Tokens a month that the key has.", { type: "integer" }, 1_000_000),
  "x-ratelimit-remaining-tokens": header("Those that are left.", { type: "integer" }, 999_000),
  "x-ratelimit-reset-tokens": header("When all of them are free again.", text, "216h30m5s")
}

const every = ["x-request-id", "link"]
/** Where the text went, also where nothing came back. */
const proof = ["x-gateway-served-by", "x-gateway-served-level", "x-gateway-served-model"]
const served = [...proof, "x-gateway-adjusted"]
const limits = ["requests", "tokens"].flatMap((what) =>
  ["limit", "remaining", "reset"].map((which) => `x-ratelimit-${which}-${what}`)
)
/** Those of a reply, by operation. */
const replyHeaders: Readonly<Record<string, ReadonlyArray<string>>> = {
  createChatCompletion: [...served, ...limits],
  createMessage: [...served, "x-gateway-thinking-adjusted", ...limits],
  countMessageTokens: [...served, "x-gateway-thinking-adjusted"],
  createResponse: [...served, ...limits],
  createEmbeddings: [...served, ...limits]
}

const references = (names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** An event's data is JSON in a string; generators want the JSON, as the vendors' own documents give it. */
const eventData = (schema: Json): ReadonlyArray<Json> => {
  const { anyOf, properties, contentSchema } = object(schema)
  if (Array.isArray(anyOf)) return anyOf.flatMap(eventData)
  if (properties !== undefined) return eventData(object(properties).data)
  return contentSchema === undefined ? [] : eventDataOf(contentSchema)
}
const eventDataOf = (schema: Json): ReadonlyArray<Json> => {
  const { anyOf } = object(schema)
  return Array.isArray(anyOf) ? anyOf : [schema]
}

const describeStream = (media: Json): JsonObject => {
  const data = eventData(object(media).schema)
  return {
    schema: { description: "The data of one event.", ...(data.length === 1 ? { allOf: data } : { anyOf: data }) }
  }
}

/** Of those that may come after a cloud was asked. */
const afterCloud: ReadonlySet<string> = new Set(["400", "429", "502", "504"])

const errorReply = (reply: JsonObject, status: string, messages: boolean, operation: string): JsonObject => {
  const error = errors[status]
  if (error === undefined) return reply
  const { type, message, meaning } = error
  const example = messages ? { type: "error", error: { type, message } } : { error: { type, message } }
  const json = object(object(reply.content)["application/json"])
  return {
    ...reply,
    description: meaning,
    headers: references([
      ...every,
      "x-should-retry",
      ...(status === "429" || status === "503" ? ["retry-after"] : []),
      ...(operation in replyHeaders && afterCloud.has(status) ? proof : [])
    ]),
    content: { "application/json": { ...json, example } }
  }
}

const streaming = (sample: string): string =>
  `With \`stream: true\` the reply is a stream of server-sent events. It is complete only with its last event; an error event ends it too.\n\n\`\`\`\n${sample}\n\`\`\``

const operation = (path: string, op: JsonObject): JsonObject => {
  const name = String(op.operationId)
  const example = examples[name]
  const replies = Object.entries(object(op.responses)).map(([status, value]): [string, JsonObject] => {
    const reply = object(value)
    const content = object(reply.content)
    if (name === "getHealth" && status === "503") {
      return [
        status,
        { ...reply, description: "The server is shutting down: send requests elsewhere.", headers: references(every) }
      ]
    }
    if (status !== "200") return [status, errorReply(reply, status, path.startsWith("/v1/messages"), name)]
    const stream = content["text/event-stream"]
    return [
      status,
      {
        ...reply,
        description:
          stream === undefined ? "The reply." : "The reply: JSON, or with `stream: true` server-sent events.",
        headers: references([...every, ...(replyHeaders[name] ?? [])]),
        content: {
          "application/json": {
            ...object(content["application/json"]),
            ...(example && { examples: { reply: { summary: "A reply", value: example.reply } } })
          },
          ...(stream === undefined ? {} : { "text/event-stream": describeStream(stream) })
        }
      }
    ]
  })
  const body = object(op.requestBody)
  const json = object(object(body.content)["application/json"])
  const stream = example?.stream
  return {
    ...op,
    ...(stream === undefined ? {} : { description: `${String(op.description)}\n\n${streaming(stream)}` }),
    responses: Object.fromEntries(replies),
    ...(op.requestBody === undefined
      ? {}
      : { requestBody: { ...body, content: { "application/json": { ...json, examples: example?.requests ?? {} } } } })
  }
}

/** The same schemas, in the words that most tools expect. */
const plain = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  const out: JsonObject = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]))
  // "Any other field too" is said of the object itself.
  if (Array.isArray(out.allOf) && isObject(out.properties)) {
    const others = out.allOf.filter((part) => !(isObject(part) && isEmpty(part.additionalProperties)))
    out.additionalProperties = true
    delete out.allOf
    if (others.length > 0) out.allOf = others
  }
  // The bounds of a safe integer say nothing.
  if (out.maximum === Number.MAX_SAFE_INTEGER) delete out.maximum
  if (out.minimum === Number.MIN_SAFE_INTEGER) delete out.minimum
  // Anything, or null, is anything.
  if (Array.isArray(out.anyOf) && out.anyOf.some(isEmpty)) delete out.anyOf
  if (out.type === "array" && out.items === undefined && out.prefixItems === undefined) out.items = {}
  return out
}

/** Completes the document that the contract yields. */
export const completeDocument = (document: { [key: string]: Json }): { [key: string]: Json } => {
  const plainer = object(plain(document))
  const paths = Object.entries(object(plainer.paths)).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(object(item)).map(([method, op]) => [method, operation(path, object(op))]))
  ])
  return {
    ...plainer,
    info: { ...object(plainer.info), contact: { name: "The operator of this gateway" } },
    paths: Object.fromEntries(paths),
    components: { ...object(plainer.components), headers }
  }
}
