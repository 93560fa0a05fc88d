/** How Amazon Bedrock's runtime answers: its routes, credentials, errors and framing. */
import { answerClaude } from "../claude/answer.ts"
import { readClaude } from "../claude/request.ts"
import { answered, exceptionMessage } from "../faults.ts"
import { type CloudRequest, jsonReply, Refusal, type Reply } from "../http.ts"
import { isObject, type JsonObject, listOf, objectOf, parseJson, stringOf } from "../json.ts"
import type { ClaudeModel, Models } from "../models.ts"
import { answerChat } from "../openai/chat.ts"
import { answerResponses } from "../openai/responses.ts"
import { digest } from "../signature.ts"
import { embedTitan } from "../titan/embeddings.ts"
import { chunkFrame, exceptionFrame } from "./eventStream.ts"
import { checkSignature, type SigningKey } from "./sigv4.ts"

/** What this Bedrock knows: the key it checks signatures with, its API key, and its models. */
export interface BedrockOptions extends SigningKey {
  readonly bearer: string
  readonly models: Models
}

const exceptions: Readonly<Record<number, string>> = {
  400: "ValidationException",
  403: "AccessDeniedException",
  404: "ResourceNotFoundException",
  408: "ModelTimeoutException",
  424: "ModelErrorException",
  429: "ThrottlingException",
  500: "InternalServerException",
  503: "ServiceUnavailableException"
}

const awsReply = (status: number, message: string, code?: string | null, retryAfter?: string): Reply =>
  jsonReply(
    status,
    { message },
    {
      "x-amzn-errortype": `${code ?? exceptions[status] ?? "InternalServerException"}:http://internal.amazon.com/coral/com.amazon.bedrock/`,
      ...(retryAfter === undefined ? {} : { "retry-after": retryAfter })
    }
  )

const failed = (status: number, message: string, retryAfter?: string): Reply =>
  awsReply(status, message, undefined, retryAfter)

const wrapped = (error: unknown): Reply => {
  if (!(error instanceof Refusal)) throw error
  if (error.status !== 400) return awsReply(error.status, error.message)
  // What the model's own API refuses comes wrapped; what the service itself refuses does not.
  const plain = error.message === "invalid beta flag" || error.message.startsWith("Malformed input request")
  return awsReply(400, plain ? error.message : `The model returned the following errors: ${error.message}`)
}

const betasOf = (body: JsonObject): ReadonlyArray<string> => {
  const betas = body.anthropic_beta
  if (betas !== undefined && !Array.isArray(betas))
    throw new Refusal(400, "anthropic_beta: Input should be a valid list")
  return listOf(betas).map((beta) => stringOf(beta))
}

const contextOf = (body: JsonObject, model: ClaudeModel, counting: boolean) => ({
  platform: "bedrock" as const,
  model,
  betas: betasOf(body),
  counting
})

const countReply = (models: Models, id: string, body: JsonObject): Reply => {
  const found = models.claude("bedrock", id)
  if (found?.countable !== true) {
    return awsReply(400, "The provided model doesn't support counting tokens.")
  }
  const inner = objectOf(objectOf(body.input).invokeModel).body
  const parsed = parseJson(Buffer.from(stringOf(inner), "base64").toString())
  if (!isObject(parsed)) return awsReply(400, "The body of the invokeModel input is not valid JSON.")
  const { inputTokens, turn } = readClaude(parsed, contextOf(parsed, found.model, true))
  return answered(
    { ...turn.directives, exception: undefined },
    { failed, whole: () => jsonReply(200, { inputTokens }) }
  )
}

