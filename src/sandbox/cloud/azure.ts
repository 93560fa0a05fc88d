/** How Azure OpenAI answers: its routes, credentials and headers. */
import { type CloudRequest, jsonReply, type Reply } from "../http.ts"
import type { Models } from "../models.ts"
import { playChat } from "../openai/chat.ts"
import { playResponses } from "../openai/responses.ts"
import { azureError, serve } from "../openai/serve.ts"
import type { Access } from "./access.ts"

const PATH = /^\/openai(?:\/v1|\/deployments\/([^/]+))?\/(chat\/completions|responses)$/

const refused = (status: number, message: string, code = String(status)): Reply =>
  jsonReply(status, azureError(code, message))

const answer = (request: CloudRequest, { azureKey, azureBearer }: Access, models: Models): Reply => {
  const { headers, path, query } = request
  if (headers["api-key"] !== azureKey && headers.authorization !== `Bearer ${azureBearer}`) {
    const denied =
      "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."
    return refused(401, denied)
  }
  const [match, deployment, api = ""] = PATH.exec(path) ?? []
  const current = path.startsWith("/openai/v1/")
  const version = query.get("api-version")
  if (match === undefined || (!current && version === null)) return refused(404, "Resource not found")
  if (request.method !== "POST") return refused(405, "Method not allowed")
  if (current && version !== null && !["preview", "latest", "v1"].includes(version))
    return refused(400, "API version not supported", "BadRequest")
  const place = { azure: true, models, deployment: deployment && decodeURIComponent(deployment) }
  return serve(request, api === "responses" ? playResponses : playChat, place)
}

/** Plays Azure OpenAI: chat completions and Responses on the `v1` routes, and on the older routes that take an `api-version`. */
export const azure =
  (access: Access, models: Models) =>
  (request: CloudRequest): Reply => {
    const reply = answer(request, access, models)
    const id = request.seed.slice(0, 32)
    const headers = { "apim-request-id": id, "x-request-id": id, "x-ms-region": "usgovvirginia" }
    return { ...reply, headers: { ...headers, ...reply.headers } }
  }
