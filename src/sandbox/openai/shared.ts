/** Shared by chat completions and Responses: shapes, refusals, errors, and the look-up of the model. */
import type { Cloud } from "../../catalog/clouds.ts"
import { noDirectives } from "../directives.ts"
import { type Answer, answered } from "../faults.ts"
import { type CloudRequest, invalid, jsonReply, Refusal, type Reply } from "../http.ts"
import { type JsonObject, objectOf, parseBody, printed, stringOf } from "../json.ts"
import { fileOf, sniff } from "../media.ts"
import type { GptModel, Models } from "../models.ts"
import { schemasIn } from "../schemas.ts"
import { quoted, type Shape, shapesIn, under } from "../shape.ts"
import { digest } from "../signature.ts"
import type { Part, Tool, Turn } from "../turn.ts"
import { tuple } from "./schemas.ts"

/** How the message of a refusal with a code begins. */
const CODED =
  /^(?:Unknown parameter|Missing required parameter|Unsupported (?:parameter|value)|Invalid (?:type|value(?=:)))/

/** Without a path, the first quoted name in the message is the parameter. */
const refused = (path: string, message: string): Refusal => {
  const bound = /: ((?:decimal|integer) (?:above max|below min))imum value/.exec(message)
  const code = (bound ? `${bound[1]} value` : CODED.exec(message)?.[0])?.toLowerCase().replaceAll(" ", "_")
  return new Refusal({ status: 400, message, code, param: path || /'([^']+)'/.exec(message)?.[1] })
}

export const { closed, variant, list, insist, where, typed } = shapesIn({
  nullable: true,
  item: (path, index) => `${path}[${index}]`,
  unknown: (path, name) => refused(under(path, name), `Unknown parameter: '${under(path, name)}'.`),
  missing: "Missing required parameter: '{path}'.",
  noList: "Invalid type for '{path}': expected an array of objects.",
  noVariant: (path, tag, name, known) =>
    refused(under(path, tag), `Invalid value: '${name}'. Supported values are: ${known}.`),
  refused
})

export const text = typed((value) => typeof value === "string", "Invalid type for '{path}': expected a string.")

export const textUpTo = (longest: number): Shape<string> =>
  where(
    text,
    ({ length }) => length <= longest,
    ({ length }) =>
      `Invalid '{path}': string too long. Expected a string with maximum length ${longest}, but got a string with length ${length} instead.`
  )

const id = textUpTo(64)
export const identifiers = { user: id, safety_identifier: id, prompt_cache_key: id }

const LETTERS =
  "Invalid '{path}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
export const name = where(textUpTo(64), (name) => /^[a-zA-Z0-9_-]+$/.test(name), LETTERS)

const EMPTY = "Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead."
export const filled = <A>(shape: Shape<A>): Shape<ReadonlyArray<A>> =>
  where(list(shape), (items) => items.length > 0, EMPTY)

export const never = (message: string | ((value: unknown) => string)): Shape<never> =>
  typed((_): _ is never => false, message)

export const word = (...words: ReadonlyArray<string>): Shape<string> =>
  typed(
    (value): value is string => words.some((one) => one === value),
    (value) => `Invalid value: '${printed(value)}'. Supported values are: ${quoted(words)}.`
  )
export const tier = word("auto", "default", "flex", "priority", "scale")
export const verbosity = word("low", "medium", "high")

export const unsupported = (name: string): string =>
  `Unsupported parameter: '${name}' is not supported with this model.`

/** An image by its data URI: nothing is fetched. */
export const imageOf = (model: GptModel, url: unknown, path: string): Part => {
  const [, data] = /^data:image\/(?:png|jpeg|gif|webp);base64,(.*)$/s.exec(stringOf(url)) ?? []
  const { length, type } = sniff(data)
  const rules = {
    "This model does not support image inputs.": model.inputs.includes("image"),
    "Invalid image URL. Only data URIs of supported image types are accepted.": data !== undefined,
    "The image data you provided does not represent a valid image. Please check your input and try again.":
      type.startsWith("image/")
  }
  insist(rules, path)
  return fileOf(type, length)
}

