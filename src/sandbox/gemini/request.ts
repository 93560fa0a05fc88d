/** What a generateContent request may be, and what it asks. */
import { arrayOf, type Json, type JsonObject, numberOf, objectOf, stringOf } from "../json.ts"
import type { GeminiModel } from "../models.ts"
import { anything } from "../shape.ts"
import { readTurn, type Turn, textIn } from "../turn.ts"
import { checkContents, contentOf, messageOf, wellNamed } from "./contents.ts"
import { closed, insist, list, where } from "./shape.ts"

const schema = closed(
  "type format title description nullable enum items maxItems minItems properties required minProperties maxProperties " +
    "minimum maximum minLength maxLength pattern example anyOf propertyOrdering default defs ref additionalProperties"
)

const declaration = where(
  closed("name description parametersJsonSchema response responseJsonSchema behavior", { parameters: schema }),
  (value) => ({
    ...wellNamed(value),
    "{path}: only one of 'parameters' and 'parameters_json_schema' can be set.":
      value.parameters === undefined || value.parametersJsonSchema === undefined
  })
)

const functions = closed("googleSearch codeExecution urlContext", { functionDeclarations: list(declaration) })
const tool: typeof functions = (value, path) => {
  const { functionDeclarations: declared, ...others } = objectOf(value)
  const none = declared === null || (declared === undefined && Object.keys(others).length === 0)
  insist({ "{path}.tool_type: required one_of 'tool_type' must have one initialized field": !none }, path)
  return functions(value, path)
}

const MODES = ["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"]
const calling = closed("allowedFunctionNames streamFunctionCallArguments", {
  mode: where(anything, (mode) => ({
    [`Invalid value at '{path}': "${stringOf(mode)}"`]: MODES.includes(stringOf(mode))
  }))
})

const generation = closed(
  "temperature topP topK maxOutputTokens candidateCount logprobs responseLogprobs responseMimeType responseSchema " +
    "responseJsonSchema presencePenalty frequencyPenalty seed responseModalities mediaResolution audioTimestamp speechConfig",
  { stopSequences: list(anything), thinkingConfig: closed("thinkingLevel thinkingBudget includeThoughts") }
)

/** Absent, or a number between two, both included. */
const between = (value: Json | undefined, least: number, most: number): boolean =>
  value === undefined || (typeof value === "number" && value >= least && value <= most)

const generationOf = ({ maxOutput, levels, logprobs, defaultLevel }: GeminiModel) =>
  where(generation, ({ stopSequences: stops = [], thinkingConfig: thinking, ...config }) => {
    const { maxOutputTokens: limit, responseSchema, responseJsonSchema } = config
    const level = stringOf(thinking?.thinkingLevel ?? defaultLevel).toUpperCase()
    const likely = config.responseLogprobs === true
    const json = config.responseMimeType === "application/json"
    const refused = "Unable to submit request because"
    return {
      [`${refused} logprobs is outside the supported range from 1 to 20.`]: between(config.logprobs, 1, 20),
      [`${refused} it has a temperature value outside the supported range. The supported range is from 0 (inclusive) to 2.0 (inclusive).`]:
        between(config.temperature, 0, 2),
      [`${refused} it has a topP value outside the supported range from 0 to 1.`]: between(config.topP, 0, 1),
      [`${refused} it has a maxOutputTokens value of ${limit} but the supported range is from 1 (inclusive) to ${maxOutput + 1} (exclusive).`]:
        between(limit, 1, maxOutput),
      "Multiple candidates is not enabled for this model": between(config.candidateCount, 1, 1),
      [`${refused} it has too many stop sequences. The maximum is 5.`]: stops.length <= 5,
      "You can only set only one of thinking budget and thinking level.":
        thinking?.thinkingLevel === undefined || thinking.thinkingBudget === undefined,
      [`Thinking level ${level} is not supported for this model. Please retry with other thinking level.`]:
        levels.includes(level),
      [`${refused} Logprobs is not supported for this model.`]: logprobs || !likely,
      [`${refused} logprobs is set but responseLogprobs is not.`]: config.logprobs === undefined || likely,
      "Only one of response_schema and response_json_schema can be set.":
        responseSchema === undefined || responseJsonSchema === undefined,
      "response_schema is only supported with response_mime_type application/json.":
        json || (responseSchema ?? responseJsonSchema) === undefined
    }
  })

const requestOf = (model: GeminiModel) =>
  closed("safetySettings labels cachedContent", {
    contents: list(contentOf(model)),
    systemInstruction: contentOf(model),
    tools: list(tool),
    toolConfig: closed("retrievalConfig", { functionCallingConfig: calling }),
    generationConfig: generationOf(model)
  })

const choiceOf = (config: ReturnType<typeof calling> | undefined, tools: Turn["tools"]): Turn["choice"] => {
  const mode = config?.mode
  const allowed = arrayOf(config?.allowedFunctionNames)
  insist({
    "Please ensure that allowed_function_names is only set when the mode is ANY or VALIDATED.":
      allowed.length === 0 || mode === "ANY" || mode === "VALIDATED",
    "allowed_function_names contains a function that is not declared.": allowed.every((name) =>
      tools.some((tool) => tool.name === name)
    )
  })
  if (mode === "NONE") return "none"
  if (mode !== "ANY") return "auto"
  return typeof allowed[0] === "string" ? { name: allowed[0] } : "required"
}

/** Checks a generateContent or countTokens request as Vertex AI does, and reads what it asks. Throws a `Refusal`. */
export const readGemini = (body: JsonObject, model: GeminiModel) => {
  const { contents = [], systemInstruction: system, toolConfig, ...asked } = requestOf(model)(body, "")
  checkContents(contents, model)
  const declared = (asked.tools ?? []).flatMap(({ functionDeclarations = [] }) => functionDeclarations)
  const tools = declared.map(({ name, description, parameters, parametersJsonSchema }) => ({
    name: stringOf(name),
    description: stringOf(description),
    schema: objectOf(parametersJsonSchema ?? parameters)
  }))
  const { thinkingConfig: thinking, ...config } = asked.generationConfig ?? generation({}, "")
  const schema = config.responseJsonSchema ?? config.responseSchema
  const json = config.responseMimeType === "application/json" ? "json" : undefined
  return {
    ...readTurn(contents.map(messageOf), {
      model: model.base,
      instructions: textIn(system && messageOf(system)),
      tools,
      choice: choiceOf(toolConfig?.functionCallingConfig, tools),
      stops: (config.stopSequences ?? []).map(stringOf),
      limit: numberOf(config.maxOutputTokens),
      format: schema === undefined ? json : objectOf(schema),
      thinks: stringOf(thinking?.thinkingLevel).toUpperCase() !== "MINIMAL" && thinking?.thinkingBudget !== 0
    }),
    includeThoughts: thinking?.includeThoughts === true,
    /** How many alternatives of each token are to be said; undefined where no probabilities are. */
    logprobs: config.responseLogprobs === true ? Number(config.logprobs ?? 0) : undefined
  }
}

export type GeminiRequest = ReturnType<typeof readGemini>
