/** Amazon Bedrock's runtime: its routes, credentials, errors and framing. */
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import { unescape } from "node:querystring"
import { EventStreamCodec } from "@smithy/core/event-streams"
import { fromUtf8, Hash, toUtf8 } from "@smithy/core/serde"
import { SignatureV4 } from "@smithy/signature-v4"
import { Record } from "effect"
import { playClaude } from "../claude/claude.ts"
import { readDirectives } from "../directives.ts"
import { type Answer, answered, type Failure } from "../faults.ts"
import { type CloudRequest, invalid, jsonReply, Refusal, type Reply, type SimulatedCloud, secret } from "../http.ts"
import { arrayOf, type JsonObject, objectOf, parseBody, readObject, stringOf } from "../json.ts"
import type { ClaudeModel, Models } from "../models.ts"
import { playChat } from "../openai/chat.ts"
import { playResponses } from "../openai/responses.ts"
import { serve } from "../openai/shared.ts"
import { embedTitan } from "../titan.ts"
import { awsReply } from "./errors.ts"

/** How far the clocks may differ, in milliseconds. */
const SKEW = 5 * 60 * 1000
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/[^,]+, ?SignedHeaders=([^,]+), ?Signature=[0-9a-f]{64}$/

const MISMATCH =
  "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details."

const unsigned = (code: string, message: string): Refusal =>
  new Refusal({ status: 403, message, code: `${code}Exception` })

interface Key {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

/** Signs a request again by Signature Version 4, and compares. A refusal has AWS's exception name. */
export const checkSignature = async (
  { method, path, query, headers, body }: Omit<CloudRequest, "seed">,
  key: Key,
  now: number
): Promise<Refusal | undefined> => {
  const { authorization, host = "", "x-amz-date": stamp = "", "x-amz-security-token": session } = headers
  if (authorization === undefined) return unsigned("MissingAuthenticationToken", "Missing Authentication Token")
  const [match, id, list = ""] = AUTHORIZATION.exec(authorization) ?? []
  const names = list.split(";")
  const date = new Date(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))
  const complete = match !== undefined && names.includes("host") && names.includes("x-amz-date")
  const needs = "Authorization header requires existence of a valid Credential, SignedHeaders and Signature."
  if (!complete || Number.isNaN(date.getTime())) return unsigned("IncompleteSignature", needs)
  if (id !== key.accessKeyId || session !== undefined)
    return unsigned("UnrecognizedClient", "The security token included in the request is invalid.")
  if (Math.abs(now - date.getTime()) > SKEW)
    return unsigned("InvalidSignature", `Signature expired: ${stamp} is not within 5 min. of the current time.`)
  const service = { service: "bedrock", region: key.region, sha256: Hash.bind(null, "sha256"), applyChecksum: false }
  const signed = Record.filter(headers, (_, name) => names.includes(name))
  const again = await new SignatureV4({ ...service, credentials: key }).sign(
    { method, path, body, protocol: "http:", hostname: host, query: Object.fromEntries(query), headers: signed },
    { signingDate: date, signableHeaders: new Set(names) }
  )
  const { "x-amz-content-sha256": sum = hash("sha256", body) } = headers
  const digestOf = (value = "") => Buffer.from(hash("sha256", value.replaceAll(", ", ",")))
  const same = timingSafeEqual(digestOf(again.headers.authorization), digestOf(authorization))
  return same && sum === hash("sha256", body) ? undefined : unsigned("InvalidSignature", MISMATCH)
}

const codec = new EventStreamCodec(toUtf8, fromUtf8)
const header = (value: string) => ({ type: "string" as const, value })

/** An event, or an exception (`throttlingException`, …). */
export const frame = (kind: "event" | "exception", name: string, body: JsonObject): Uint8Array => {
  const type = { [`:${kind}-type`]: header(name), ":content-type": header("application/json") }
  return codec.encode({ headers: { ...type, ":message-type": header(kind) }, body: Buffer.from(JSON.stringify(body)) })
}

/** A `chunk` event that carries this text; `p` is the padding that hides its length. */
export const chunk = (text: string): Uint8Array => {
  const p = "abcdefghijklmnopqrstuvwxyz".slice(0, text.length % 26)
  return frame("event", "chunk", { bytes: Buffer.from(text).toString("base64"), p })
}

/** A refusal of the service; those of the model's own API come wrapped. */
const unserved = (message: string) => new Refusal({ status: 400, message, code: "ValidationException" })

const refused = ({ status, message, code }: Refusal): Reply => {
  const plain = status !== 400 || code !== undefined || /^(?:invalid beta flag|Malformed input request)/.test(message)
  return awsReply(status, plain ? message : `The model returned the following errors: ${message}`, undefined, code)
}

const streamed = {
  "content-type": "application/vnd.amazon.eventstream",
  "x-amzn-bedrock-content-type": "application/json"
}
const exception = ({ name, message }: Failure): Uint8Array => {
  const original = { originalStatusCode: 500, originalMessage: "sandbox" }
  return frame("exception", name, { message, ...(name === "modelStreamErrorException" && original) })
}

