/** A Gemini request: its shapes with the refusals of Google's JSON parser, the checks that span it, and what it comes to. */
import { invalid } from "../http.ts"
import { isObject, type Json, type JsonObject, objectOf, printed, stringOf } from "../json.ts"
import { fileOf, sniff } from "../media.ts"
import type { GeminiModel } from "../models.ts"
import { schemasIn } from "../schemas.ts"
import { anything, insist, type Shape, shapesIn } from "../shape.ts"
import { isSigned } from "../signature.ts"
import { type Message, type Part, readTurn, type Tool, textIn } from "../turn.ts"

/** The message for a missing field too: the only required field is a function's name. */
const misnamed =
  "Invalid function name at '{path}'. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 128."

const { closed, list, where, typed } = shapesIn({
  name: (field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  item: (path, index) => `${path}[${index}]`,
  unknown: (path, name) => {
    const at = path === "" ? "" : ` at '${path}'`
    return invalid(`Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`)
  },
  missing: misnamed,
  noObject: "Invalid value at '{path}'",
  noList: "Invalid value at '{path}'",
  refused: (_, message) => invalid(message)
})
const text: Shape<string> = typed((value) => typeof value === "string", "Invalid value at '{path}' (TYPE_STRING)")
const struct = typed(isObject, "Invalid value at '{path}' (type.googleapis.com/google.protobuf.Struct)")
const functionName = where(stringOf, (name) => /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name), misnamed)

/** The documented value that stands for a missing signature. */
const SKIP = "skip_thought_signature_validator"

/** The text that a thought signature signs. `what`: a function's name, or `text`. */
export const signed = (model: GeminiModel, what: string): string => `gemini:${model.base}:${what}`

const media = closed("mimeType data displayName", {}, ({ data, mimeType }, path): Part => {
  const type = stringOf(mimeType)
  const { valid, length, type: found } = sniff(data)
  const rules = {
    "Invalid value at '{path}.data' (TYPE_BYTES), Base64 decoding failed": valid,
    [`Unable to submit request because it has a mimeType parameter with value ${type}, which is not supported.`]:
      /^(?:image\/(?:png|jpeg|webp|gif)|application\/pdf)$/.test(type),
    "The document has no pages.": type !== "application/pdf" || found === type,
    "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting":
      found === type
  }
  insist(rules, path)
  return fileOf(type, length)
})

/** Names of media parts that a result refers to; the sandbox takes no such parts. */
const referencesIn = (value: Json | undefined): ReadonlyArray<string> =>
  Array.isArray(value)
    ? value.flatMap(referencesIn)
    : Object.entries(objectOf(value)).flatMap(([key, inner]) =>
        key === "$ref" ? [stringOf(inner)] : referencesIn(inner)
      )

const called = { "name!": functionName, args: struct }

/** A part; calls and responses match by their names. */
const partOf = (model: GeminiModel) => {
  const fields = {
    text,
    inlineData: media,
    functionCall: closed("id", called, ({ name, args = {} }) => ({ id: name, name, json: JSON.stringify(args) })),
    functionResponse: closed("id name response", {}, ({ name, response }, path) => {
      const content = struct(response, `${path}.response`)
      const [named] = referencesIn(content)
      const undefinedName = `The referenced name \`${named}\` in function_response.response does not match to a display_name in the function_response.parts.`
      insist({ [undefinedName]: named === undefined })
      return { id: stringOf(name), content }
    })
  }
  return closed("thought thoughtSignature", fields, (part, path): Part & { readonly signature?: Json | undefined } => {
    const { text, thought, inlineData: file, functionCall: call, functionResponse: result } = part
    const signature = part.thoughtSignature
    const rules = {
      "{path}.data: required oneof field 'data' must have one initialized field":
        [text, file, call, result].filter((data) => data !== undefined).length === 1,
      "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again.":
        text !== "" || signature !== undefined,
      "Thought signature is not valid.":
        text === undefined || signature === undefined || isSigned(signed(model, "text"), stringOf(signature))
    }
    insist(rules, path)
    if (call !== undefined) return { call, signature }
    if (result !== undefined) return { result }
    return file ?? (text === undefined || thought === true ? { thought: true } : { text })
  })
}

