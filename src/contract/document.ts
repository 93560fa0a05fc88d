/**
 * What the OpenAPI document says beyond the schemas: headers, what each says and which reply may have it (docs/api.md#headers), and
 * examples and streams in the way that generators of other languages read them.
 */
import { Record } from "effect"
import type { Purpose } from "../catalog/names.ts"
import { isObject } from "../wire/json.ts"
import { statuses } from "./Errors.ts"
import type { Endpoint } from "./facts.ts"

const header = (description: string, schema: Readonly<Record<string, unknown>>, example: unknown) => ({
  description,
  schema,
  example
})
const text = { type: "string" }
const count = { type: "integer", minimum: 0 }
const uuid = { type: "string", format: "uuid" }
const id = "3c9f5f0e-6d0b-4f3c-9f0e-0f6a1d2b7c11"

const headers = {
  "x-request-id": header("The gateway's ID of the request, which its operator can look up.", uuid, id),
  "request-id": header("The same ID, where the vendor's client libraries look for it.", uuid, id),
  link: header("Where the usage notice is.", text, '</>; rel="terms-of-service"'),
  allow: header("The methods that the path takes.", { type: "string", enum: ["GET, HEAD", "POST"] }, "POST"),
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
    "temperature:1.7->1, seed:removed"
  ),
  "x-should-retry": header(
    "Whether the same request may succeed later; the vendors' client libraries obey it.",
    { type: "string", enum: ["true", "false"] },
    "true"
  ),
  "retry-after": header("Seconds to wait before the next attempt.", count, 5),
  "x-ratelimit-limit-requests": header("Requests a minute that the key has.", count, 60),
  "x-ratelimit-remaining-requests": header("Those that are left.", count, 59),
  "x-ratelimit-reset-requests": header("When all of them are free again.", text, "1s"),
  "x-ratelimit-limit-tokens": header("Tokens a month that the key has.", count, 1_000_000),
  "x-ratelimit-remaining-tokens": header("Those that are left.", count, 999_000),
  "x-ratelimit-reset-tokens": header("When all of them are free again.", text, "216h30m5s")
} as const
type Name = keyof typeof headers

const served = ["x-gateway-served-by", "x-gateway-served-level", "x-gateway-served-model"] as const
const requests = ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"] as const
const tokens = ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"] as const

const apiKey = { description: "The key that the operator gave you.", type: "apiKey", name: "x-api-key", in: "header" }

/** Refusals from before the key is looked at. */
const beforeKey: ReadonlySet<string> = new Set(["401", "405", "417", "431"])
/** What may be answered after the tokens of a reply were put aside. */
const afterHold: ReadonlySet<string> = new Set(["200", "400", "429", "500", "502", "503", "504"])
/** Of those, what may be answered after a cloud was asked. */
const afterCloud: ReadonlySet<string> = new Set(["200", "400", "429", "502", "503", "504"])
const waits: ReadonlySet<string> = new Set(["429", "502", "503"])

const headersOf = ({ purpose, surface }: Endpoint, status: string): ReadonlyArray<Name> => {
  const messages = purpose === "messages" || purpose === "count_tokens"
  const inference = purpose !== undefined
  const has = <N extends Name>(condition: boolean, ...names: ReadonlyArray<N>) => (condition ? names : [])
  const failed = status !== "200" && !(surface === undefined && status === "503")
  return [
    "x-request-id",
    ...has(messages && status !== "431", "request-id"),
    "link",
    ...has(status === "405", "allow"),
    ...has(inference && afterCloud.has(status), ...served, "x-gateway-adjusted"),
    ...has(purpose === "messages" && afterCloud.has(status), "x-gateway-thinking-adjusted"),
    ...has(failed, "x-should-retry"),
    ...has(failed && waits.has(status), "retry-after"),
    ...has(surface !== undefined && !beforeKey.has(status), ...requests),
    ...has(inference && purpose !== "count_tokens" && afterHold.has(status), ...tokens)
  ]
}

type Json = unknown
type JsonObject = { [key: string]: Json }

const object = (value: unknown): JsonObject => (isObject(value) ? value : {})
/** What stands at the end of a path of keys. */
const at = (value: Json, ...path: ReadonlyArray<string>): Json => path.reduce((inner, key) => object(inner)[key], value)
const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0

/** An event's data is JSON in a string; generators want the JSON, as the vendors' own documents give it. */
const eventData = (schema: Json): ReadonlyArray<Json> => {
  const { anyOf, properties, contentSchema } = object(schema)
  if (Array.isArray(anyOf)) return anyOf.flatMap(eventData)
  if (properties !== undefined) return eventData(object(properties).data)
  if (contentSchema === undefined) return []
  const { anyOf: kinds } = object(contentSchema)
  return Array.isArray(kinds) ? kinds : [contentSchema]
}

/** Names of the examples that a request schema gives, by what they show. */
const exampleNames = (value: Json): readonly [name: string, summary: string] => {
  if (object(value).stream === true) return ["stream", "As a stream"]
  return object(value).tools === undefined ? ["question", "A request"] : ["tools", "With a tool"]
}

const referred = (media: Json, schemas: JsonObject): Json => {
  const reference = at(media, "schema", "$ref")
  return typeof reference === "string" ? schemas[reference.split("/").at(-1) ?? ""] : undefined
}