const claudeAnswer = (request: CloudRequest, body: JsonObject, model: ClaudeModel, operation: string): Answer => {
  const { anthropic_beta: betas = [] } = body
  if (!Array.isArray(betas)) throw invalid("anthropic_beta: Input should be a valid list")
  const counting = operation === "count-tokens"
  const context = { platform: "bedrock" as const, model, betas: arrayOf(betas).map(stringOf), counting }
  const { directives, message, events } = playClaude(body, context, request.seed)
  const whole = () => jsonReply(200, message)
  if (events === undefined || operation !== "invoke-with-response-stream") return { directives, whole }
  const usage = objectOf(message.usage)
  const metrics = {
    ...{ inputTokenCount: usage.input_tokens, outputTokenCount: usage.output_tokens },
    ...{ invocationLatency: 5, firstByteLatency: 2, cacheReadInputTokenCount: usage.cache_read_input_tokens },
    cacheWriteInputTokenCount: usage.cache_creation_input_tokens
  }
  const frameOf = (data: JsonObject) => {
    const last = data.type === "message_stop" && { "amazon-bedrock-invocationMetrics": metrics }
    return chunk(JSON.stringify({ ...data, ...last }))
  }
  const sent = { headers: streamed, garbage: chunk("{not json"), error: exception }
  return { directives, whole, stream: () => ({ ...sent, frames: events().map(frameOf) }) }
}

const TOO_LARGE =
  "1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000"

const modelAnswer = (models: Models, request: CloudRequest, id: string, operation: string): Answer => {
  if (request.body.length > 25_000_000) throw unserved(TOO_LARGE)
  const body = parseBody(request.body)
  if (body === undefined) throw invalid("Malformed input request, please reformat your input and try again.")
  if (models.isEmbedding(id)) {
    if (operation !== "invoke") throw unserved("The provided model doesn't support this operation.")
    return { directives: readDirectives(stringOf(body.inputText)), whole: () => jsonReply(200, embedTitan(body)) }
  }
  const { model, deployment } = models.claude("bedrock", id) ?? {}
  if (model === undefined) throw unserved("The provided model identifier is invalid.")
  if (operation === "count-tokens") {
    if (deployment?.countModel !== id) throw unserved("The provided model doesn't support counting tokens.")
    const sent = stringOf(objectOf(objectOf(body.input).invokeModel).body)
    const counted = readObject(Buffer.from(sent, "base64").toString())
    if (counted === undefined) throw unserved("The body of the invokeModel input is not valid JSON.")
    return claudeAnswer(request, counted, model, operation)
  }
  const instead = "Retry your request with the ID or ARN of an inference profile that contains this model."
  if (deployment?.model !== id)
    throw unserved(`Invocation of model ID ${id} with on-demand throughput isn’t supported. ${instead}`)
  return claudeAnswer(request, body, model, operation)
}

const openaiRoutes = new Map([
  ["/openai/v1/chat/completions", playChat],
  ["/openai/v1/responses", playResponses]
])
const MODEL = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream|count-tokens)$/

/** Plays Amazon Bedrock's runtime: InvokeModel for Claude and Titan, CountTokens, and the OpenAI-compatible routes. */
export const bedrock = (models: Models): SimulatedCloud => {
  const key: Key = {
    accessKeyId: `AKIA${randomBytes(8).toString("hex").toUpperCase()}`,
    secretAccessKey: secret(),
    region: "us-gov-west-1"
  }
  const bearer = secret("bedrock-api-key-")
  const route = (request: CloudRequest): Reply => {
    const [match, id = "", operation = ""] = MODEL.exec(request.path) ?? []
    const play = openaiRoutes.get(request.path)
    if (request.method === "POST" && play !== undefined)
      return serve(request, play, { cloud: "bedrock", hosted: false, models })
    if (request.method === "POST" && match !== undefined)
      return answered(() => modelAnswer(models, request, unescape(id), operation), awsReply, refused)
    return jsonReply(200, { Output: { __type: "com.amazon.coral.service#UnknownOperationException" }, Version: "1.0" })
  }
  return {
    bearer,
    environment: (url) => ({
      BEDROCK_REGION: key.region,
      BEDROCK_BASE_URL: url,
      AWS_ACCESS_KEY_ID: key.accessKeyId,
      AWS_SECRET_ACCESS_KEY: key.secretAccessKey
    }),
    answer: async (request) => {
      const signed = request.headers.authorization !== `Bearer ${bearer}`
      const [, scoped = ""] = /\/\d{8}\/([^/]+)\/bedrock\//.exec(request.headers.authorization ?? "") ?? []
      const region = models.isRegion("bedrock", scoped) ? scoped : key.region
      const denied = signed ? await checkSignature(request, { ...key, region }, Date.now()) : undefined
      const { headers, ...reply } = denied === undefined ? route(request) : refused(denied)
      const requestId = request.seed.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, "$1-$2-$3-$4-$5")
      return { ...reply, headers: { "x-amzn-requestid": requestId, ...headers } }
    }
  }
}
