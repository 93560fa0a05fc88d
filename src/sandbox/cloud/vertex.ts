/** Vertex AI: its routes, credentials, errors and framing. */
import { unescape } from "node:querystring"
import { playClaude } from "../claude/claude.ts"
import { answered, type Failed, type Failure } from "../faults.ts"
import { playGemini } from "../gemini/generateContent.ts"
import { type CloudRequest, eventStream, jsonReply, type Reply, type SimulatedCloud, secret, sse } from "../http.ts"
import { type JsonObject, parseBody, stringOf } from "../json.ts"
import type { Models } from "../models.ts"
import { claudeError, googleReply } from "./errors.ts"

const PATH = /^\/v1\/projects\/([^/]+)\/locations\/([^/]+)\/publishers\/(anthropic|google)\/models\/([^/:]+):(\w+)$/

/** The statuses of a Messages stream that differ from those of Bedrock's exceptions. */
const inStream: Readonly<Record<number, number>> = { 408: 504, 424: 500, 503: 529 }

const missing = (model: string): Reply =>
  googleReply(404, `Publisher Model \`${model}\` was not found or your project does not have access to it.`)

const claudeReply = (request: CloudRequest, body: JsonObject, id: string, method: string, models: Models): Reply => {
  const counting = id === "count-tokens"
  const name = counting ? stringOf(body.model) : id
  const model = models.claude("vertex", name)?.model
  if (model === undefined) return missing(`publishers/anthropic/models/${name}`)
  const request_id = `req_vrtx_01${request.seed.slice(0, 22)}`
  const headers = { "request-id": request_id }
  const betas = (request.headers["anthropic-beta"] ?? "").split(",").map((beta) => beta.trim())
  const context = { platform: "vertex" as const, model, betas: betas.filter((beta) => beta !== ""), counting }
  // These are Anthropic's own errors; all others are Google's.
  const failed: Failed = (status, message, retryAfter) =>
    [400, 413, 529].includes(status)
      ? jsonReply(status, { ...claudeError(status, message), request_id }, headers)
      : googleReply(status, message, retryAfter)
  const error = ({ name: type, status, message }: Failure) => {
    const own = type.endsWith("_error") && { type: "error", error: { type, message } }
    return sse(own || claudeError(inStream[status] ?? status, message))
  }
  const answer = () => {
    const { directives, message, events } = playClaude(body, context, request.seed)
    const whole = () => jsonReply(200, message, headers)
    if (events === undefined || method !== "streamRawPredict" || body.stream !== true) return { directives, whole }
    const garbage = "event: content_block_delta\ndata: {not json\n\n"
    const sent = { ...eventStream, "cache-control": "no-cache", ...headers }
    return { directives, whole, stream: () => ({ headers: sent, frames: events().map(sse), garbage, error }) }
  }
  return answered(answer, failed)
}

const UNAUTHENTICATED =
  "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."

/** Plays Vertex AI: the Claude partner models with their count endpoint, and Gemini. */
export const vertex = (models: Models): SimulatedCloud => {
  const home = { project: "sandbox-project", location: "us-east5" }
  const bearer = secret("ya29.sandbox-")
  return {
    bearer,
    environment: (url) => ({
      VERTEX_PROJECT: home.project,
      VERTEX_LOCATION: home.location,
      VERTEX_ACCESS_TOKEN: bearer,
      VERTEX_BASE_URL: url
    }),
    answer: (request) => {
      const { path, headers } = request
      const [match, project, location, publisher, id = "", method = ""] = PATH.exec(unescape(path)) ?? []
      const forbidden = `Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/${project}' (or it may not exist).`
      if (match === undefined) return googleReply(404, `The requested URL ${path} was not found on this server.`)
      if (request.method !== "POST") return googleReply(405, "Method not allowed.")
      if (headers.authorization !== `Bearer ${bearer}`) return googleReply(401, UNAUTHENTICATED)
      if (project !== home.project) return googleReply(403, forbidden)
      if (location !== home.location && !models.isRegion("vertex", location ?? ""))
        return googleReply(404, `Location ${location} is not supported by this project.`)
      const body = parseBody(request.body)
      if (body === undefined) return googleReply(400, "Invalid JSON payload received. Unexpected end of string.")
      if (publisher === "google") {
        const model = models.gemini(id)
        if (model === undefined)
          return missing(`projects/${project}/locations/${location}/publishers/google/models/${id}`)
        return answered(() => playGemini(request, body, model, method), googleReply)
      }
      return method === "rawPredict" || method === "streamRawPredict"
        ? claudeReply(request, body, id, method, models)
        : googleReply(404, `Method ${method} not found.`)
    }
  }
}