const contentOf = (model: GeminiModel) =>
  closed("role", { parts: list(partOf(model)) }, ({ role, parts = [] }) => ({ role, parts }))

type Content = ReturnType<ReturnType<typeof contentOf>>

const callsIn = (content: Content | undefined) => (content?.parts ?? []).filter(({ call }) => call !== undefined)
const resultsIn = ({ parts }: Content) => parts.flatMap(({ result }) => result ?? [])

/** Checks that span contents: roles, function calls with their responses and signatures. */
const checkContents = (contents: ReadonlyArray<Content>, model: GeminiModel): void => {
  insist({ "Unable to submit request because at least one contents field is required.": contents.length > 0 })
  for (const [index, content] of contents.entries()) {
    const role = content.role ?? (contents.length === 1 ? "user" : undefined)
    const before = contents[index - 1]
    const asked = callsIn(before)
    const names = new Set(asked.map(({ call }) => call?.name))
    const results = resultsIn(content)
    insist({
      "Please use a valid role: user, model.": role === "user" || role === "model",
      "Please ensure that multiturn requests alternate between user and model.":
        // A user's turn may follow function responses, which have the same role.
        before === undefined ? role === "user" : before.role !== role || resultsIn(before).length > 0,
      "Unable to submit request because it must include at least one parts field, which describes the prompt input.":
        content.parts.length > 0,
      "Please ensure that function call parts are in a model turn.": role === "model" || callsIn(content).length === 0,
      "Please ensure that function response parts are in a user turn.": role === "user" || results.length === 0,
      "Please ensure that function response turn comes immediately after a function call turn.":
        asked.length > 0 || results.length === 0,
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.":
        asked.length === results.length,
      "Please ensure that function response names match the function calls.": results.every(({ id }) => names.has(id))
    })
  }
  const ended = contents.at(-1)?.role !== "model"
  insist({ "Please ensure that multiturn requests end with a user role or a function response.": ended })
  // Signatures are required only in the current turn, which begins with the user's last message.
  const start = contents.findLastIndex((content) => content.role !== "model" && resultsIn(content).length === 0)
  for (const [index, content] of contents.entries()) {
    for (const [at, { call, signature }] of callsIn(content).entries()) {
      const name = call?.name ?? ""
      const value = stringOf(signature)
      insist({
        [`Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${index + 1}.`]:
          signature !== undefined || at > 0 || index < start,
        "Thought signature is not valid.":
          signature === undefined || value === SKIP || isSigned(signed(model, name), value)
      })
    }
  }
}

const schema = closed(
  "type format title description nullable enum items maxItems minItems properties required minProperties maxProperties " +
    "minimum maximum minLength maxLength pattern example anyOf propertyOrdering default defs ref additionalProperties"
)

/** Keys that lead to the innermost schema; how deep one may be is not documented, so this limit is the sandbox's. */
const MAX_DEPTH = 32
const combining = ["anyOf", "oneOf", "prefixItems"]
const isDeep = (schema: Json | undefined) => schemasIn(schema, combining).some(([path]) => path.length > MAX_DEPTH)

const declarable = "description parametersJsonSchema response responseJsonSchema behavior"
const declaration = closed(declarable, { "name!": functionName, parameters: schema }, (declared, path): Tool => {
  const { name, description, parameters, parametersJsonSchema } = declared
  const both = parameters !== undefined && parametersJsonSchema !== undefined
  insist({ "{path}: only one of 'parameters' and 'parameters_json_schema' can be set.": !both }, path)
  const schema = parametersJsonSchema ?? parameters
  const rootless = `Unable to submit request because \`${name}\` functionDeclaration parameters schema should be of type OBJECT.`
  const deep = `FunctionDeclaration '${name}' in the request exceeds the maximum allowed nesting depth.`
  insist({ [deep]: !isDeep(objectOf(schema)) }, path)
  insist({ [rootless]: schema === undefined || /^object$/i.test(stringOf(objectOf(schema).type)) }, path)
  return { name, description: stringOf(description), schema: objectOf(schema) }
})