/** A PDF by its data URI, which models that see take (docs/upstreams.md#azure-openai). */
export const pdfOf = (model: GptModel, given: unknown, path: string): Part => {
  const [, data] = /^data:application\/pdf;base64,(.*)$/s.exec(stringOf(given)) ?? []
  const { length, type } = sniff(data)
  const rules = {
    "This model does not support file content types.": model.inputs.includes("image"),
    "The file type you uploaded is not supported. Please try again with a pdf": type === "application/pdf"
  }
  insist(rules, path)
  return fileOf(type, length)
}

/** A text, or parts of these types. */
export const contentOf = (parts: Readonly<Record<string, Shape<Part>>>): Shape<ReadonlyArray<Part>> => {
  const list = filled(variant("type", parts))
  return (value, path) => (typeof value === "string" ? [{ text: value }] : list(value, path))
}

export const textPart: Shape<Part> = (value) => ({ text: stringOf(objectOf(value).text) })

export const toolOf = (value: unknown, path: string): Tool => {
  const { name: given, description, parameters = null } = objectOf(value)
  const called = name(stringOf(given), `${path}.name`)
  const schema = objectOf(parameters)
  const bare = schemasIn(schema, ["anyOf", "allOf", "oneOf", "prefixItems"]).find(
    ([, { type, items }]) => [type].flat().includes("array") && items === undefined
  )
  const invalidSchema = `Invalid schema for function '${called}':`
  const rules = {
    [`${invalidSchema} schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(schema.type ?? "None")}'.`]:
      parameters === null || schema.type === "object",
    [`${invalidSchema} schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`]:
      !["oneOf", "anyOf", "allOf", "enum", "not"].some((word) => word in schema),
    [`${invalidSchema} In context=(), object schema missing properties.`]:
      parameters === null || schema.properties !== undefined,
    [`${invalidSchema} In context=${tuple(bare?.[0] ?? [])}, array schema missing items.`]: bare === undefined
  }
  insist(rules, `${path}.parameters`)
  return { name: called, description: stringOf(description), schema }
}

export const chosen = (name: string, tools: ReadonlyArray<Tool>): Turn["choice"] => {
  const known = tools.some((tool) => tool.name === name)
  insist({ [`Tool choice '${name}' not found in 'tools' parameter.`]: known }, "tool_choice")
  return { name }
}

/** The format of the text; `json_schema` reads a schema where an API has it. */
export const formatOf = (json_schema: Shape<JsonObject>): Shape<Turn["format"]> =>
  variant<Turn["format"]>("type", { text: () => undefined, json_object: () => "json", json_schema })

export const effortOf = ({ id, thinking: { efforts } }: GptModel): Shape<string> => {
  const wrong = (effort: unknown) =>
    `Unsupported value: '${printed(effort)}' is not supported with the '${id}' model. Supported values are: ${quoted(efforts)}.`
  return typed((effort): effort is string => efforts.some((one) => one === effort), wrong)
}

/** Why a number is refused (docs/upstreams.md#parameters-that-are-refused). */
export const outside = (bound: string) => (value: unknown) =>
  `Invalid '{path}': ${bound}, but got ${printed(value)} instead.`

const upTo = (most: number, kind = "decimal") => {
  const number = typed((value) => typeof value === "number", `Invalid type for '{path}': expected a number (${kind}).`)
  const least = outside(`${kind} below minimum value. Expected a value >= 0`)
  const positive = where(number, (value) => value >= 0, least)
  const tooMuch = outside(`${kind} above maximum value. Expected a value <= ${most}`)
  return where(positive, (value) => value <= most, tooMuch)
}
export const sampling = { temperature: upTo(2), top_p: upTo(1), top_logprobs: upTo(20, "integer") }

/** Checks a prompt against the model's window (docs/upstreams.md#prompts-that-are-too-long). */
export const checkLength = (tokens: number, { contextWindow }: GptModel, message: string, param: string): void => {
  if (tokens > contextWindow) throw new Refusal({ status: 400, message, code: "context_length_exceeded", param })
}

