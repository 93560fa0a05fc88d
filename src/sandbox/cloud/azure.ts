/** Azure OpenAI: its routes, credentials and headers. */
import { type CloudRequest, jsonReply, type Reply, type SimulatedCloud, secret } from "../http.ts"
import type { Models } from "../models.ts"
import { playChat } from "../openai/chat.ts"
import { playResponses } from "../openai/responses.ts"
import { hostError, serve } from "../openai/shared.ts"

const PATH = /^\/openai\/v1\/(chat\/completions|responses)$/
const DENIED =
  "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."

const refused = (status: number, message: string): Reply => jsonReply(status, hostError(String(status), message))

/** Plays Azure OpenAI: chat completions and Responses on the `v1` routes. */
export const azure = (models: Models): SimulatedCloud => {
  const key = secret()
  const bearer = secret("eyJ")
  const route = (request: CloudRequest): Reply => {
    const { headers, method, path } = request
    const [, api] = PATH.exec(path) ?? []
    if (headers["api-key"] !== key && headers.authorization !== `Bearer ${bearer}`) return refused(401, DENIED)
    if (api === undefined) return refused(404, "Resource not found")
    if (method !== "POST") return refused(405, "Method not allowed")
    const play = api === "responses" ? playResponses : playChat
    return serve(request, play, { cloud: "azure", hosted: true, models })
  }
  return {
    bearer,
    environment: (url) => ({ AZURE_OPENAI_ENDPOINT: url, AZURE_OPENAI_API_KEY: key }),
    answer: (request) => {
      const { headers, ...reply } = route(request)
      const id = request.seed.slice(0, 32)
      return {
        ...reply,
        headers: { "apim-request-id": id, "x-request-id": id, "x-ms-region": "usgovvirginia", ...headers }
      }
    }
  }
}