const functions = closed("googleSearch codeExecution urlContext", { functionDeclarations: list(declaration) })
const tool: typeof functions = (value, path) => {
  const { functionDeclarations: declared, ...others } = objectOf(value)
  const none = declared === null || (declared === undefined && Object.keys(others).length === 0)
  insist({ "{path}.tool_type: required one_of 'tool_type' must have one initialized field": !none }, path)
  return functions(value, path)
}

const mode = where(
  stringOf,
  (mode) => mode === "AUTO" || mode === "NONE",
  (mode) => `Invalid value at '{path}': "${mode}"`
)

const REFUSED = "Unable to submit request because"

const within = (least: number, most: number, message: string | ((value: unknown) => string)): Shape<number> =>
  typed((value): value is number => typeof value === "number" && value >= least && value <= most, message)

const isInt32 = (value: unknown): value is number => typeof value === "number" && value === (value | 0)

const TOO_MANY_STATES =
  "The specified schema produces a constraint that has too many states for serving.  Typical causes of this error are schemas with lots of text (for example, very long property or enum names), schemas with long array length limits (especially when nested), or schemas using complex value matchers (for example, integers or numbers with minimum/maximum bounds or strings with complex formats like date-time)"

/** Characters of the schema of an answer; how many states are served is not documented, so this limit is the sandbox's. */
const MAX_SCHEMA = 50_000
const servable = where(anything, (schema) => JSON.stringify(schema).length <= MAX_SCHEMA, TOO_MANY_STATES)

/** The part of JSON Schema that an answer can be held to (docs/upstreams.md#gemini-schemas). */
const KEYWORDS =
  /^(?:\$id|\$defs|\$ref|\$anchor|type|format|title|description|enum|items|prefixItems|m(?:in|ax)Items|m(?:in|ax)imum|anyOf|oneOf|properties|additionalProperties|required|propertyOrdering)$/
/** Beside a reference only what begins with `$` may stand. */
const isTaken = (schema: JsonObject) =>
  Object.keys(schema).every((keyword) => KEYWORDS.test(keyword) && (!("$ref" in schema) || keyword.startsWith("$")))
const TOO_DEEP = "A schema in GenerationConfig in the request exceeds the maximum allowed nesting depth."
const answerable = where(
  where(servable, (schema) => !isDeep(schema), TOO_DEEP),
  (given) => schemasIn(given, combining).every(([, schema]) => isTaken(schema)),
  "Request contains an invalid argument."
)

const generation = ({ maxOutput, penalties }: GeminiModel) => {
  const limitRange = (limit: unknown) =>
    `${REFUSED} it has a maxOutputTokens value of ${printed(limit)} but the supported range is from 1 (inclusive) to ${maxOutput + 1} (exclusive).`
  const temperatureRange = `${REFUSED} it has a temperature value outside the supported range. The supported range is from 0 (inclusive) to 2.0 (inclusive).`
  // A penalty of nothing passes everywhere.
  const penalty = where(anything, (value) => penalties || value === 0, "Penalty is not enabled for this model")
  const stops = `${REFUSED} it has too many stop sequences. The maximum is 5.`
  return closed(
    "topK responseLogprobs responseMimeType responseModalities mediaResolution audioTimestamp speechConfig",
    {
      responseSchema: servable,
      responseJsonSchema: answerable,
      presencePenalty: penalty,
      frequencyPenalty: penalty,
      seed: typed(isInt32, (value) => `Invalid value at '{path}' (TYPE_INT32), ${printed(value)}`),
      logprobs: within(1, 20, `${REFUSED} logprobs is outside the supported range from 1 to 20.`),
      temperature: within(0, 2, temperatureRange),
      topP: within(0, 1, `${REFUSED} it has a topP value outside the supported range from 0 to 1.`),
      maxOutputTokens: within(1, maxOutput, limitRange),
      candidateCount: within(1, 1, "Multiple candidates is not enabled for this model"),
      stopSequences: where(list(anything), ({ length }) => length <= 5, stops),
      thinkingConfig: closed("thinkingLevel thinkingBudget includeThoughts")
    }
  )
}

