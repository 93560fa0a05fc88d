/** What a generateContent request may be, and what it asks. */
import { type JsonObject, listOf, objectOf, stringOf } from "../json.ts"
import type { GeminiModel } from "../models.ts"
import { anything, reads } from "../shape.ts"
import { readTurn, type Turn, textIn } from "../turn.ts"
import { checkContents, contentOf, messageOf, wellNamed } from "./contents.ts"
import { closed, insist, list, where, within } from "./shape.ts"

const schema = closed(
  "type format title description nullable enum items maxItems minItems properties required minProperties maxProperties " +
    "minimum maximum minLength maxLength pattern example anyOf propertyOrdering default defs ref additionalProperties"
)

const declaration = where(
  closed("name description parametersJsonSchema response responseJsonSchema behavior", { parameters: schema }),
  (value, path) => ({
    ...wellNamed(value, path),
    [`${path}: only one of 'parameters' and 'parameters_json_schema' can be set.`]:
      value.parameters === undefined || value.parametersJsonSchema === undefined
  })
)

const functions = closed("googleSearch codeExecution urlContext", { functionDeclarations: list(declaration) })
const tool = reads(
  where(anything, (value, path) => ({
    [`${path}.tool_type: required one_of 'tool_type' must have one initialized field`]:
      Object.keys(objectOf(value)).length > 0 && objectOf(value).functionDeclarations !== null
  })),
  functions
)

const calling = closed("allowedFunctionNames streamFunctionCallArguments", {
  mode: where(anything, (mode, path) => ({
    [`Invalid value at '${path}': "${stringOf(mode)}"`]: [
      "AUTO",
      "ANY",
      "NONE",
      "VALIDATED",
      "MODE_UNSPECIFIED"
    ].includes(stringOf(mode))
  }))
})

const outside = (what: string, range: string): string =>
  `Unable to submit request because it has a ${what} value outside the supported range${range}`

const generationOf = ({ maxOutput, levels, logprobs, defaultLevel }: GeminiModel) =>
  where(
    closed(
      "topK responseMimeType responseSchema responseJsonSchema presencePenalty frequencyPenalty seed responseLogprobs " +
        "responseModalities mediaResolution audioTimestamp speechConfig",
      {
        logprobs: within(
          1,
          20,
          "Unable to submit request because logprobs is outside the supported range from 1 to 20."
        ),
        temperature: within(
          0,
          2,
          outside("temperature", ". The supported range is from 0 (inclusive) to 2.0 (inclusive).")
        ),
        topP: within(0, 1, outside("topP", " from 0 to 1.")),
        maxOutputTokens: within(
          1,
          maxOutput,
          (_, limit) =>
            `Unable to submit request because it has a maxOutputTokens value of ${limit} but the supported range is from 1 (inclusive) to ${maxOutput + 1} (exclusive).`
        ),
        candidateCount: within(1, 1, "Multiple candidates is not enabled for this model"),
        stopSequences: where(list(anything), (stops) => ({
          "Unable to submit request because it has too many stop sequences. The maximum is 5.": stops.length <= 5
        })),
        thinkingConfig: where(closed("thinkingLevel thinkingBudget includeThoughts"), (thinking) => {
          const level = stringOf(thinking.thinkingLevel ?? defaultLevel).toUpperCase()
          return {
            "You can only set only one of thinking budget and thinking level.":
              thinking.thinkingLevel === undefined || thinking.thinkingBudget === undefined,
            [`Thinking level ${level} is not supported for this model. Please retry with other thinking level.`]:
              levels.includes(level)
          }
        })
      }
    ),
    (config) => {
      const schema = config.responseJsonSchema ?? config.responseSchema
      return {
        "Unable to submit request because Logprobs is not supported for this model.":
          logprobs || config.responseLogprobs !== true,
        "Unable to submit request because logprobs is set but responseLogprobs is not.":
          config.logprobs === undefined || config.responseLogprobs === true,
        "Only one of response_schema and response_json_schema can be set.":
          config.responseSchema === undefined || config.responseJsonSchema === undefined,
        "response_schema is only supported with response_mime_type application/json.":
          schema === undefined || config.responseMimeType === "application/json"
      }
    }
  )

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
  const allowed = listOf(config?.allowedFunctionNames)
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
  const {
    contents = [],
    tools: given = [],
    toolConfig,
    systemInstruction,
    generationConfig
  } = requestOf(model)(body, "")
  checkContents(contents, model)
  const tools = given
    .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
    .map(({ name, description, parameters, parametersJsonSchema }) => ({
      name: stringOf(name),
      description: stringOf(description),
      schema: objectOf(parametersJsonSchema ?? parameters)
    }))
  const { thinkingConfig, ...config } = generationConfig ?? generationOf(model)({}, "")
  const { thinkingLevel, thinkingBudget, includeThoughts } = thinkingConfig ?? {}
  const schema = config.responseJsonSchema ?? config.responseSchema
  const read = readTurn(contents.map(messageOf), {
    model: model.base,
    instructions: textIn(systemInstruction && messageOf(systemInstruction)),
    tools,
    choice: choiceOf(toolConfig?.functionCallingConfig, tools),
    stops: (config.stopSequences ?? []).map(stringOf),
    limit: config.maxOutputTokens,
    format:
      schema === undefined ? (config.responseMimeType === "application/json" ? "json" : undefined) : objectOf(schema),
    thinks: stringOf(thinkingLevel ?? model.defaultLevel).toUpperCase() !== "MINIMAL" && thinkingBudget !== 0
  })
  return {
    ...read,
    includeThoughts: includeThoughts === true,
    /** How many alternatives of each token are to be said; undefined where no probabilities are. */
    logprobs: config.responseLogprobs === true ? (config.logprobs ?? 0) : undefined
  }
}

export type GeminiRequest = ReturnType<typeof readGemini>
