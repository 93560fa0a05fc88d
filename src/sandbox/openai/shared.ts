/** What OpenAI's APIs have in common: refusals, errors, and what holds for parameters of both. */
import { check, jsonReply, Refusal, type Reply } from "../http.ts"
import { type JsonObject, objectOf, stringOf } from "../json.ts"
import { decodeBase64, sniff } from "../media.ts"
import type { GptModel } from "../models.ts"

/** Which cloud's variant of the OpenAI API is played. */
export type Platform = "azure" | "bedrock"

/** A request that OpenAI's API refuses, with the parameter it is about. */
export class OpenAiRefusal extends Refusal {
  readonly param: string | null
  constructor(message: string, param: string | null = null, code?: string, status = 400) {
    super(status, message, code)
    this.param = param
  }
}

/** Refuses as OpenAI does unless the condition holds. */
export const insist = (condition: boolean, message: string, param: string | null = null, code?: string): void => {
  if (!condition) throw new OpenAiRefusal(message, param, code)
}

const typeOf = (status: number): string => {
  if (status === 429) return "rate_limit_error"
  return status >= 500 || status === 408 || status === 424 ? "server_error" : "invalid_request_error"
}

/** An error body of OpenAI's API. */
export const openaiError = (
  status: number,
  message: string,
  code: string | null = status === 429 ? "rate_limit_exceeded" : null,
  param: string | null = null
): JsonObject => ({ error: { message, type: typeOf(status), param, code } })

/** A cloud's reply to a status directive, with its own code for a rate limit. */
export const failedReply = (platform: Platform, status: number, retryAfter?: string): Reply => {
  const message =
    status === 429
      ? `Requests to the API have exceeded the token rate limit. Please retry after ${retryAfter ?? "1"} seconds.`
      : "The sandbox was asked for this status."
  const headers: Record<string, string> = retryAfter === undefined ? {} : { "retry-after": retryAfter }
  if (platform === "azure") {
    if (retryAfter !== undefined) headers["retry-after-ms"] = String(Number(retryAfter) * 1000)
    return jsonReply(
      status,
      { error: { code: status === 429 ? "RateLimitReached" : String(status), message } },
      headers
    )
  }
  return jsonReply(status, openaiError(status, message), headers)
}

/** Azure's answer to a prompt that its content filter blocks. */
export const filteredReply = (): Reply =>
  jsonReply(400, {
    error: {
      message:
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
      type: null,
      param: "prompt",
      code: "content_filter",
      status: 400,
      innererror: {
        code: "ResponsibleAIPolicyViolation",
        content_filter_result: { ...filterResults(), jailbreak: { filtered: true, detected: true } }
      }
    }
  })

/** Azure's content-filter annotations for text that passed. */
export const filterResults = (): JsonObject =>
  Object.fromEntries(
    ["hate", "self_harm", "sexual", "violence"].map((name) => [name, { filtered: false, severity: "safe" }])
  )

/** How likely a token was, as the APIs say it; here a piece of text is a token. */
export const logprob = (token: string): JsonObject => ({
  token,
  logprob: -0.01,
  bytes: [...Buffer.from(token)],
  top_logprobs: []
})

/** A refusal as a reply. */
export const refusedReply = (error: unknown): Reply => {
  if (error instanceof OpenAiRefusal)
    return jsonReply(error.status, openaiError(error.status, error.message, error.code ?? null, error.param))
  if (error instanceof Refusal)
    return jsonReply(error.status, openaiError(error.status, error.message, error.code ?? null))
  throw error
}

/** The effort of a request: checked against the model, or the model's default. */
export const effortOf = (given: unknown, param: string, model: GptModel): string => {
  if (given === undefined || given === null) return model.defaultEffort
  const values = model.efforts.map((value) => `'${value}'`).join(", ")
  insist(
    typeof given === "string" && model.efforts.includes(given),
    `Unsupported value: '${String(given)}' is not supported with the '${model.base}' model. Supported values are: ${values}.`,
    param,
    "unsupported_value"
  )
  return String(given)
}

/** Sampling parameters: a reasoning model takes them only while it does not reason. */
export const checkSampling = (
  body: JsonObject,
  names: ReadonlyArray<string>,
  model: GptModel,
  effort: string
): void => {
  for (const name of names) {
    const value = body[name]
    if (value === undefined || value === null) continue
    const fixed = !model.inlineReasoning && effort !== "none"
    insist(!fixed, `Unsupported parameter: '${name}' is not supported with this model.`, name, "unsupported_parameter")
  }
  const { temperature, top_p: topP } = body
  insist(
    typeof temperature !== "number" || (temperature >= 0 && temperature <= 2),
    "Invalid 'temperature': expected a value between 0 and 2.",
    "temperature",
    "decimal_above_max_value"
  )
  insist(
    typeof topP !== "number" || (topP >= 0 && topP <= 1),
    "Invalid 'top_p': expected a value between 0 and 1.",
    "top_p",
    "decimal_above_max_value"
  )
}

/** Checks an image given as a data URI, and reads its type and size. Nothing is fetched. */
export const imageOf = (
  url: string,
  param: string,
  model: GptModel
): { readonly type: string; readonly bytes: number } => {
  insist(model.images, "This model does not support image inputs.", param, "unsupported_content_type")
  const [prefix, type] = /^data:(image\/(?:png|jpeg|gif|webp));base64,/.exec(url) ?? []
  if (prefix === undefined || type === undefined) {
    throw new OpenAiRefusal(
      "Invalid image URL. Only data URIs of supported image types are accepted.",
      param,
      "invalid_image_url"
    )
  }
  const bytes = decodeBase64(url.slice(prefix.length))
  const found = bytes === undefined ? undefined : sniff(bytes)
  check(
    found?.startsWith("image/") === true,
    "The image data you provided does not represent a valid image. Please check your input and try again.",
    "invalid_image_format"
  )
  return { type: found ?? type, bytes: bytes?.length ?? 0 }
}

/** Checks a function's name and parameters. */
export const toolOf = (definition: JsonObject, path: string) => {
  const name = stringOf(definition.name)
  insist(
    /^[a-zA-Z0-9_-]{1,64}$/.test(name),
    `Invalid '${path}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
    `${path}.name`,
    "invalid_value"
  )
  const schema = objectOf(definition.parameters)
  insist(
    definition.parameters === undefined || definition.parameters === null || schema.type === "object",
    `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: "${String(schema.type)}"'.`,
    `${path}.parameters`,
    "invalid_function_parameters"
  )
  return { name, description: stringOf(definition.description), schema }
}
