/** How Azure OpenAI answers: its routes, credentials and headers. */
import { type CloudRequest, jsonReply, type Reply } from "../http.ts"
import type { Models } from "../models.ts"
import { answerChat } from "../openai/chat.ts"
import { answerResponses } from "../openai/responses.ts"
import { digest } from "../signature.ts"

/** What this Azure OpenAI resource knows: its key, an Entra ID token it accepts, and its deployments. */
export interface AzureOptions {
  readonly apiKey: string
  readonly bearer: string
  readonly models: Models
}

const PATH = /^\/openai(?:\/v1|\/deployments\/([^/]+))?\/(chat\/completions|responses)$/

const refused = (status: number, message: string, code = String(status)): Reply =>
  jsonReply(status, { error: { code, message } })

/** Plays Azure OpenAI: chat completions and Responses on the `v1` routes, and on the older routes that take an `api-version`. */
export const azure = (options: AzureOptions) => {
  const find = (id: string) => options.models.gpt("azure", id)
  const answer = (request: CloudRequest): Reply => {
    const { headers, query } = request
    if (headers["api-key"] !== options.apiKey && headers.authorization !== `Bearer ${options.bearer}`) {
      return refused(
        401,
        "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."
      )
    }
    const match = PATH.exec(request.path)
    const current = request.path.startsWith("/openai/v1/")
    const version = query.get("api-version")
    if (match === null || (!current && version === null)) return refused(404, "Resource not found")
    if (request.method !== "POST") return refused(405, "Method not allowed")
    if (current && version !== null && !["preview", "latest", "v1"].includes(version))
      return refused(400, "API version not supported", "BadRequest")
    const deployment = match[1] === undefined ? undefined : decodeURIComponent(match[1])
    const place = { platform: "azure", find, deployment } as const
    return match[2] === "responses" ? answerResponses(request, place) : answerChat(request, place)
  }
  return (request: CloudRequest): Reply => {
    const reply = answer(request)
    const id = digest(request.path, request.body).slice(0, 32)
    return {
      ...reply,
      headers: { "apim-request-id": id, "x-request-id": id, "x-ms-region": "usgovvirginia", ...reply.headers }
    }
  }
}