/** Sampling parameters: a reasoning model takes them only while it does not reason. */
export const checkSampling = (asked: JsonObject, names: string, model: GptModel, effort: string): void => {
  for (const name of model.inlineReasoning || effort === "none" ? [] : names.split(" "))
    insist({ [unsupported(name)]: (asked[name] ?? null) === null }, name)
}

export const tokens = (least: number): Shape<number> =>
  typed(
    (limit): limit is number => Number.isInteger(limit) && Number(limit) >= least,
    outside(`integer below minimum value. Expected a value >= ${least}`)
  )

/**
 * A request with its model. `name`: the model's name in replies. `hosted`: OpenAI's own service with its content filter, as Azure hosts it,
 * or an API that is compatible with it, as Bedrock's is.
 */
export interface GptRequest {
  readonly body: JsonObject
  readonly model: GptModel
  readonly name: string
  readonly hosted: boolean
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

const likelihood = (token: string, logprob: number) => ({ token, logprob, bytes: [...Buffer.from(token)] })

/** Pieces of text with their probabilities, as if each was a token. Its alternatives begin with itself; the others are invented. */
export const logprobsOf = (pieces: ReadonlyArray<string>, alternatives: number) =>
  pieces.map((piece) => {
    const chosen = likelihood(piece, -0.01)
    const others = Array.from({ length: alternatives }, (_, at) => likelihood(`other${at}`, -5 - at))
    return { ...chosen, top_logprobs: [chosen, ...others].slice(0, alternatives) }
  })

/** Padding that hides how long a piece of a stream is, unless the request does without. */
export const paddingOf = (body: JsonObject, piece: string, ...seed: ReadonlyArray<string>): JsonObject =>
  objectOf(body.stream_options).include_obfuscation === false
    ? {}
    : { obfuscation: digest(...seed).slice(0, 16 - (piece.length % 16)) }

const FILTERED =
  "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry."
const innererror = {
  code: "ResponsibleAIPolicyViolation",
  content_filter_result: { ...filterResults, jailbreak: { filtered: true, detected: true } }
}
/** Azure's answer to a prompt that its content filter blocks. */
const filtered = { message: FILTERED, type: null, param: "prompt", code: "content_filter", status: 400, innererror }

/** An error of the host itself rather than of OpenAI's API. */
export const hostError = (code: string, message: string): JsonObject => ({ error: { code, message } })

/** A cloud's reply to a status directive, with its own code for a rate limit. */
const failed = (hosted: boolean, status: number, message: string, after?: string): Reply => {
  const limited = `Requests to the API have exceeded the token rate limit. Please retry after ${after ?? "1"} seconds.`
  const [code, text] = status === 429 ? ["RateLimitReached", limited] : [String(status), message]
  const body = hosted ? hostError(code, text) : openaiError(status, text)
  return jsonReply(status, body, after === undefined ? {} : { "retry-after": after })
}

const noDeployment = hostError(
  "DeploymentNotFound",
  "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."
)

export const serve = (
  request: CloudRequest,
  play: (request: GptRequest) => Answer,
  { cloud, hosted, models }: { readonly cloud: Cloud; readonly hosted: boolean; readonly models: Models }
): Reply => {
  const answer = (): Answer => {
    const body = parseBody(request.body)
    if (body === undefined) throw invalid("We could not parse the JSON body of your request.")
    const id = stringOf(body.model)
    const model = models.gpt(cloud, id)
    const message = `The model '${id}' does not exist`
    if (model === undefined) throw new Refusal({ status: 404, message, code: "model_not_found", param: "model" })
    const name = hosted ? `${model.id}-2025-11-13` : id
    const played = play({ body, model, name, hosted, seed: request.seed })
    const { status, delay, flags } = played.directives
    if (!hosted || !flags.has("filter-prompt")) return played
    return { directives: { ...noDirectives, status, delay }, whole: () => jsonReply(400, { error: filtered }) }
  }
  const refused = ({ status, message, code, param }: Refusal): Reply =>
    hosted && code === "model_not_found"
      ? jsonReply(404, noDeployment)
      : jsonReply(status, openaiError(status, message, code ?? null, param))
  return answered(answer, (...error) => failed(hosted, ...error), refused)
}