type Generation = Partial<ReturnType<ReturnType<typeof generation>>>

const requestOf = (model: GeminiModel) =>
  closed("safetySettings labels cachedContent", {
    contents: list(contentOf(model)),
    systemInstruction: contentOf(model),
    tools: list(tool),
    toolConfig: closed("retrievalConfig", { functionCallingConfig: closed("", { mode }) }),
    generationConfig: generation(model)
  })

const checkGeneration = (config: Generation, model: GeminiModel): void => {
  const { responseSchema, responseJsonSchema, logprobs, responseMimeType } = config
  const { thinkingLevel, thinkingBudget } = config.thinkingConfig ?? {}
  const level = stringOf(thinkingLevel).toUpperCase()
  const likely = config.responseLogprobs === true
  insist({
    "You can only set only one of thinking budget and thinking level.":
      thinkingLevel === undefined || thinkingBudget === undefined,
    [`Thinking level ${level} is not supported for this model. Please retry with other thinking level.`]:
      (thinkingLevel ?? undefined) === undefined || model.levels.includes(level),
    [`${REFUSED} Logprobs is not supported for this model.`]: model.logprobs || !likely,
    [`${REFUSED} logprobs is set but responseLogprobs is not.`]: logprobs === undefined || likely,
    "Only one of response_schema and response_json_schema can be set.":
      responseSchema === undefined || responseJsonSchema === undefined,
    "response_schema is only supported with response_mime_type application/json.":
      responseMimeType === "application/json" || (responseSchema ?? responseJsonSchema) === undefined
  })
}

/** Checks a request as Vertex AI does. Throws a `Refusal`. */
export const readGemini = (body: JsonObject, model: GeminiModel) => {
  const { contents = [], systemInstruction, tools: given = [], ...asked } = requestOf(model)(body, "")
  const config: Generation = asked.generationConfig ?? {}
  const { thinkingLevel, thinkingBudget, includeThoughts } = config.thinkingConfig ?? {}
  checkGeneration(config, model)
  checkContents(contents, model)
  const tools = given.flatMap(({ functionDeclarations = [] }) => functionDeclarations)
  const [twice] = [...Map.groupBy(tools, ({ name }) => name)].find(([, same]) => same.length > 1) ?? []
  insist({ [`Duplicate function declaration found: ${twice}`]: twice === undefined })
  const schema = config.responseJsonSchema ?? config.responseSchema
  const plain = config.responseMimeType === "application/json" ? "json" : undefined
  const messages = contents.map(
    ({ role, parts }): Message => ({ role: role === "model" ? "assistant" : "user", parts })
  )
  const read = readTurn(messages, {
    model: model.base,
    instructions: textIn(systemInstruction?.parts ?? []),
    tools,
    choice: asked.toolConfig?.functionCallingConfig?.mode === "NONE" ? "none" : "auto",
    stops: (config.stopSequences ?? []).map(stringOf),
    limit: config.maxOutputTokens,
    format: schema === undefined ? plain : objectOf(schema),
    thinks: stringOf(thinkingLevel).toUpperCase() !== "MINIMAL" && thinkingBudget !== 0
  })
  const tooLong = `${REFUSED} the input token count is ${read.promptTokens} but model only supports up to ${model.contextWindow}. Reduce the input token count and try again.`
  insist({ [tooLong]: read.promptTokens <= model.contextWindow })
  const alternatives = config.responseLogprobs === true ? (config.logprobs ?? 0) : undefined
  return { ...read, alternatives, showsThinking: includeThoughts === true }
}