const invokeReply = (
  models: Models,
  request: CloudRequest,
  id: string,
  body: JsonObject,
  streaming: boolean
): Reply => {
  const found = models.claude("bedrock", id)
  if (found === undefined)
    return awsReply(404, `Could not resolve the foundation model from the provided model identifier.`)
  if (!found.callable) {
    return awsReply(
      400,
      `Invocation of model ID ${id} with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.`
    )
  }
  const { model } = found
  const answer = answerClaude(body, contextOf(body, model, false), {
    tag: "bdrk",
    model: model.base,
    seed: digest(request.path, request.body)
  })
  const { directives } = answer.request.turn
  const metrics = {
    inputTokenCount: answer.request.inputTokens,
    outputTokenCount: answer.outputTokens,
    invocationLatency: 5,
    firstByteLatency: 2
  }
  const stream = () => ({
    frames: answer.events().map(({ data, word }) => {
      const terminal = data.type === "message_stop"
      const text = JSON.stringify(terminal ? { ...data, "amazon-bedrock-invocationMetrics": metrics } : data)
      return { bytes: chunkFrame(text), word, terminal }
    }),
    headers: {
      "content-type": "application/vnd.amazon.eventstream",
      "x-amzn-bedrock-content-type": "application/json"
    },
    garbage: chunkFrame("{not json"),
    error: (name: string) =>
      exceptionFrame(name, {
        message: exceptionMessage(name),
        ...(name === "modelStreamErrorException" && { originalStatusCode: 500, originalMessage: "sandbox" })
      })
  })
  const whole = () =>
    jsonReply(200, answer.message(), {
      "x-amzn-bedrock-input-token-count": String(metrics.inputTokenCount),
      "x-amzn-bedrock-output-token-count": String(metrics.outputTokenCount),
      "x-amzn-bedrock-invocation-latency": String(metrics.invocationLatency)
    })
  return answered(directives, { failed, stream: streaming ? stream : undefined, whole })
}

const modelReply = (models: Models, request: CloudRequest, id: string, operation: string): Reply => {
  const body = parseJson(request.body.toString())
  if (!isObject(body)) return awsReply(400, "Malformed input request, please reformat your input and try again.")
  const embeds = models.isEmbedding(id)
  if (!embeds && models.claude("bedrock", id) === undefined)
    return awsReply(404, "Could not resolve the foundation model from the provided model identifier.")
  try {
    if (embeds) {
      const directives = operation === "invoke" ? embedTitan.directives(body) : undefined
      if (directives === undefined) return awsReply(400, "The provided model doesn't support this operation.")
      return answered(directives, { failed, whole: () => jsonReply(200, embedTitan.embed(body)) })
    }
    return operation === "count-tokens"
      ? countReply(models, id, body)
      : invokeReply(models, request, id, body, operation !== "invoke")
  } catch (error) {
    return wrapped(error)
  }
}

/** Plays Amazon Bedrock's runtime: InvokeModel for Claude and Titan, CountTokens, and the OpenAI-compatible routes. */
export const bedrock = (options: BedrockOptions) => {
  const { models } = options
  const answer = async (request: CloudRequest): Promise<Reply> => {
    try {
      if (request.headers.authorization !== `Bearer ${options.bearer}`)
        await checkSignature(request, options, Date.now())
    } catch (error) {
      if (error instanceof Refusal) return awsReply(error.status, error.message, error.code)
      throw error
    }
    const place = { platform: "bedrock", find: (id: string) => models.gpt("bedrock", id) } as const
    if (request.method === "POST" && request.path === "/openai/v1/chat/completions") return answerChat(request, place)
    if (request.method === "POST" && request.path === "/openai/v1/responses") return answerResponses(request, place)
    const match = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream|count-tokens)$/.exec(request.path)
    if (match === null || request.method !== "POST") {
      return jsonReply(200, {
        Output: { __type: "com.amazon.coral.service#UnknownOperationException" },
        Version: "1.0"
      })
    }
    return modelReply(models, request, decodeURIComponent(match[1] ?? ""), match[2] ?? "")
  }
  return async (request: CloudRequest): Promise<Reply> => {
    const reply = await answer(request)
    const id = digest(request.path, request.body)
    const requestId = [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20, 32)].join("-")
    return { ...reply, headers: { "x-amzn-requestid": requestId, ...reply.headers } }
  }
}
