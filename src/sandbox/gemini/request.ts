/** A Gemini request: its tools, its configuration, and what it comes to. */
import { arrayOf, type Json, type JsonObject, objectOf, printed, stringOf } from "../json.ts"
import type { GeminiModel } from "../models.ts"
import { anything, type Shape } from "../shape.ts"
import { readTurn, type Tool, type Turn, textIn } from "../turn.ts"
import { checkContents, closed, contentOf, functionName, insist, list, messageOf, typed, where } from "./contents.ts"

const schema = closed(
  "type format title description nullable enum items maxItems minItems properties required minProperties maxProperties " +
    "minimum maximum minLength maxLength pattern example anyOf propertyOrdering default defs ref additionalProperties"
)

const declarable = "description parametersJsonSchema response responseJsonSchema behavior"
const declaration = closed(declarable, { "name!": functionName, parameters: schema }, (declared, path): Tool => {
  const { name, description, parameters, parametersJsonSchema } = declared
  const both = parameters !== undefined && parametersJsonSchema !== undefined
  insist({ "{path}: only one of 'parameters' and 'parameters_json_schema' can be set.": !both }, path)
  const rootless = `Unable to submit request because \`${name}\` functionDeclaration parameters schema should be of type OBJECT.`
  insist({ [rootless]: objectOf(parametersJsonSchema).$ref === undefined }, path)
  return { name, description: stringOf(description), schema: objectOf(parametersJsonSchema ?? parameters) }
})

const functions = closed("googleSearch codeExecution urlContext", { functionDeclarations: list(declaration) })
const tool: typeof functions = (value, path) => {
  const { functionDeclarations: declared, ...others } = objectOf(value)
  const none = declared === null || (declared === undefined && Object.keys(others).length === 0)
  insist({ "{path}.tool_type: required one_of 'tool_type' must have one initialized field": !none }, path)
  return functions(value, path)
}

const MODES = ["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"]
const mode = where(
  stringOf,
  (mode) => MODES.includes(mode),
  (mode) => `Invalid value at '{path}': "${mode}"`
)
const calling = closed("allowedFunctionNames streamFunctionCallArguments", { mode })

const REFUSED = "Unable to submit request because"

const within = (least: number, most: number, message: string | ((value: unknown) => string)): Shape<number> =>
  typed((value): value is number => typeof value === "number" && value >= least && value <= most, message)

const isInt32 = (value: unknown): value is number => typeof value === "number" && value === (value | 0)

const STATES =
  "The specified schema produces a constraint that has too many states for serving.  Typical causes of this error are schemas with lots of text (for example, very long property or enum names), schemas with long array length limits (especially when nested), or schemas using complex value matchers (for example, integers or numbers with minimum/maximum bounds or strings with complex formats like date-time)"

/** Characters of the schema of an answer; how many states are served is not documented, so this limit is the sandbox's. */
const MOST = 50_000
const served = where(anything, (schema) => JSON.stringify(schema).length <= MOST, STATES)

const generation = ({ maxOutput, penalties }: GeminiModel) => {
  const tooMany = (limit: unknown) =>
    `${REFUSED} it has a maxOutputTokens value of ${printed(limit)} but the supported range is from 1 (inclusive) to ${maxOutput + 1} (exclusive).`
  const heat = `${REFUSED} it has a temperature value outside the supported range. The supported range is from 0 (inclusive) to 2.0 (inclusive).`
  // A penalty of nothing passes everywhere.
  const penalty = where(anything, (value) => penalties || value === 0, "Penalty is not enabled for this model")
  const stops = `${REFUSED} it has too many stop sequences. The maximum is 5.`
  return closed(
    "topK responseLogprobs responseMimeType responseModalities mediaResolution audioTimestamp speechConfig",
    {
      responseSchema: served,
      responseJsonSchema: served,
      presencePenalty: penalty,
      frequencyPenalty: penalty,
      seed: typed(isInt32, (value) => `Invalid value at '{path}' (TYPE_INT32), ${printed(value)}`),
      logprobs: within(1, 20, `${REFUSED} logprobs is outside the supported range from 1 to 20.`),
      temperature: within(0, 2, heat),
      topP: within(0, 1, `${REFUSED} it has a topP value outside the supported range from 0 to 1.`),
      maxOutputTokens: within(1, maxOutput, tooMany),
      candidateCount: within(1, 1, "Multiple candidates is not enabled for this model"),
      stopSequences: where(list(anything), ({ length }) => length <= 5, stops),
      thinkingConfig: closed("thinkingLevel thinkingBudget includeThoughts")
    }
  )
}

type Calling = ReturnType<typeof calling>
type Generation = Partial<ReturnType<ReturnType<typeof generation>>>

const requestOf = (model: GeminiModel) =>
  closed("safetySettings labels cachedContent", {
    contents: list(contentOf(model)),
    systemInstruction: contentOf(model),
    tools: list(tool),
    toolConfig: closed("retrievalConfig", { functionCallingConfig: calling }),
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

const choiceOf = (config: Partial<Calling>, tools: ReadonlyArray<Tool>): Turn["choice"] => {
  const { mode, allowedFunctionNames } = config
  const allowed = arrayOf(allowedFunctionNames)
  const names = new Set<Json>(tools.map(({ name }) => name))
  insist({
    "Please ensure that allowed_function_names is only set when the mode is ANY or VALIDATED.":
      allowed.length === 0 || mode === "ANY" || mode === "VALIDATED",
    "allowed_function_names contains a function that is not declared.": allowed.every((name) => names.has(name))
  })
  if (mode !== "ANY") return mode === "NONE" ? "none" : "auto"
  return typeof allowed[0] === "string" ? { name: allowed[0] } : "required"
}

/** Checks a request as Vertex AI does. Throws a `Refusal`. */
export const readGemini = (body: JsonObject, model: GeminiModel) => {
  const { contents = [], systemInstruction, tools: given = [], ...asked } = requestOf(model)(body, "")
  const config: Generation = asked.generationConfig ?? {}
  const { thinkingLevel, thinkingBudget, includeThoughts } = config.thinkingConfig ?? {}
  checkGeneration(config, model)
  checkContents(contents, model)
  const tools = given.flatMap(({ functionDeclarations = [] }) => functionDeclarations)
  const schema = config.responseJsonSchema ?? config.responseSchema
  const plain = config.responseMimeType === "application/json" ? "json" : undefined
  const read = readTurn(contents.map(messageOf), {
    model: model.base,
    instructions: textIn(systemInstruction?.parts ?? []),
    tools,
    choice: choiceOf(asked.toolConfig?.functionCallingConfig ?? {}, tools),
    stops: (config.stopSequences ?? []).map(stringOf),
    limit: config.maxOutputTokens,
    format: schema === undefined ? plain : objectOf(schema),
    thinks: stringOf(thinkingLevel).toUpperCase() !== "MINIMAL" && thinkingBudget !== 0
  })
  const alternatives = config.responseLogprobs === true ? (config.logprobs ?? 0) : undefined
  return { ...read, alternatives, showsThinking: includeThoughts === true }
}
