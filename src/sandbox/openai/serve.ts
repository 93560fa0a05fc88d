/** What chat completions and Responses have in common: how a request finds its model, and how it is refused or goes wrong. */
import { type Answer, answered } from "../faults.ts"
import { type CloudRequest, invalid, jsonReply, Refusal, type Reply } from "../http.ts"
import { type JsonObject, parseBody, stringOf } from "../json.ts"
import type { GptModel, Models } from "../models.ts"

/** A request with the model that it names, and what a reply calls the model. `azure`: Azure's variant of the API, or Bedrock's. */
export interface Asked {
  readonly body: JsonObject
  readonly model: GptModel
  readonly name: string
  readonly azure: boolean
  readonly seed: string
}

export const openaiError = (
  status: number,
  message: string,
  code: string | null = status === 429 ? "rate_limit_exceeded" : null,
  param: string | null = null
): JsonObject => {
  const server = status >= 500 || status === 408 || status === 424
  const type = status === 429 ? "rate_limit_error" : server ? "server_error" : "invalid_request_error"
  return { error: { message, type, param, code } }
}

/** Azure's content-filter annotations for text that passed. */
export const filterResults: JsonObject = Object.fromEntries(
  ["hate", "self_harm", "sexual", "violence"].map((name) => [name, { filtered: false, severity: "safe" }])
)

/** How likely a token was, as the APIs say it; here a piece of text is a token. */
export const logprob = (token: string) => ({ token, logprob: -0.01, bytes: [...Buffer.from(token)], top_logprobs: [] })

export const eventStream = { "content-type": "text/event-stream; charset=utf-8" }

/** Azure's answer to a prompt that its content filter blocks. */
const filtered = {
  message:
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
  ...{ type: null, param: "prompt", code: "content_filter", status: 400 },
  innererror: {
    code: "ResponsibleAIPolicyViolation",
    content_filter_result: { ...filterResults, jailbreak: { filtered: true, detected: true } }
  }
}

/** Azure's own errors, which are not of OpenAI's API. */
export const azureError = (code: string, message: string): JsonObject => ({ error: { code, message } })

/** A cloud's reply to a status directive, with its own code for a rate limit. */
const failed = (azure: boolean, status: number, message: string, after?: string): Reply => {
  const limited = `Requests to the API have exceeded the token rate limit. Please retry after ${after ?? "1"} seconds.`
  const said = status === 429 ? limited : message
  const code = status === 429 ? "RateLimitReached" : String(status)
  const body = azure ? azureError(code, said) : openaiError(status, said)
  if (after === undefined) return jsonReply(status, body)
  const milliseconds = azure && { "retry-after-ms": String(Number(after) * 1000) }
  return jsonReply(status, body, { "retry-after": after, ...milliseconds })
}

const noDeployment = azureError(
  "DeploymentNotFound",
  "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."
)

/** Answers a request. `deployment` names the model where the path does and not the body. */
export const serve = (
  request: CloudRequest,
  play: (asked: Asked) => Answer,
  { azure, models, deployment }: { azure: boolean; models: Models; deployment?: string | undefined }
): Reply => {
  const answer = (): Answer => {
    const body = parseBody(request.body)
    if (body === undefined) throw invalid("We could not parse the JSON body of your request.")
    const id = deployment ?? stringOf(body.model)
    const model = models.gpt(azure ? "azure" : "bedrock", id)
    const message = `The model '${id}' does not exist`
    if (model === undefined) throw new Refusal({ status: 404, message, code: "model_not_found", param: "model" })
    const name = azure ? `${model.id}-2025-11-13` : id
    const played = play({ body, model, name, azure, seed: request.seed })
    const { directives } = played
    const blocked = () => jsonReply(400, { error: filtered })
    return directives.flags.has("filter-prompt") ? { directives, whole: blocked } : played
  }
  return answered(
    answer,
    (...error) => failed(azure, ...error),
    ({ status, message, code = null, param }) =>
      azure && code === "model_not_found"
        ? jsonReply(404, noDeployment)
        : jsonReply(status, openaiError(status, message, code, param))
  )
}
