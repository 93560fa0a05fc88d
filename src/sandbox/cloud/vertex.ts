/** How Vertex AI answers: its routes, credentials, errors and framing. */
import { answerClaude, claudeError, claudeErrorEvent } from "../claude/answer.ts"
import { readClaude } from "../claude/request.ts"
import { answered, exceptionMessage } from "../faults.ts"
import { answerGemini } from "../gemini/answer.ts"
import { type CloudRequest, jsonReply, Refusal, type Reply } from "../http.ts"
import { isObject, type JsonObject, parseJson, stringOf } from "../json.ts"
import type { Models } from "../models.ts"
import { digest } from "../signature.ts"
import { googleReply } from "./google.ts"

/** What this Vertex AI knows: its project and location, the access token it accepts, and its models. */
export interface VertexOptions {
  readonly project: string
  readonly location: string
  readonly token: string
  readonly models: Models
}

const PATH =
  /^\/v1(?:beta1)?\/projects\/([^/]+)\/locations\/([^/]+)\/publishers\/(anthropic|google)\/models\/([^/:]+):(\w+)$/

const sse = (data: JsonObject): string => `event: ${stringOf(data.type)}\ndata: ${JSON.stringify(data)}\n\n`

const betasOf = (request: CloudRequest): ReadonlyArray<string> =>
  (request.headers["anthropic-beta"] ?? "")
    .split(",")
    .map((beta) => beta.trim())
    .filter((beta) => beta !== "")

const claudeReply = (request: CloudRequest, body: JsonObject, id: string, method: string, models: Models): Reply => {
  const counting = id === "count-tokens"
  const name = counting ? stringOf(body.model) : id
  const model = models.claude("vertex", name)?.model
  if (model === undefined) {
    return googleReply(
      404,
      `Publisher Model \`publishers/anthropic/models/${name}\` was not found or your project does not have access to it.`
    )
  }
  const seed = digest(request.path, request.body)
  const requestId = `req_vrtx_01${seed.slice(0, 22)}`
  const headers = { "request-id": requestId }
  const context = { platform: "vertex" as const, model, betas: betasOf(request), counting }
  const failed = (status: number, message: string, retryAfter?: string): Reply =>
    status === 400 || status === 529 || status === 413
      ? jsonReply(status, claudeError(status, message, requestId), headers)
      : googleReply(status, message, retryAfter)
  try {
    if (counting) {
      const { inputTokens, turn } = readClaude(body, context)
      const whole = () => jsonReply(200, { input_tokens: inputTokens }, headers)
      return answered({ ...turn.directives, exception: undefined }, { failed, whole })
    }
    const answer = answerClaude(body, context, { tag: "vrtx", model: model.base, seed })
    const stream = () => ({
      frames: answer
        .events()
        .map(({ data, word }) => ({ bytes: sse(data), word, terminal: data.type === "message_stop" })),
      headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", ...headers },
      garbage: "event: content_block_delta\ndata: {not json\n\n",
      error: (exception: string) => sse(claudeErrorEvent(exception, exceptionMessage(exception)))
    })
    return answered(answer.request.turn.directives, {
      failed,
      stream: method === "streamRawPredict" && body.stream === true ? stream : undefined,
      whole: () => jsonReply(200, answer.message(), headers)
    })
  } catch (error) {
    if (error instanceof Refusal) return failed(error.status, error.message)
    throw error
  }
}

/** Plays Vertex AI: the Claude partner models with their count endpoint, and Gemini. */
export const vertex =
  (options: VertexOptions) =>
  (request: CloudRequest): Reply => {
    const match = PATH.exec(decodeURIComponent(request.path))
    if (match === null) return googleReply(404, `The requested URL ${request.path} was not found on this server.`)
    if (request.method !== "POST") return googleReply(405, "Method not allowed.")
    if (request.headers.authorization !== `Bearer ${options.token}`) {
      return googleReply(
        401,
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
      )
    }
    const [, project, location, publisher, id = "", method = ""] = match
    if (project !== options.project)
      return googleReply(
        403,
        `Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/${project}' (or it may not exist).`
      )
    if (location !== options.location) return googleReply(404, `Location ${location} is not supported by this project.`)
    const body = parseJson(request.body.toString())
    if (!isObject(body)) return googleReply(400, "Invalid JSON payload received. Unexpected end of string.")
    if (publisher === "anthropic") {
      return method === "rawPredict" || method === "streamRawPredict"
        ? claudeReply(request, body, id, method, options.models)
        : googleReply(404, `Method ${method} not found.`)
    }
    const model = options.models.gemini(id)
    return model === undefined
      ? googleReply(
          404,
          `Publisher Model \`projects/${project}/locations/${location}/publishers/google/models/${id}\` was not found or your project does not have access to it.`
        )
      : answerGemini(request, body, model, method)
  }