/** What a media type shows, from the examples of its schema: most tools look nowhere else. */
const shown = (media: Json, schemas: JsonObject, name: (value: Json) => readonly [name: string, summary: string]) => {
  const examples = at(referred(media, schemas), "examples")
  if (!Array.isArray(examples)) return object(media)
  const named = examples.map((value) => {
    const [key, summary] = name(value)
    return [key, { summary, value }]
  })
  return { ...object(media), examples: Object.fromEntries(named) }
}

const errorOf = (content: JsonObject, status: string): JsonObject => {
  const json = object(content["application/json"])
  const { type, message } = statuses[status] ?? {}
  const messages = at(json, "schema", "$ref") === "#/components/schemas/MessagesErrorBody"
  return {
    "application/json": { ...json, example: { ...(messages ? { type: "error" } : {}), error: { type, message } } }
  }
}

const replyOf = (endpoint: Endpoint, schemas: JsonObject, status: string, given: Json): JsonObject => {
  const reply = object(given)
  const content = object(reply.content)
  const own = endpoint.surface === undefined && status === "503"
  const names = headersOf(endpoint, status)
  const headers = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
  if (status !== "200" && !own) return { ...reply, headers, content: errorOf(content, status) }
  const json = shown(content["application/json"], schemas, () => ["reply", "A reply"])
  const stream = content["text/event-stream"]
  const events = { description: "The data of one event.", anyOf: eventData(object(stream).schema) }
  return {
    ...reply,
    description: own
      ? "The gateway is shutting down: send requests elsewhere."
      : stream === undefined
        ? "The reply."
        : "The reply: JSON, or with `stream: true` server-sent events.",
    headers,
    content: {
      "application/json": json,
      ...(stream === undefined ? {} : { "text/event-stream": { schema: events } })
    }
  }
}

const operation = (endpoint: Endpoint, schemas: JsonObject, op: JsonObject): JsonObject => {
  const body = object(op.requestBody)
  const json = at(body, "content", "application/json")
  return {
    ...op,
    security: endpoint.surface === undefined ? [] : [{ apiKey: [] }],
    responses: Record.map(object(op.responses), (reply, status) => replyOf(endpoint, schemas, status, reply)),
    ...(op.requestBody === undefined
      ? {}
      : { requestBody: { ...body, content: { "application/json": shown(json, schemas, exampleNames) } } })
  }
}

/** The same schemas, in the words that most tools expect. */
const plain = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  const out: JsonObject = Record.map(value, plain)
  if (isEmpty(out.additionalProperties)) out.additionalProperties = true
  // The bounds of a safe integer say nothing.
  if (out.maximum === Number.MAX_SAFE_INTEGER) delete out.maximum
  if (out.minimum === Number.MIN_SAFE_INTEGER) delete out.minimum
  // Anything, or null, is anything.
  if (Array.isArray(out.anyOf) && out.anyOf.some(isEmpty)) delete out.anyOf
  // Any or all of one is that one; what stands beside it comes first, and counts.
  for (const word of ["anyOf", "allOf"]) {
    const { [word]: parts, ...rest } = out
    if (Array.isArray(parts) && parts.length === 1) return { ...rest, ...object(parts[0]), ...rest }
  }
  if (out.type === "array" && out.items === undefined) out.items = {}
  return out
}

export const completeDocument =
  (endpoints: () => ReadonlyMap<string, Endpoint>) =>
  (document: JsonObject): JsonObject => {
    const plainer = object(plain(document))
    const components = object(plainer.components)
    const schemas = object(components.schemas)
    const known = endpoints()
    const paths = Record.map(object(plainer.paths), (item, path) => {
      const endpoint = known.get(path)
      return endpoint === undefined ? item : Record.map(object(item), (op) => operation(endpoint, schemas, object(op)))
    })
    return {
      ...plainer,
      info: { ...object(plainer.info), contact: { name: "The operator of this gateway" } },
      paths,
      components: { ...components, headers, securitySchemes: { apiKey } }
    }
  }

/**
 * The document of a gateway: the IDs that it serves are the examples of each `model` and of the `{id}` in a path, and a request
 * that shows another one shows the first of them. `ids` says which it serves for a purpose.
 */
export const withModels = (
  document: JsonObject,
  endpoints: ReadonlyMap<string, Endpoint>,
  ids: (purpose: Purpose) => ReadonlyArray<string>
): JsonObject => {
  const whole = structuredClone(document)
  const schemas = object(at(whole, "components", "schemas"))
  const purposes = [...endpoints.values()].flatMap(({ purpose }) => purpose ?? [])
  const all = [...new Set(purposes.flatMap(ids))]
  for (const [path, { method, purpose }] of endpoints) {
    const parameters = at(whole, "paths", path, method.toLowerCase(), "parameters")
    for (const parameter of Array.isArray(parameters) ? parameters.map(object) : []) {
      if (parameter.in === "path") object(parameter.schema).examples = all
    }
    const served = purpose === undefined ? [] : ids(purpose)
    const [first] = served
    const media = at(whole, "paths", path, "post", "requestBody", "content", "application/json")
    const schema = referred(media, schemas)
    if (first === undefined || schema === undefined) continue
    object(at(schema, "properties", "model")).examples = served
    const examples = at(schema, "examples")
    const values = [
      ...(Array.isArray(examples) ? examples : []),
      ...Object.values(object(at(media, "examples"))).map((example) => at(example, "value"))
    ]
    for (const example of values.map(object)) {
      if (!served.includes(String(example.model))) example.model = first
    }
  }
  return whole
}
