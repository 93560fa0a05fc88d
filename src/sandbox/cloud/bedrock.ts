/** How Amazon Bedrock's runtime answers: its routes, credentials, errors and framing. */
import { EventStreamCodec } from "@smithy/core/event-streams"
import { fromUtf8, toUtf8 } from "@smithy/core/serde"
import { type Cost, type Framing, playClaude } from "../claude/answer.ts"
import { readDirectives } from "../directives.ts"
import { answered } from "../faults.ts"
import { type CloudRequest, invalid, jsonReply, Refusal, type Reply } from "../http.ts"
import { arrayOf, type JsonObject, objectOf, parseBody, readObject, stringOf } from "../json.ts"
import type { ClaudeModel, Models } from "../models.ts"
import { playChat } from "../openai/chat.ts"
import { playResponses } from "../openai/responses.ts"
import { serve } from "../openai/serve.ts"
import { embedTitan } from "../titan/embeddings.ts"
import type { Access } from "./access.ts"
import { awsReply } from "./errors.ts"
import { checkSignature } from "./sigv4.ts"

const codec = new EventStreamCodec(toUtf8, fromUtf8)

const header = (value: string) => ({ type: "string" as const, value })

/** An event, or an exception (`throttlingException`, …). */
export const frame = (kind: "event" | "exception", name: string, body: JsonObject): Uint8Array =>
  codec.encode({
    headers: {
      [`:${kind}-type`]: header(name),
      ":content-type": header("application/json"),
      ":message-type": header(kind)
    },
    body: Buffer.from(JSON.stringify(body))
  })

/** A `chunk` event that carries this text; `p` is the padding that hides its length. */
export const chunk = (text: string): Uint8Array => {
  const p = "abcdefghijklmnopqrstuvwxyz".slice(0, text.length % 26)
  return frame("event", "chunk", { bytes: Buffer.from(text).toString("base64"), p })
}

const refused = ({ status, message, code }: Refusal): Reply => {
  // What the model's own API refuses comes wrapped; what the service itself refuses does not.
  const plain = status !== 400 || message === "invalid beta flag" || message.startsWith("Malformed input request")
  return awsReply(status, plain ? message : `The model returned the following errors: ${message}`, undefined, code)
}

const costHeaders = ({ input, output }: Cost) => ({
  "x-amzn-bedrock-input-token-count": String(input),
  "x-amzn-bedrock-output-token-count": String(output),
  "x-amzn-bedrock-invocation-latency": "5"
})

const claudeReply = (request: CloudRequest, body: JsonObject, model: ClaudeModel, operation: string): Reply => {
  const betas = body.anthropic_beta
  if (betas !== undefined && !Array.isArray(betas)) throw invalid("anthropic_beta: Input should be a valid list")
  const counting = operation === "count-tokens"
  const context = { platform: "bedrock" as const, model, betas: arrayOf(betas).map(stringOf), counting }
  const framing: Framing = {
    whole: (said, cost) => jsonReply(200, said, cost && costHeaders(cost)),
    streams: operation === "invoke-with-response-stream",
    frame: (data, { input, output }) => {
      const metrics = { inputTokenCount: input, outputTokenCount: output, invocationLatency: 5, firstByteLatency: 2 }
      const last = data.type === "message_stop" && { "amazon-bedrock-invocationMetrics": metrics }
      return chunk(JSON.stringify({ ...data, ...last }))
    },
    headers: {
      "content-type": "application/vnd.amazon.eventstream",
      "x-amzn-bedrock-content-type": "application/json"
    },
    garbage: chunk("{not json"),
    error: ({ name, message }) => {
      const original = { originalStatusCode: 500, originalMessage: "sandbox" }
      return frame("exception", name, { message, ...(name === "modelStreamErrorException" && original) })
    }
  }
  return answered(() => playClaude(body, context, request.seed, framing), awsReply, refused)
}

const modelReply = (models: Models, request: CloudRequest, id: string, operation: string): Reply => {
  const body = parseBody(request.body)
  if (body === undefined) return awsReply(400, "Malformed input request, please reformat your input and try again.")
  if (models.isEmbedding(id)) {
    if (operation !== "invoke") return awsReply(400, "The provided model doesn't support this operation.")
    const directives = readDirectives(stringOf(body.inputText))
    return answered(() => ({ directives, whole: () => jsonReply(200, embedTitan(body)) }), awsReply, refused)
  }
  const found = models.claude("bedrock", id)
  if (found === undefined)
    return awsReply(404, "Could not resolve the foundation model from the provided model identifier.")
  if (operation === "count-tokens") {
    if (found.deployment.countModel !== id) return awsReply(400, "The provided model doesn't support counting tokens.")
    const sent = stringOf(objectOf(objectOf(body.input).invokeModel).body)
    const counted = readObject(Buffer.from(sent, "base64").toString())
    if (counted === undefined) return awsReply(400, "The body of the invokeModel input is not valid JSON.")
    return claudeReply(request, counted, found.model, operation)
  }
  if (found.deployment.model === id) return claudeReply(request, body, found.model, operation)
  const instead = "Retry your request with the ID or ARN of an inference profile that contains this model."
  return awsReply(400, `Invocation of model ID ${id} with on-demand throughput isn’t supported. ${instead}`)
}

const answer = async (request: CloudRequest, access: Access, models: Models): Promise<Reply> => {
  const { method, path, headers } = request
  if (headers.authorization !== `Bearer ${access.bedrockBearer}`) await checkSignature(request, access, Date.now())
  const place = { azure: false, models }
  if (method === "POST" && path === "/openai/v1/chat/completions") return serve(request, playChat, place)
  if (method === "POST" && path === "/openai/v1/responses") return serve(request, playResponses, place)
  const match = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream|count-tokens)$/.exec(path)
  if (match !== null && method === "POST")
    return modelReply(models, request, decodeURIComponent(match[1] ?? ""), match[2] ?? "")
  return jsonReply(200, { Output: { __type: "com.amazon.coral.service#UnknownOperationException" }, Version: "1.0" })
}

/** Plays Amazon Bedrock's runtime: InvokeModel for Claude and Titan, CountTokens, and the OpenAI-compatible routes. */
export const bedrock =
  (access: Access, models: Models) =>
  async (request: CloudRequest): Promise<Reply> => {
    const reply = await answer(request, access, models).catch((error: unknown) => {
      if (error instanceof Refusal) return refused(error)
      throw error
    })
    const requestId = request.seed.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, "$1-$2-$3-$4-$5")
    return { ...reply, headers: { "x-amzn-requestid": requestId, ...reply.headers } }
  }
